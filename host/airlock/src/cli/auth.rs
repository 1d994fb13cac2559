//! `airlock auth add|list|remove`: keys that the program keeps. A value is read from a prompt or from standard input, never from the
//! command line, and shown to nobody.

use super::{Format, Ground, Listing, columns, print, print_json, say};
use crate::config::file::KeySource;
use crate::config::keys::{Found, Keys, KeysError, MAX_KEY};
use crate::config::paths::Paths;
use crate::config::providers::KNOWN;
use crate::config::ring::Ring;
use crate::report::{Exit, Report};
use crate::tui::hidden;
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{IsTerminal, Read};

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Keep a provider's key: asks for it, or reads it from standard input
    Add(AddArgs),
    /// List where keys lie; their values are never shown
    List(Listing),
    /// Forget a key
    Remove(OneArgs),
}

#[derive(Debug, Args)]
pub struct OneArgs {
    /// The provider; `airlock providers` lists them
    #[arg(value_name = "NAME")]
    name: String,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct AddArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Keep it in the keyring of this machine, where the config names it as key = { keyring = "NAME" }; on Linux that is the kernel's,
    /// which a restart empties, and days without use (three, as most are set up)
    #[arg(long)]
    keyring: bool,
}

impl From<KeysError> for Report {
    fn from(error: KeysError) -> Self {
        let exit = if matches!(error, KeysError::Unwritable { .. }) { Exit::Failed } else { Exit::Usage };
        Self::new(exit, error.to_string(), error.hint())
    }
}

pub fn main(command: &AuthCommand) -> Result<(), Report> {
    match command {
        AuthCommand::Add(args) => add(args),
        AuthCommand::List(args) => list(args),
        AuthCommand::Remove(args) => remove(args),
    }
}

fn add(add: &AddArgs) -> Result<(), Report> {
    let (paths, args) = (Paths::find()?, &add.one);
    let key = read_hidden("Key", &args.name, HOW)?;
    if add.keyring {
        Keys::key_to_ring(&Ring::of(&paths.owner), &args.name, &key)?;
        return match args.format {
            Format::Json => print_json(&json!({ "added": args.name, "keyring": true })),
            Format::Text => print(&format!(
                "kept the key for {0} in the keyring; the config names it: [providers.{0}] key = {{ keyring = \"{0}\" }}\n",
                args.name
            )),
        };
    }
    let replaced = Keys::add(&paths.data, &args.name, &key)?;
    let service = KNOWN.iter().find(|k| k.id == args.name);
    if let Some(name) = service.map(|k| k.variable).filter(|v| paths.environment.said(v).is_some()) {
        say(&format!("{name} is set, and the environment comes first: the kept key is used where it is not"));
    }
    match args.format {
        Format::Json => print_json(&json!({ "added": args.name, "replaced": replaced })),
        Format::Text => {
            let how = if replaced { "replaced the key" } else { "kept the key" };
            print(&format!("{how} for {}\n", args.name))
        }
    }
}

/// A value that is typed unseen, or comes on standard input. `what` begins the question.
pub(super) fn read_hidden(what: &str, name: &str, how: &'static str) -> Result<String, Report> {
    let noun = what.to_lowercase();
    let unreadable = |e: std::io::Error| Report::usage(format!("the {noun} for {name} cannot be read: {e}"), how);
    if std::io::stdin().is_terminal() {
        let asked = hidden::ask(&format!("{what} for {name} (not shown):"), MAX_KEY).map_err(unreadable)?;
        return asked
            .ok_or_else(|| Report::new(Exit::Interrupted, format!("no {noun} was given; nothing changed"), how));
    }
    let mut key = String::new();
    std::io::stdin().take(MAX_KEY as u64 + 1).read_to_string(&mut key).map_err(unreadable)?;
    Ok(key)
}

const HOW: &str = "Type it where `airlock auth add NAME` asks for it, or give it on standard input.";

fn remove(args: &OneArgs) -> Result<(), Report> {
    let paths = Paths::find()?;
    let was_in_ring = Ring::of(&paths.owner).remove(&args.name).is_ok();
    match Keys::remove(&paths.data, &args.name) {
        Err(KeysError::NoKey { .. }) if was_in_ring => {}
        removed => removed?,
    }
    match args.format {
        Format::Json => print_json(&json!({ "removed": args.name })),
        Format::Text => print(&format!("forgot the key for {}\n", args.name)),
    }
}

/// A place where a key lies. Of two for one provider the first is used.
struct Place {
    name: String,
    source: String,
    /// Whether it is there; for the environment only those that are there are listed.
    ready: bool,
}

fn list(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let places = places(&ground);
    match args.format {
        Format::Json => places
            .iter()
            .try_for_each(|p| print_json(&json!({ "provider": p.name, "source": p.source, "ready": p.ready }))),
        Format::Text if places.is_empty() => print("no key is there; `airlock auth add NAME` keeps one\n"),
        Format::Text => {
            let row =
                |p: &Place| vec![p.name.clone(), if p.ready { "ready" } else { "not set" }.into(), p.source.clone()];
            print(&columns(&places.iter().map(row).collect::<Vec<_>>()))
        }
    }
}

fn places(ground: &Ground) -> Vec<Place> {
    let place = |name: &str, source: String, ready| Place { name: name.into(), source, ready };
    let configured = ground.config.providers.iter().filter_map(|(name, p)| {
        let source = p.key.as_ref()?;
        Some(place(name, super::config::source(source), ground.keys.sources().is_there(source)))
    });
    let known = KNOWN.iter().filter(|k| !ground.config.providers.contains_key(k.id));
    let set = known.filter_map(|k| match ground.keys.find(k) {
        Some(Found::Variable(v)) => Some(place(k.id, super::config::source(&KeySource::Env(v.into())), true)),
        Some(Found::Kept) | None => None,
    });
    let kept = ground.keys.names().into_iter().map(|n| place(n, ground.keys.path().display().to_string(), true));
    configured.chain(set).chain(kept).collect()
}
