//! Which acts and messages are meant. Pure.

use super::error::UndoError;
use crate::transcript::is_synthetic;
use model::id::{CallId, MessageId, SessionId};
use model::message::{Message, Part, PartBody, ToolPart};
use model::tool_state::{Metadata, ToolState};
use model::undo::{Recorded, Target, Told};
use std::collections::HashSet;

/// What a target comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Meant {
    /// Out of the talk. In order.
    pub messages: Vec<MessageId>,
    /// Messages whose calls are meant, whether or not they leave the talk.
    of: HashSet<MessageId>,
    /// Only this call of them.
    call: Option<CallId>,
    /// Sessions that were begun by what is meant; those below them are meant too.
    pub children: Vec<SessionId>,
    /// What the calls said of what the journal does not cover.
    pub uncovered: Vec<String>,
}

impl Meant {
    /// Whether this act is meant; `below` = the children with all below them.
    pub(super) fn covers(&self, act: &Recorded, below: &HashSet<SessionId>) -> bool {
        let entry = &act.entry;
        below.contains(&entry.session)
            || (self.of.contains(&entry.message) && self.call.as_ref().is_none_or(|call| *call == entry.call))
    }

    /// What calls of sessions below said of what is not covered.
    pub(super) fn add_uncovered(&mut self, told: &[Told]) {
        let calls = told.iter().flat_map(|t| &t.message.parts).filter_map(as_call);
        self.uncovered.extend(calls.filter_map(|c| metadata(&c.state)).flat_map(uncovered));
    }

    fn add_parts<'a>(&mut self, parts: impl Iterator<Item = &'a Part>) {
        for call in parts.filter_map(as_call) {
            let Some(metadata) = metadata(&call.state) else { continue };
            self.children.extend(child(metadata));
            self.uncovered.extend(uncovered(metadata));
        }
    }
}

fn as_call(part: &Part) -> Option<&ToolPart> {
    if let PartBody::Tool(call) = &part.body { Some(call) } else { None }
}

fn metadata(state: &ToolState) -> Option<&Metadata> {
    match state {
        ToolState::Pending { .. } => None,
        ToolState::Running { metadata, .. }
        | ToolState::Completed { metadata, .. }
        | ToolState::Error { metadata, .. } => Some(metadata),
    }
}

/// The session that a call began (agent-core, section 6.12).
fn child(metadata: &Metadata) -> Option<SessionId> {
    let said = metadata.get("sessionId").or_else(|| metadata.get("sessionID"))?;
    SessionId::parse(said.as_str()?)
}

/// What the host said under `scan.uncovered` of a call that ran programs.
fn uncovered(metadata: &Metadata) -> Vec<String> {
    let list = metadata.get("scan").and_then(|scan| scan.get("uncovered")).and_then(|list| list.as_array());
    let told = |line: &str| format!("a program may have changed it, and it is not taken back: {line}");
    list.into_iter().flatten().filter_map(|line| line.as_str().map(told)).collect()
}

/// The newest message of a person that still counts.
pub(super) fn newest_prompt(told: &[Told]) -> Option<Target> {
    let theirs = |t: &&Told| t.undone_by.is_none() && matches!(t.message.info, Message::User(_));
    let mut all = told.iter().rev().filter(theirs);
    let message = all.find(|t| !is_synthetic(&t.message))?.message.info.id().clone();
    Some(Target::Since { message })
}

pub(super) fn resolve(session: &SessionId, told: &[Told], target: &Target) -> Result<Meant, UndoError> {
    match target {
        Target::Since { message } => since(session, told, message),
        Target::Step { message } => step(session, told, message),
        Target::Call { call } => of_call(session, told, call),
        Target::Child { session } => Ok(Meant { children: vec![session.clone()], ..Meant::default() }),
    }
}

fn place(session: &SessionId, told: &[Told], message: &MessageId) -> Result<usize, UndoError> {
    let at = told.iter().position(|t| t.message.info.id() == message);
    at.ok_or_else(|| UndoError::NoMessage(session.clone(), message.clone()))
}

fn since(session: &SessionId, told: &[Told], message: &MessageId) -> Result<Meant, UndoError> {
    Ok(whole(&told[place(session, told, message)?..]))
}

fn step(session: &SessionId, told: &[Told], message: &MessageId) -> Result<Meant, UndoError> {
    let at = place(session, told, message)?;
    match &told[at].message.info {
        Message::Assistant(_) => Ok(whole(&told[at..=at])),
        Message::User(_) => Err(UndoError::NoStep(message.clone())),
    }
}

fn whole(told: &[Told]) -> Meant {
    let live = told.iter().filter(|t| t.undone_by.is_none());
    let mut meant = Meant {
        messages: live.map(|t| t.message.info.id().clone()).collect(),
        of: told.iter().map(|t| t.message.info.id().clone()).collect(),
        ..Meant::default()
    };
    meant.add_parts(told.iter().flat_map(|t| &t.message.parts));
    meant
}

fn of_call(session: &SessionId, told: &[Told], call: &CallId) -> Result<Meant, UndoError> {
    let is_it = |part: &&Part| as_call(part).is_some_and(|c| c.call_id == *call);
    let holders: Vec<&Told> = told.iter().filter(|t| t.message.parts.iter().any(|p| is_it(&p))).collect();
    let [holder] = holders.as_slice() else {
        let ids: Vec<MessageId> = holders.iter().map(|t| t.message.info.id().clone()).collect();
        return Err(if ids.is_empty() {
            UndoError::NoCall(session.clone(), call.clone())
        } else {
            UndoError::ManyCalls(call.clone(), ids)
        });
    };
    let of = HashSet::from([holder.message.info.id().clone()]);
    let mut meant = Meant { of, call: Some(call.clone()), ..Meant::default() };
    meant.add_parts(holder.message.parts.iter().filter(is_it));
    Ok(meant)
}
