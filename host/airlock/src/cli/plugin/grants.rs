//! `airlock plugin grant|revoke`, and how a person agrees to what a component may do.

use super::add::rights;
use crate::cli::{Ground, Permits, print_foreign, say};
use crate::config::Overrides;
use crate::report::{Exit, Report};
use crate::wire;
use clap::Args;
use model::grant::Grant;
use std::io::{BufRead, IsTerminal};
use std::time::SystemTime;

#[derive(Debug, Args)]
pub struct GrantArgs {
    /// Name of the plugin
    name: String,
    /// What it may do from now on as well: fs:FOLDER=ro|rw, net:HOST, process:PROGRAM, env:NAME, secrets:NAME, memory=SIZE, cpu=TIME, or a file
    #[arg(required = true)]
    rights: Vec<String>,
    /// Nothing is asked: to grant is to agree. Taken, so that scripts can say it as for `add`
    #[arg(long, hide = true)]
    yes: bool,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Name of the plugin
    name: String,
    /// What it may do no longer, written as for `grant`; everything if nothing is said
    rights: Vec<String>,
}

pub async fn grant(args: &'static GrantArgs) -> Result<(), Report> {
    let more = rights(&args.rights)?;
    let runtime = wire::runtime().await?;
    let pinned = runtime.regrant(&args.name, &now(), |held: &Grant| held.amended(&more))?;
    print_foreign(&format!("{}: {}\n", pinned.name, pinned.grant.words()))
}

pub async fn revoke(args: &'static RevokeArgs) -> Result<(), Report> {
    let less = rights(&args.rights)?;
    let runtime = wire::runtime().await?;
    let narrower = |held: &Grant| match args.rights.is_empty() {
        true => Grant { limits: held.limits.clone(), ..Grant::default() },
        false => held.without(&less),
    };
    let before = runtime.installed()?.into_iter().find(|p| p.name == args.name).map(|p| p.grant);
    let pinned = runtime.regrant(&args.name, &now(), narrower)?;
    if before.as_ref() == Some(&pinned.grant) {
        return Err(Report::usage(
            format!("nothing of that can be taken from {}: it was not given so", pinned.name),
            format!(
                "It {}. Of a folder no part can be taken out: revoke the folder, and grant the parts.",
                pinned.grant.words()
            ),
        ));
    }
    print_foreign(&format!("{}: {}\n", pinned.name, pinned.grant.words()))?;
    if config_grants(&pinned.name) {
        say(&format!("the config here still grants what it says under [plugins.{}], whatever is revoked", pinned.name));
    }
    Ok(())
}

/// Whether a config that counts here says itself what an installed component may do.
fn config_grants(name: &str) -> bool {
    let ground = Ground::find(None, &Permits::default(), Overrides::default());
    let grants = |said: &runtime::PluginUse| said.name == name && matches!(said.how, runtime::Use::Granted(_));
    ground.is_ok_and(|ground| ground.config.brought.plugins.iter().any(grants))
}

/// RFC 3339, UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// What a person has to agree to; nothing where `what` is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    head: String,
    /// One act a line.
    what: Vec<String>,
}

impl Agreement {
    /// A component that touches nothing needs no leave.
    pub fn to_all(name: &str, grant: &Grant) -> Self {
        let what = if grant.touches_nothing() { Vec::new() } else { grant.lines() };
        Self { head: format!("The plugin {name} asks for this:"), what }
    }

    pub fn to_another(name: &str, from: &str, source: &str, grant: &Grant) -> Self {
        let head = format!("The plugin {name} came from {from}; this one comes from {source} and asks for this:");
        Self { head, what: grant.lines() }
    }

    /// Just what nobody agreed to before.
    pub fn to_new(name: &str, new: &Grant) -> Self {
        Self { head: format!("The new version of {name} asks for more than before:"), what: new.new_lines() }
    }
}

/// Asks the person, where there is something to agree to.
///
/// # Errors
/// A no, or nobody to say yes: exit 4.
pub fn agree(agreement: &Agreement, yes: bool) -> Result<(), Report> {
    if agreement.what.is_empty() {
        return Ok(());
    }
    say(&agreement.head);
    agreement.what.iter().for_each(|line| say(&format!("  {line}")));
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Report::new(
            Exit::Denied,
            "nothing was installed: nobody is there to agree",
            "Read what it asks for, and say --yes; --grant gives it less.",
        ));
    }
    say("Agree? [y/N]");
    let mut answer = String::new();
    let heard = std::io::stdin().lock().read_line(&mut answer);
    match heard.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(Report::new(Exit::Denied, "nothing was installed: you did not agree", "--grant gives it less.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_nothing_needs_no_leave() {
        let reads: Grant = serde_json::from_str(r#"{"fs":{"docs":"ro"}}"#).unwrap();
        for (agreement, asks) in [
            (Agreement::to_all("x", &Grant::default()), ""),
            (Agreement::to_all("x", &reads), "may read files under ./docs; 64 MiB, 10 s"),
            (Agreement::to_new("x", &Grant::default()), ""),
            (Agreement::to_new("x", &reads), "may read files under ./docs"),
            (
                Agreement::to_another("x", "/a", "/b", &Grant::default()),
                "may touch nothing: no files, no network, no programs; 64 MiB, 10 s",
            ),
        ] {
            assert_eq!(agreement.what.join("; "), asks);
            assert_eq!(agree(&agreement, false).is_ok(), asks.is_empty(), "nobody is there in a test");
            assert!(agree(&agreement, true).is_ok());
        }
    }
}
