//! `airlock secret set|list|remove`: secrets for tools. A value is read from a prompt or from standard input, never from the command
//! line, and shown to nobody; a component names it, and the host puts it into requests to its hosts alone.

use super::auth::read_hidden;
use super::{Format, Ground, Listing, columns, print, print_json, say};
use crate::config::keys::Keys;
use crate::config::paths::Paths;
use crate::config::providers;
use crate::config::ring::Ring;
use crate::config::secrets::{Declared, Origin};
use crate::report::Report;
use clap::{Args, Subcommand};
use model::grant::Requests;
use serde_json::json;

#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Keep a secret for tools: asks for it, or reads it from standard input
    Set(SetArgs),
    /// List secrets, where they lie and which hosts may get them; their values are never shown
    List(Listing),
    /// Forget a secret
    Remove(OneArgs),
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// What components call it: {{secret:NAME}}
    #[arg(value_name = "NAME")]
    name: String,
    /// A host that may get it, such as api.example.com (repeatable)
    #[arg(long = "host", value_name = "HOST", required = true)]
    hosts: Vec<String>,
    /// Keep the value in the keyring of this machine instead of a file; on Linux that is the kernel's, which a
    /// restart empties, and days without use (three, as most are set up)
    #[arg(long)]
    keyring: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct OneArgs {
    #[arg(value_name = "NAME")]
    name: String,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn main(command: &SecretCommand) -> Result<(), Report> {
    match command {
        SecretCommand::Set(args) => set(args),
        SecretCommand::List(args) => list(args),
        SecretCommand::Remove(args) => remove(args),
    }
}

fn set(args: &SetArgs) -> Result<(), Report> {
    let bad = |e: model::grant::BadPattern| {
        Report::usage(e.to_string(), "Name hosts as --host api.example.com or --host http://127.0.0.1:8080.")
    };
    Requests::to(&args.hosts).map_err(bad)?;
    warnings(args).iter().for_each(|w| say(w));
    let paths = Paths::find()?;
    let value = read_hidden("Secret", &args.name, HOW)?;
    let (data, name, hosts) = (&paths.data, &args.name, args.hosts.clone());
    let ring = Ring::of(&paths.owner);
    let replaced = match args.keyring {
        true => Keys::add_to_ring(data, &ring, name, &value, hosts)?,
        false => {
            let was_in_ring = Keys::load(data)?.is_in_ring(name);
            let replaced = Keys::add_secret(data, name, &value, hosts)?;
            if was_in_ring {
                Keys::forget_in_ring(&ring, name);
            }
            replaced
        }
    };
    match args.format {
        Format::Json => print_json(&json!({ "set": args.name, "hosts": args.hosts, "replaced": replaced })),
        Format::Text => {
            let how = if replaced { "replaced" } else { "kept" };
            print(&format!("{how} the secret {} for {}\n", args.name, args.hosts.join(", ")))
        }
    }
}

/// What was probably not meant.
fn warnings(args: &SetArgs) -> Vec<String> {
    let wide = args
        .hosts
        .iter()
        .filter(|host| host.split("://").last().is_some_and(|h| h.trim_matches(['*', '.', ':']).is_empty()));
    let wide = wide.map(|host| {
        format!("with --host {host} any component that was granted this secret can send it to any host it may reach; name the hosts that need it")
    });
    let is_service = providers::KNOWN.iter().any(|known| known.id == args.name);
    let key = is_service.then(|| {
        format!(
            "a secret is for tools; the key of the model service `{0}` is kept with `airlock auth add {0}`",
            args.name
        )
    });
    wide.chain(key).collect()
}

const HOW: &str = "Type it where `airlock secret set NAME --host HOST` asks for it, or give it on standard input.";

fn remove(args: &OneArgs) -> Result<(), Report> {
    let paths = Paths::find()?;
    if Keys::load(&paths.data)?.is_in_ring(&args.name) {
        Keys::forget_in_ring(&Ring::of(&paths.owner), &args.name);
    }
    Keys::remove_secret(&paths.data, &args.name)?;
    match args.format {
        Format::Json => print_json(&json!({ "removed": args.name })),
        Format::Text => print(&format!("forgot the secret {}\n", args.name)),
    }
}

fn list(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let all = Declared::new(&ground.config, &ground.keys).list();
    let from = |origin: &Origin| match origin {
        Origin::Config(source) => super::config::source(source),
        Origin::Ring => "keyring".to_owned(),
        Origin::Kept => ground.keys.path().display().to_string(),
    };
    match args.format {
        Format::Json => all.iter().try_for_each(|(name, origin, hosts, ready)| {
            print_json(&json!({ "name": name, "source": from(origin), "hosts": hosts, "ready": ready }))
        }),
        Format::Text if all.is_empty() => {
            print("no secret is there; `airlock secret set NAME --host HOST` keeps one\n")
        }
        Format::Text => {
            let rows: Vec<_> = all
                .iter()
                .map(|(name, origin, hosts, ready)| {
                    let state = if *ready { "ready" } else { "not set" };
                    vec![name.clone(), state.into(), hosts.join(", "), from(origin)]
                })
                .collect();
            print(&columns(&rows))
        }
    }
}
