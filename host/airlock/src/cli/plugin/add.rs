//! `airlock plugin add|update|remove`: what is installed, once the person agreed to it.

use super::fetch::{self, Fetched};
use super::grants::{self, Agreement};
use crate::cli::{Format, print_foreign, print_json, say};
use crate::config::grants as grant_text;
use crate::config::paths::Paths;
use crate::report::Report;
use crate::wire;
use clap::Args;
use model::grant::{Grant, LimitsAsked};
use runtime::Runtime;
use runtime::install::{Candidate, Decision, Offer, Pinned, Standing};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub struct AddArgs {
    /// A component file, an https address (with --digest), or HOST/NAME:TAG in a registry
    source: String,
    /// What it must be: sha256:…
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// What it is called here; its file's name if it is not said
    #[arg(long)]
    name: Option<String>,
    /// What it may do, instead of all that it asks for: a file, or fs:FOLDER=ro|rw, net:HOST, process:PROGRAM, env:NAME, secrets:NAME, memory=SIZE, cpu=TIME (repeatable)
    #[arg(long, value_name = "RIGHT")]
    grant: Vec<String>,
    /// A policy.yaml that says what it may do, as other hosts of bare components read it; else NAME.policy.yaml or policy.yaml beside it
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Agree without being asked
    #[arg(long)]
    yes: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Name of the plugin; all of them if it is not said
    name: Option<String>,
    /// Agree to what is new without being asked
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Name of the plugin
    name: String,
}

pub async fn add(args: &'static AddArgs) -> Result<(), Report> {
    let runtime = wire::runtime().await?;
    let fetched = fetch::fetch(&args.source, args.digest.as_deref()).await?;
    let name = args.name.clone().unwrap_or_else(|| fetched.name.clone());
    let beside = fetched.policy.clone();
    let candidate = look_at(&runtime, name, args.name.is_some(), fetched).await?;
    let given = given(args, &candidate, beside)?;
    let Some((grant, agreement)) = put(&candidate, given.as_ref())? else {
        say(&format!("{} is installed already, just so", candidate.info.name));
        return Ok(());
    };
    if let (Some(key), None) = (&candidate.publisher, &candidate.before) {
        say(&format!(
            "It is signed by {key}, which nobody here has vouched for; no other key can sign it from now on."
        ));
    }
    for (own, here) in &candidate.renamed {
        say(&format!("its tool `{own}` is called `{here}` here, since the name is taken"));
    }
    grants::agree(&agreement, args.yes)?;
    let pinned = runtime.install(candidate, decision(grant))?;
    tell(args.format, &pinned)
}

pub async fn update(args: &'static UpdateArgs) -> Result<(), Report> {
    let runtime = wire::runtime().await?;
    let mut installed = runtime.installed()?;
    if let Some(name) = &args.name {
        installed.retain(|p| p.name == *name);
        if installed.is_empty() {
            return Err(
                runtime::RuntimeError::from(runtime::install::InstallError::NotThere { name: name.clone() }).into()
            );
        }
    }
    for before in installed {
        renew(&runtime, &before, args.yes).await?;
    }
    Ok(())
}

async fn renew(runtime: &Arc<Runtime>, before: &Pinned, yes: bool) -> Result<(), Report> {
    // An address is pinned to its content: there is nothing new to be found there.
    let digest = before.source.starts_with("http").then(|| format!("sha256:{}", before.sha256));
    let fetched = fetch::fetch(&before.source, digest.as_deref()).await?;
    let candidate = look_at(runtime, before.name.clone(), false, fetched).await?;
    match put(&candidate, None)? {
        None => print_foreign(&format!("{} is as it was\n", before.name)),
        Some((grant, agreement)) => {
            grants::agree(&agreement, yes)?;
            let pinned = runtime.install(candidate, decision(grant))?;
            tell(Format::Text, &pinned)
        }
    }
}

pub async fn remove(args: &RemoveArgs) -> Result<(), Report> {
    let runtime = wire::runtime().await?;
    let tools = runtime.inspect(&args.name).map(|info| info.tools).unwrap_or_default();
    let gone = runtime.uninstall(&args.name)?;
    forget_answers(tools.iter().map(|t| t.name.as_str())).await?;
    print_foreign(&format!("removed {} ({})\n", gone.name, gone.source))
}

/// What was answered for good was meant for this component: another one may have a tool of the same name.
async fn forget_answers(tools: impl Iterator<Item = &str>) -> Result<(), Report> {
    let ledger = wire::ledger(&Paths::find()?)?;
    let approvals = ledger.all_approvals().await?;
    for tool in tools {
        for (worktree, _) in approvals.iter().filter(|(_, rule)| rule.permission == tool) {
            ledger.revoke(worktree, Some(tool.to_owned()), None).await?;
        }
    }
    Ok(())
}

