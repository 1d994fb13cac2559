//! `airlock session undo|redo`: what the agent did is taken back, or put back.

use super::parse_id;
use crate::cli::{Format, print_foreign, print_json};
use crate::report::Report;
use crate::wire;
use agent::journal::{Obstacle, Rewinder, describe, lost_by};
use clap::{ArgGroup, Args};
use model::id::{CallId, MessageId, SessionId};
use model::undo::{Reach, StoredUndo, Target, Undo};
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target"))]
pub struct UndoArgs {
    id: String,
    /// This message and everything after it; without any of these, the newest prompt and everything after it
    #[arg(long, value_name = "MESSAGE", group = "target")]
    to: Option<String>,
    /// What one call changed
    #[arg(long, value_name = "CALL", group = "target")]
    call: Option<String>,
    /// One answer of the model, with what its calls changed
    #[arg(long, value_name = "MESSAGE", group = "target")]
    step: Option<String>,
    /// What a sub-agent changed
    #[arg(long, value_name = "SESSION", group = "target")]
    child: Option<String>,
    /// Only list what would be done
    #[arg(long)]
    dry_run: bool,
    /// Also what is too large to be kept, and so would be gone for good
    #[arg(long)]
    discard: bool,
    /// Leave the talk as it is; the model is told
    #[arg(long, conflicts_with = "talk_only")]
    files_only: bool,
    /// Leave the files as they are
    #[arg(long)]
    talk_only: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub struct RedoArgs {
    id: String,
    /// Put back the files alone, where the talk has gone on since
    #[arg(long)]
    files_only: bool,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl UndoArgs {
    fn target(&self) -> Result<Option<Target>, Report> {
        let message = |text: &String| parse_message(text);
        if let Some(to) = &self.to {
            return Ok(Some(Target::Since { message: message(to)? }));
        }
        if let Some(step) = &self.step {
            return Ok(Some(Target::Step { message: message(step)? }));
        }
        if let Some(child) = &self.child {
            return Ok(Some(Target::Child { session: parse_id(child)? }));
        }
        Ok(self.call.as_deref().map(|call| Target::Call { call: CallId::given(call) }))
    }

    fn reach(&self) -> Reach {
        match (self.files_only, self.talk_only) {
            (true, _) => Reach::Files,
            (_, true) => Reach::Talk,
            (false, false) => Reach::Both,
        }
    }
}

/// The id of a message as a person wrote it.
pub fn parse_message(text: &str) -> Result<MessageId, Report> {
    let no_id = || {
        let what = format!("`{text}` is no message id: those begin with {}", MessageId::PREFIX);
        Report::usage(what, "`airlock session show ID --format json` lists the messages.")
    };
    MessageId::parse(text).ok_or_else(no_id)
}

pub async fn undo(args: &UndoArgs) -> Result<(), Report> {
    let (id, target) = (parse_id(&args.id)?, args.target()?);
    let rewinder = wire::rewinder(super::ledger().await?);
    if args.dry_run {
        let (undo, obstacles) = rewinder.preview(&id, target, args.reach()).await?;
        return show_plan(args.format, &undo, &obstacles);
    }
    if !args.discard {
        keeps_all(&rewinder, args, &id, target.clone()).await?;
    }
    let done = rewinder.undo(&id, target, args.reach()).await?;
    match args.format {
        Format::Json => print_json(&as_json(&done)),
        Format::Text => print_foreign(&as_text(&done.undo, "left the talk")),
    }
}

/// What only undoing would destroy is not undone in passing.
async fn keeps_all(rewinder: &Rewinder, args: &UndoArgs, id: &SessionId, target: Option<Target>) -> Result<(), Report> {
    // Whatever else keeps it from being done is told by the undo itself.
    let Ok((undo, obstacles)) = rewinder.preview(id, target, args.reach()).await else { return Ok(()) };
    let Some(file) = lost_by(&undo).filter(|_| obstacles.is_empty()) else { return Ok(()) };
    let what = format!(
        "{} is too large to be kept: taken back it would be gone for good, and nothing of this could be redone; nothing was changed",
        file.display()
    );
    Err(Report::usage(
        what,
        "Look at all of it with --dry-run; take back less with --call or --step, or say --discard.",
    ))
}

pub async fn redo(args: &RedoArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let reach = if args.files_only { Reach::Files } else { Reach::Both };
    let mut done = wire::rewinder(super::ledger().await?).redo(&id, reach).await?;
    let undo = &mut done.undo;
    undo.steps = undo.steps.iter().rev().map(model::undo::Step::reversed).collect();
    undo.remarks.clear();
    match args.format {
        Format::Json => print_json(&as_json(&done)),
        Format::Text => print_foreign(&as_text(&done.undo, "are back in the talk")),
    }
}

fn as_json(done: &StoredUndo) -> Value {
    let mut value = json!(done.undo);
    if let Some(object) = value.as_object_mut() {
        object.insert("id".into(), json!(done.id));
        object.insert("sessionID".into(), json!(done.session));
        object.insert("state".into(), json!(done.state));
        object.remove("entries");
    }
    value
}

fn show_plan(format: Format, undo: &Undo, obstacles: &[Obstacle]) -> Result<(), Report> {
    let in_the_way: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    match format {
        Format::Json => {
            let mut value = json!(undo);
            if let Some(object) = value.as_object_mut() {
                object.remove("entries");
                object.insert("dryRun".into(), json!(true));
                object.insert("obstacles".into(), json!(in_the_way));
            }
            print_json(&value)
        }
        Format::Text => {
            let mut out = as_text(undo, "would leave the talk");
            for line in in_the_way {
                let _ = writeln!(out, "in the way: {line}");
            }
            print_foreign(&out)
        }
    }
}

fn as_text(undo: &Undo, talk: &str) -> String {
    let mut out = String::new();
    for step in &undo.steps {
        let _ = writeln!(out, "{}", describe(step));
    }
    if !undo.messages.is_empty() {
        let _ = writeln!(out, "{} messages {talk}", undo.messages.len());
    }
    for remark in &undo.remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    if out.is_empty() {
        out.push_str("nothing was changed\n");
    }
    out
}
