//! Replacing the older part of a conversation by a summary (agent-core, section 4, with the changes of its section 0). Pure: what is
//! summarised, what is kept, what the model is asked, whether its summary will do. The request itself is made in `run/compact`.

mod bridge;
mod head;
mod prune;
mod window;

pub(crate) use bridge::{bridge, todos};
pub(crate) use head::{HeadLimit, named};
pub(crate) use prune::prune;
pub(crate) use window::Window;

use crate::transcript::{BYTES_PER_TOKEN, View, compaction, is_prompt, layout_body, visible_text, weight};
use model::hook::Compacting;
use model::id::MessageId;
use model::message::{Message, MessageError, WithParts};
use std::ops::RangeInclusive;

/// Summaries in a row without a good step between.
pub(crate) const MAX_TRIES: u32 = 3;
/// The name that a summary's message has for its agent.
pub(crate) const AGENT: &str = "compaction";
/// Tokens of the tail where nothing is configured.
const RECENT: RangeInclusive<u64> = 2000..=8000;
/// A summary of this size is never too large.
const SMALL: u64 = 1024;

const PROMPT: &str = include_str!("compaction/prompt.txt");
const ANEW: &str = "Create a new summary of the conversation below.";
const UPDATE: &str = "Update the earlier summary with the conversation below: keep what is still true, drop what is stale, merge in what is new.";

/// `[compaction]` of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionOptions {
    /// Whether the host summarises by itself when the window is full.
    pub auto: bool,
    /// Whether old results are taken out of what the model sees, after a run.
    pub prune: bool,
    /// Turns that are kept as they are, at most.
    pub tail_turns: u32,
    /// Tokens that are kept as they are; `None` = a quarter of the window, from 2000 to 8000.
    pub preserve_recent_tokens: Option<u64>,
    /// Tokens of the window that are left free; `None` = those of the longest answer.
    pub reserved: Option<u64>,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self { auto: true, prune: false, tail_turns: 2, preserve_recent_tokens: None, reserved: None }
    }
}

/// One summary to be made.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    /// What is summarised, as text.
    pub head: String,
    /// The first message that is kept as it is.
    pub tail_start: Option<MessageId>,
    previous: Option<String>,
}

/// What a plan is made for.
pub(crate) struct Demand<'a> {
    pub history: &'a [WithParts],
    /// Index of the message that asks for the summary.
    pub asked: usize,
    pub options: &'a CompactionOptions,
    pub window: Window,
    /// Summaries that were tried since the last good step: each further one keeps less.
    pub tries: u32,
    pub limit: HeadLimit,
    pub view: View<'a>,
}

impl Plan {
    pub(crate) fn new(demand: &Demand<'_>) -> Self {
        let (summary, body) = layout_body(demand.history, demand.asked);
        let kept = kept_from(demand, &body);
        let (head, tail) = body.split_at(kept.unwrap_or(body.len()));
        let of = |i: &usize| &demand.history[*i];
        Self {
            head: head::write(head.iter().map(of), demand.limit),
            tail_start: tail.first().map(|i| of(i).info.id().clone()),
            previous: summary.map(|i| visible_text(&demand.history[i].parts)),
        }
    }

    /// The one message of the request, with what hooks want of it.
    pub(crate) fn question(&self, wish: &Compacting) -> String {
        let (task, previous) = match &self.previous {
            Some(text) => (UPDATE, format!("\n\n<previous-summary>\n{text}\n</previous-summary>")),
            None => (ANEW, String::new()),
        };
        let prompt = wish.prompt.as_deref().unwrap_or(PROMPT).trim();
        let context: String = wish.context.iter().map(|c| format!("\n\n<context>\n{c}\n</context>")).collect();
        format!("{task}\n\n{prompt}{previous}{context}\n\nThe conversation:\n\n{}", self.head)
    }

    /// Tokens of what the summary stands for.
    fn tokens(&self) -> u64 {
        estimate(&self.head) + self.previous.as_deref().map_or(0, estimate)
    }

    /// What is wrong with a summary: nothing in it, or hardly less than what it replaces.
    pub(crate) fn verify(&self, summary: &str) -> Result<(), &'static str> {
        if summary.trim().is_empty() {
            return Err("the summary is empty");
        }
        let most = (self.tokens() / 10 * 9).max(SMALL);
        if estimate(summary) > most { Err("the summary is hardly smaller than what it stands for") } else { Ok(()) }
    }
}

/// Tokens of a text.
pub(crate) fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Where in the body the part begins that is kept as it is; `None` = nothing is. A prompt that nobody has answered is always kept.
fn kept_from(demand: &Demand<'_>, body: &[usize]) -> Option<usize> {
    let of = |at: usize| &demand.history[body[at]];
    let unanswered = body.iter().rposition(|i| is_said(&demand.history[*i])).filter(|at| is_prompt(of(*at)));
    // All of it is no tail: then there would be nothing to summarise.
    tail(demand, body).into_iter().chain(unanswered).filter(|from| *from > 0).min()
}

/// Whether the message is part of the talk: answers that failed are not.
fn is_said(message: &WithParts) -> bool {
    match &message.info {
        Message::User(_) => true,
        Message::Assistant(info) => matches!(info.error, None | Some(MessageError::Aborted { .. })),
    }
}

/// The tail (agent-core, section 4.4): whole turns from the newest on, the first that does not fit split at a message.
fn tail(demand: &Demand<'_>, body: &[usize]) -> Option<usize> {
    let (turns, budget) = allowance(demand);
    let weigh = |at: usize| weight(&demand.history[body[at]], demand.view);
    let mut left = budget;
    let mut from = body.len();
    for _ in 0..turns {
        let start = (0..from).rev().find(|at| is_prompt(&demand.history[body[*at]])).unwrap_or(0);
        let mut at = from;
        while at > start && weigh(at - 1) <= left {
            at -= 1;
            left -= weigh(at);
        }
        from = at;
        if at > start {
            break;
        }
    }
    (from < body.len()).then_some(from)
}

/// Turns and tokens of the tail: less with each try.
fn allowance(demand: &Demand<'_>) -> (u32, u64) {
    let quarter = demand.window.usable().unwrap_or(0) / 4;
    let tokens = demand.options.preserve_recent_tokens.unwrap_or(quarter.clamp(*RECENT.start(), *RECENT.end()));
    match demand.tries {
        0 => (demand.options.tail_turns, tokens),
        1 => (demand.options.tail_turns.min(1), tokens / 2),
        _ => (0, 0),
    }
}

/// Summaries, good or bad, since the last step whose answer left room: counted from what is stored, back to the newest prompt at most.
pub(crate) fn tries(history: &[WithParts], window: Window) -> u32 {
    let mut tries = 0;
    for message in history.iter().rev() {
        match &message.info {
            Message::User(_) if is_prompt(message) => break,
            Message::User(_) => {}
            Message::Assistant(info) if info.summary => tries += 1,
            Message::Assistant(info) if info.finish.is_some() && info.error.is_none() => {
                if !window.is_full(info.tokens.total()) {
                    break;
                }
            }
            Message::Assistant(_) => {}
        }
    }
    tries
}

/// The message that asks for a summary and has none yet.
pub(crate) fn pending(history: &[WithParts]) -> Option<usize> {
    for (i, message) in history.iter().enumerate().rev() {
        match &message.info {
            Message::User(_) => return compaction(message).map(|_| i),
            // A summary that failed leaves its work to be done.
            Message::Assistant(info) if info.summary && info.error.is_some() => {}
            Message::Assistant(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests;
