//! What a summary replaces (agent-core, section 4.6). Pure. Nothing is deleted: the ledger keeps all, this is what is shown of it.
//!
//! In the order of what is sent: the question, the summary, the host's word on what the work is, the tail that was kept as it is, all that
//! came after.

use super::is_hosts_continue;
use model::id::MessageId;
use model::message::{CompactionPart, Message, PartBody, WithParts};

/// Indices of stored messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The summary, and the host's word after it.
    pub head: Vec<usize>,
    /// What is kept of the time before the summary.
    pub tail: Vec<usize>,
    /// Pictures of the tail are not sent again: they were what did not fit.
    pub strip_media: bool,
    /// Where the time after the summary begins.
    pub done: usize,
}

/// The layout that begins with the message at `index`, if that is a summary that counts.
pub(crate) fn summarised(history: &[WithParts], index: usize) -> Option<Layout> {
    let Message::Assistant(info) = &history[index].info else { return None };
    if !info.summary || info.finish.is_none() || info.error.is_some() {
        return None;
    }
    let asked = history[..index].iter().rposition(|m| *m.info.id() == info.parent_id)?;
    let part = compaction(&history[asked])?;
    let after = history.get(index + 1).is_some_and(is_hosts_continue);
    let head = if after { vec![index, index + 1] } else { vec![index] };
    let done = index + head.len();
    Some(Layout { head, tail: tail(history, asked, part), strip_media: part.overflow, done })
}

fn tail(history: &[WithParts], asked: usize, part: &CompactionPart) -> Vec<usize> {
    let found = part.tail_start_id.as_ref().and_then(|id| position(&history[..asked], id));
    found.map_or(vec![], |from| (from..asked).filter(|i| is_body(&history[*i])).collect())
}

fn position(history: &[WithParts], id: &MessageId) -> Option<usize> {
    history.iter().rposition(|m| m.info.id() == id)
}

/// The work item of a message, if it has one.
pub(crate) fn compaction(message: &WithParts) -> Option<&CompactionPart> {
    message.parts.iter().find_map(|p| match &p.body {
        PartBody::Compaction(part) => Some(part),
        _ => None,
    })
}

/// Neither a summary nor what belongs to one.
fn is_body(message: &WithParts) -> bool {
    let is_summary = matches!(&message.info, Message::Assistant(info) if info.summary);
    !is_summary && compaction(message).is_none() && !is_hosts_continue(message)
}

/// What the model sees of the history before `end`, without the summary: indices in order, and the newest summary.
pub(crate) fn body(history: &[WithParts], end: usize) -> (Option<usize>, Vec<usize>) {
    let summary = (0..end).rev().find_map(|i| summarised(&history[..end], i).map(|l| (i, l)));
    let (before, from) = match &summary {
        Some((_, layout)) => (layout.tail.clone(), layout.done),
        None => (vec![], 0),
    };
    let after = (from..end).filter(|i| is_body(&history[*i]));
    (summary.map(|(i, _)| i), before.into_iter().chain(after).collect())
}

#[cfg(test)]
mod tests;