/// A component is compiled and asked what it offers, which takes a while and no waiting.
async fn look_at(runtime: &Arc<Runtime>, name: String, named: bool, fetched: Fetched) -> Result<Candidate, Report> {
    let runtime = runtime.clone();
    let Fetched { source, bytes, sidecar, .. } = fetched;
    let offer = Offer { name, named, source, bytes, sidecar };
    let bar = fetch::compiling(offer.bytes.len());
    let looked = tokio::task::spawn_blocking(move || runtime.candidate(offer)).await;
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    Ok(looked.map_err(|e| Report::internal(format!("the look at the component broke off: {e}")))??)
}

/// What the component is to be given, and what has to be agreed to for that. `None`: nothing changes.
fn put(candidate: &Candidate, given: Option<&Grant>) -> Result<Option<(Grant, Agreement)>, Report> {
    let given = given.map(|g| candidate.narrowed(g)).transpose().map_err(runtime::RuntimeError::from)?;
    let whole = || given.clone().unwrap_or_else(|| candidate.info.grant.clone());
    let name = &candidate.info.name;
    Ok(match candidate.standing() {
        Standing::New => Some((whole(), Agreement::to_all(name, &whole()))),
        Standing::Elsewhere { from } => {
            Some((whole(), Agreement::to_another(name, &from, &candidate.source, &whole())))
        }
        Standing::Same if given.is_none() => None,
        Standing::Same => Some((whole(), Agreement::to_all(name, &whole()))),
        Standing::Upgrade(upgrade) => match given {
            Some(given) => Some((given.clone(), Agreement::to_all(name, &given))),
            None => Some((upgrade.grant, Agreement::to_new(name, &upgrade.new))),
        },
    })
}

/// What flags and policy give; `None`: what the component asks for.
fn given(args: &AddArgs, candidate: &Candidate, beside: Option<PathBuf>) -> Result<Option<Grant>, Report> {
    let flags = (!args.grant.is_empty()).then(|| rights(&args.grant)).transpose()?;
    // What lies beside a component speaks only where nobody else does.
    let beside = beside.filter(|_| flags.is_none() && !candidate.info.has_manifest);
    let Some(file) = args.policy.clone().or(beside) else { return Ok(flags) };
    let granted = policy(&file)?;
    Ok(Some(flags.map_or_else(|| granted.clone(), |flags| of_both(&granted, &flags))))
}

/// What a policy and flags both allow; flags that name limits alone leave the rest as the policy has it.
fn of_both(policy: &Grant, flags: &Grant) -> Grant {
    let rights = Grant { limits: LimitsAsked::default(), ..flags.clone() };
    let met = if rights == Grant::default() { policy.clone() } else { policy.meet(flags) };
    Grant { limits: flags.limits.or(&policy.limits), ..met }
}

fn policy(file: &Path) -> Result<Grant, Report> {
    let unusable = |why: String| {
        let what = format!("the policy {} cannot be used: {why}", file.display());
        Report::usage(what, "Correct the file, or say with --grant what the component may do.")
    };
    let bytes = runtime::read_bounded(file).map_err(|e| unusable(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unusable("it is no text".into()))?;
    let policy = runtime::policy::parse(&text).map_err(|e| unusable(e.to_string()))?;
    for note in &policy.notes {
        say(&format!("{}: {note}", file.display()));
    }
    Ok(policy.grant)
}

fn decision(grant: Grant) -> Decision {
    Decision { grant, decided: grants::now() }
}

fn tell(format: Format, pinned: &Pinned) -> Result<(), Report> {
    match format {
        Format::Json => print_json(&json!({
            "name": pinned.name, "source": pinned.source, "digest": pinned.blake3, "sha256": pinned.sha256,
            "size": pinned.size, "version": pinned.version, "publisher": pinned.publisher, "grant": pinned.grant,
        })),
        Format::Text => {
            let version = pinned.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
            print_foreign(&format!("installed {}{version}: {}\n", pinned.name, pinned.grant.words()))
        }
    }
}

/// All that the flags give, taken together; of a limit named twice the last one.
pub(super) fn rights(texts: &[String]) -> Result<Grant, Report> {
    let one = |text: &String| match grant_text::from_flag(text) {
        Some(grant) => match grant_text::out_of_range(&grant.limits) {
            Some((why, hint)) => Err(Report::usage(format!("`{text}`: {why}"), hint)),
            None => Ok(grant),
        },
        None if Path::new(text).is_file() => Ok(grant_text::read_file(Path::new(text))?.grant()),
        None => Err(Report::usage(
            format!("`{text}` is no right, and no file"),
            "Write fs:docs=ro, net:HOST, process:git, env:LANG, secrets:NAME, memory=128MiB, cpu=30s, or name a grant file.",
        )),
    };
    texts.iter().try_fold(Grant::default(), |all, text| Ok(all.amended(&one(text)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_the_usual_one_is_kept() {
        for (texts, want) in [
            (&["memory=16MiB"][..], Some(16 << 20)),
            (&["fs:docs=ro", "memory=16MiB", "net:api.example.com"], Some(16 << 20)),
            (&["memory=128MiB", "memory=16MiB"], Some(16 << 20)),
            (&["fs:docs=ro"], None),
        ] {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            assert_eq!(rights(&texts).unwrap().limits.memory, want, "{texts:?}");
        }
    }
}
