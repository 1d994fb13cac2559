//! `airlock session …`: look at sessions, take work back, copy, export, import and delete them.

mod compact;
pub mod diff;
mod egress;
pub mod fork;
mod import;
mod undo;

use super::{Format, columns, inbox, print, print_foreign, print_json};
use crate::config::paths::Paths;
use crate::report::Report;
use crate::wire;
use clap::{Args, Subcommand};
use model::id::SessionId;
use model::message::{Message, Part, PartBody, WithParts};
use model::session::{Session, SessionSummary};
use model::store::{Kin, Store};
use model::tool_state::ToolState;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use store::Ledger;

/// What a list shows at most unless told otherwise.
const LIST: usize = 50;

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List sessions, the newest first
    List(ListArgs),
    /// Show a session as a person reads it
    Show(OneArgs),
    /// Take back what the agent did: files, talk, or both
    Undo(undo::UndoArgs),
    /// Put back what was taken back last
    Redo(undo::RedoArgs),
    /// Show what a session changed, as a patch
    Diff(diff::DiffArgs),
    /// Replace what was said so far by a summary; the ledger keeps all of it
    Compact(compact::CompactArgs),
    /// Copy a session, whole or up to a message
    Fork(fork::ForkArgs),
    /// Print a whole session as JSON
    Export(OneArgs),
    /// Read an export into the ledger
    Import(import::ImportArgs),
    /// What was paid: in all, by model, agent and session
    Cost(super::cost::CostArgs),
    /// What components sent over the network, and what was refused
    Egress(egress::EgressArgs),
    /// Delete a session with all its messages
    Delete(OneArgs),
    /// Hand a message to a session, also while a run works on it
    Send(inbox::SendArgs),
    /// Look at the messages that wait for a session; withdraw or change them
    Inbox(inbox::InboxArgs),
    #[command(external_subcommand)]
    Other(Vec<String>),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many at most
    #[arg(long, default_value_t = LIST)]
    limit: usize,
    /// Also those that came of others: of sub-agents, reviewers and attempts that do not stand
    #[arg(long)]
    all: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct OneArgs {
    id: String,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(command: &SessionCommand) -> Result<(), Report> {
    match command {
        SessionCommand::List(args) => list(args).await,
        SessionCommand::Show(args) => show(args).await,
        SessionCommand::Undo(args) => undo::undo(args).await,
        SessionCommand::Redo(args) => undo::redo(args).await,
        SessionCommand::Compact(args) => compact::main(args).await,
        SessionCommand::Diff(args) => diff::main(args).await,
        SessionCommand::Fork(args) => fork::main(args).await,
        SessionCommand::Import(args) => import::main(args).await,
        SessionCommand::Export(args) => export(args).await,
        SessionCommand::Cost(args) => super::cost::main(args).await,
        SessionCommand::Egress(args) => egress::main(args).await,
        SessionCommand::Delete(args) => delete(args).await,
        SessionCommand::Send(args) => inbox::send(args).await,
        SessionCommand::Inbox(args) => inbox::inbox(args).await,
        SessionCommand::Other(words) => Err(other("session", words, &[])),
    }
}

/// A subcommand that is not there: one that comes later, or a mistake.
#[must_use]
pub fn other(command: &str, words: &[String], later: &[&str]) -> Report {
    let word = words.first().map_or("", String::as_str);
    if later.contains(&word) {
        return Report::not_yet(&format!("`airlock {command} {word}`"));
    }
    let next = format!("`airlock {command} --help` lists what there is.");
    Report::usage(format!("there is no `airlock {command} {word}`"), next)
}

pub async fn ledger() -> Result<Arc<Ledger>, Report> {
    Ok(wire::ledger(&Paths::find()?)?)
}

/// The id of a session as a person wrote it.
pub fn parse_id(text: &str) -> Result<SessionId, Report> {
    let no_id = || {
        Report::usage(
            format!("`{text}` is no session id: those begin with {}", SessionId::PREFIX),
            "`airlock session list` shows those that exist.",
        )
    };
    SessionId::parse(text).ok_or_else(no_id)
}

async fn list(args: &ListArgs) -> Result<(), Report> {
    let kin = if args.all { Kin::All } else { Kin::Roots };
    let sessions = ledger().await?.sessions(kin, args.limit).await?;
    match args.format {
        Format::Json => sessions.iter().try_for_each(print_json),
        Format::Text => print_foreign(&columns(&sessions.iter().map(row).collect::<Vec<_>>())),
    }
}

fn row(s: &SessionSummary) -> Vec<String> {
    let info = &s.info;
    let updated = SystemTime::UNIX_EPOCH + Duration::from_millis(info.time.updated);
    vec![
        info.id.to_string(),
        humantime::format_rfc3339_seconds(updated).to_string(),
        format!("{} messages", s.messages),
        info.model.to_string(),
        info.directory.display().to_string(),
        info.title.clone(),
    ]
}

async fn load(id: &str) -> Result<(Session, Vec<WithParts>), Report> {
    let id = parse_id(id)?;
    let ledger = ledger().await?;
    Ok((ledger.session(&id).await?, ledger.history(&id).await?))
}

async fn show(args: &OneArgs) -> Result<(), Report> {
    let (info, messages) = load(&args.id).await?;
    match args.format {
        Format::Json => print_json(&json!({ "info": info, "messages": messages })),
        Format::Text => print_foreign(&as_text(&info, &messages, Path::new(&info.worktree))),
    }
}

async fn export(args: &OneArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let ledger = ledger().await?;
    let info = ledger.session(&id).await?;
    print(&format!("{{\"info\":{},\"messages\":[", json!(info)))?;
    let mut between = "";
    let each = |raw: store::Raw| {
        let message = format!("{between}{{\"info\":{},\"parts\":[{}]}}", raw.info, raw.parts.join(","));
        between = ",";
        print(&message)
    };
    // A page at a time: a session may be larger than the memory.
    ledger.pages(&id, each).await??;
    print("]}\n")
}

async fn delete(args: &OneArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    // The ledger itself sees to it that a session is not taken away from under a run.
    ledger().await?.delete(&id).await?;
    match args.format {
        Format::Json => print_json(&json!({ "deleted": id })),
        Format::Text => print_foreign(&format!("deleted {id}\n")),
    }
}

fn as_text(info: &Session, messages: &[WithParts], worktree: &Path) -> String {
    let mut out = format!("{} {}\n{} · {} · {}\n", info.id, info.title, info.model, info.agent, worktree.display());
    if let Some(summary) = &info.summary {
        let _ = writeln!(out, "{summary}");
    }
    for message in messages {
        let who = match &message.info {
            Message::User(_) => "you",
            Message::Assistant(m) => m.agent.as_str(),
        };
        let _ = write!(out, "\n── {who}\n");
        message.parts.iter().filter(|p| !p.body.is_dropped()).for_each(|p| part_as_text(p, &mut out));
        if let Message::Assistant(m) = &message.info
            && let Some(error) = &m.error
        {
            let _ = writeln!(out, "error: {}", json!(error)["data"]["message"].as_str().unwrap_or_default());
        }
    }
    out
}

fn part_as_text(part: &Part, out: &mut String) {
    let _ = match &part.body {
        PartBody::Text(text) => writeln!(out, "{}", text.text.trim_end()),
        PartBody::File(file) => writeln!(out, "[file {}]", file.filename.as_deref().unwrap_or(&file.mime)),
        PartBody::Tool(tool) => {
            let how = match &tool.state {
                ToolState::Completed { title, .. } => title.clone(),
                ToolState::Error { error, .. } => format!("failed: {error}"),
                ToolState::Pending { .. } | ToolState::Running { .. } => "not finished".into(),
            };
            writeln!(out, "[{} {}]", tool.tool, how.lines().next().unwrap_or_default())
        }
        PartBody::Compaction(_) => writeln!(out, "[everything before is summarised]"),
        PartBody::Reasoning(_)
        | PartBody::StepStart { .. }
        | PartBody::StepFinish(_)
        | PartBody::Retry(_)
        | PartBody::Prefix(_) => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_later_says_so() {
        let words = |w: &str| vec![w.to_owned()];
        assert!(other("session", &words("fork"), &["fork"]).what.contains("not there yet"));
        assert!(other("session", &words("frok"), &["fork"]).what.contains("there is no"));
        assert_eq!(other("session", &words("fork"), &[]).exit.code(), 2);
    }

    #[test]
    fn an_id_is_checked_before_the_ledger_is_opened() {
        assert!(parse_id("ses_abc").is_ok());
        assert_eq!(parse_id("abc").unwrap_err().exit.code(), 2);
    }
}
