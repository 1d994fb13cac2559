//! `airlock session send|inbox`: messages for a session that is at work, or that will be.

use super::session::parse_id;
use super::{Format, columns, print_foreign, print_json};
use crate::config::paths::Paths;
use crate::report::Report;
use crate::wire;
use clap::{Args, Subcommand};
use model::id::SessionId;
use model::inbox::{Delivery, Inbox, Letter, LetterId, Sender, Waiting};
use model::store::{Store, StoreError};
use serde_json::json;
use std::sync::Arc;
use store::Ledger;

#[derive(Debug, Args)]
pub struct SendArgs {
    /// The session's id
    id: String,
    /// What to say
    #[arg(required = true)]
    text: Vec<String>,
    /// Taken between two steps of the run (the default)
    #[arg(long, conflicts_with = "queue")]
    steer: bool,
    /// Taken once the run has answered what it is at
    #[arg(long)]
    queue: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// The session's id
    id: String,
    #[command(subcommand)]
    what: Option<InboxCommand>,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
}

#[derive(Debug, Subcommand)]
pub enum InboxCommand {
    /// List the messages that wait
    List,
    /// Withdraw a message that was not taken yet
    Cancel { number: i64 },
    /// Change a message that was not taken yet
    Edit {
        number: i64,
        #[arg(required = true)]
        text: Vec<String>,
    },
}

fn ledger() -> Result<Arc<Ledger>, Report> {
    Ok(wire::ledger(&Paths::find()?)?)
}

/// Hands a message over.
pub async fn send(args: &SendArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let ledger = ledger()?;
    let delivery = if args.queue { Delivery::Queue } else { Delivery::Steer };
    let letter = Letter { delivery, sender: Sender::Person, text: args.text.join(" "), created: wire::now_ms() };
    if letter.text.trim().is_empty() {
        return Err(Report::usage("the message is empty", "Say something: airlock session send ID \"…\"."));
    }
    let number = ledger.put(&id, letter).await?;
    let holder = holder(&ledger, &id).await?;
    match args.format {
        Format::Json => print_json(&json!({"id": number, "sessionID": id, "delivery": delivery, "holder": holder})),
        Format::Text => print_foreign(&format!("message {}: {}\n", number.0, when(&id, delivery, holder))),
    }
}

fn when(id: &SessionId, delivery: Delivery, holder: Option<u32>) -> String {
    match (holder, delivery) {
        (Some(pid), Delivery::Steer) => format!("the run of process {pid} takes it at its next step"),
        (Some(pid), Delivery::Queue) => format!("the run of process {pid} takes it when it has answered"),
        (None, _) => format!("nobody works on the session; `airlock run --session {id}` takes it"),
    }
}

/// The process that works on a session.
async fn holder(ledger: &Ledger, id: &SessionId) -> Result<Option<u32>, Report> {
    match ledger.claim(id).await {
        Ok(_) => Ok(None),
        Err(StoreError::Busy { pid, .. }) => Ok(Some(pid)),
        Err(error) => Err(error.into()),
    }
}

/// Lists, withdraws and changes what waits.
pub async fn inbox(args: &InboxArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let ledger = ledger()?;
    // Tells an unknown session from an empty inbox.
    ledger.session(&id).await?;
    match args.what.as_ref().unwrap_or(&InboxCommand::List) {
        InboxCommand::List => list(&ledger.waiting(&id).await?, args.format),
        InboxCommand::Cancel { number } => {
            let done = ledger.withdraw(&id, LetterId(*number)).await?;
            changed(done, *number, "withdrawn", args.format)
        }
        InboxCommand::Edit { number, text } => {
            let done = ledger.rewrite(&id, LetterId(*number), text.join(" ")).await?;
            changed(done, *number, "changed", args.format)
        }
    }
}

fn list(waiting: &[Waiting], format: Format) -> Result<(), Report> {
    match format {
        Format::Json => waiting.iter().try_for_each(print_json),
        Format::Text => print_foreign(&columns(&waiting.iter().map(row).collect::<Vec<_>>())),
    }
}

fn row(w: &Waiting) -> Vec<String> {
    let kind = match w.letter.delivery {
        Delivery::Queue => "queue",
        Delivery::Steer => "steer",
    };
    let from = match w.letter.sender {
        Sender::Person => "",
        Sender::Host => "(a task in the background)",
    };
    let line = w.letter.text.lines().next().unwrap_or_default();
    vec![w.id.0.to_string(), kind.into(), format!("{line} {from}").trim().to_owned()]
}

fn changed(done: bool, number: i64, word: &str, format: Format) -> Result<(), Report> {
    if !done {
        let what = format!("message {number} does not wait in this inbox: it was taken, withdrawn, or never there");
        return Err(Report::usage(what, "`airlock session inbox ID` lists those that wait."));
    }
    match format {
        Format::Json => print_json(&json!({ "id": number, word: true })),
        Format::Text => print_foreign(&format!("message {number} is {word}\n")),
    }
}
