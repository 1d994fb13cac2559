//! Whether a session goes round in circles (agent-core, section 0, row Doom loop). Pure.
//!
//! A circle is a row of one to [`PERIODS`] calls that was made [`ROUNDS`] times over, each time with the same results (or none but
//! failures), across messages and steps. A call that would begin another round is suspect. A poll whose result changes is no circle.

mod echo;

pub(crate) use echo::Echo;

use crate::builtin::background;
use crate::step::is_providers;
use crate::transcript::is_prompt;
use model::id::PartId;
use model::message::{Part, PartBody, ToolPart, WithParts};
use model::tool_state::{Attachment, ToolState};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Longest row of calls that is seen as one.
const PERIODS: usize = 5;
/// How often it has to have been made before the next one is suspect.
const ROUNDS: usize = 3;
/// Calls that are looked at.
const WINDOW: usize = PERIODS * ROUNDS;
/// Bytes of an attachment that tell it from another one, at each end.
const SAMPLE: usize = 512;

/// What a call is: its tool and its arguments, whatever their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallMark(u64);

impl CallMark {
    /// `raw` is what the model wrote where that is no object.
    pub(crate) fn new(tool: &str, input: &Value, raw: Option<&str>) -> Self {
        let mut hasher = DefaultHasher::new();
        tool.hash(&mut hasher);
        hash_json(input, &mut hasher);
        raw.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// How a call ended. All failures are one: their words often differ by a number or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Gave(u64),
    /// A program was left running. What is told of it is its id, which is never the same.
    Began,
    Failed,
}

/// The newest calls that have ended, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopGuard {
    ended: Vec<(CallMark, Outcome)>,
}

/// A circle that a call would go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// Calls in one round.
    pub period: usize,
}

impl Circle {
    /// In words, for a call of this tool.
    pub(crate) fn told(self, tool: &str) -> String {
        match self.period {
            1 => format!("{tool} was called {ROUNDS} times with the same arguments and the same result"),
            n => format!("the same {n} calls, {tool} among them, were made {ROUNDS} times with the same results"),
        }
    }
}

impl LoopGuard {
    /// Looks at the newest calls, back to the newest prompt of a person or to the call `pardoned`, whichever comes first: the cost
    /// does not grow with the session.
    pub(crate) fn of(history: &[WithParts], pardoned: Option<&PartId>) -> Self {
        let mut ended = Vec::with_capacity(WINDOW);
        'messages: for message in history.iter().rev() {
            if is_prompt(message) {
                break;
            }
            for part in message.parts.iter().rev() {
                if ended.len() == WINDOW || Some(&part.id) == pardoned {
                    break 'messages;
                }
                ended.extend(mark(part));
            }
        }
        ended.reverse();
        Self { ended }
    }

    /// Whether `call` would go on with a circle, after the calls `ahead` of it in its own message, which have not ended yet.
    pub(crate) fn suspects(&self, ahead: &[CallMark], call: CallMark) -> Option<Circle> {
        (1..=PERIODS).find(|p| self.repeats(*p, ahead, call)).map(|period| Circle { period })
    }

    fn repeats(&self, period: usize, ahead: &[CallMark], call: CallMark) -> bool {
        let Some(from) = self.ended.len().checked_sub(period * ROUNDS) else { return false };
        let rounds = &self.ended[from..];
        let goes_on = |(i, mark): (usize, &CallMark)| rounds[i % period].0 == *mark;
        rounds.iter().enumerate().all(|(i, e)| *e == rounds[i % period])
            && ahead.iter().chain([&call]).enumerate().all(goes_on)
    }
}

fn mark(part: &Part) -> Option<(CallMark, Outcome)> {
    let PartBody::Tool(tool) = &part.body else { return None };
    if part.body.is_dropped() || is_providers(tool) {
        return None;
    }
    Some((mark_of(tool), if begins(tool) { Outcome::Began } else { outcome(&tool.state)? }))
}

fn begins(tool: &ToolPart) -> bool {
    let has_id = |state: &ToolState| matches!(state, ToolState::Completed { metadata, .. } if metadata.contains_key(background::ID));
    tool.tool == background::STARTER && has_id(&tool.state)
}

fn mark_of(tool: &ToolPart) -> CallMark {
    let raw = match &tool.state {
        ToolState::Error { metadata, .. } => metadata.get("raw").and_then(Value::as_str),
        _ => None,
    };
    CallMark::new(&tool.tool, tool.state.input(), raw)
}

fn outcome(state: &ToolState) -> Option<Outcome> {
    match state {
        ToolState::Completed { output, attachments, .. } => {
            let mut hasher = DefaultHasher::new();
            output.hash(&mut hasher);
            attachments.iter().for_each(|a| hash_attachment(a, &mut hasher));
            Some(Outcome::Gave(hasher.finish()))
        }
        ToolState::Error { .. } if !state.is_interrupted() => Some(Outcome::Failed),
        ToolState::Error { .. } | ToolState::Pending { .. } | ToolState::Running { .. } => None,
    }
}

fn hash_attachment(file: &Attachment, hasher: &mut DefaultHasher) {
    let bytes = file.url.as_bytes();
    bytes.len().hash(hasher);
    bytes[..bytes.len().min(SAMPLE)].hash(hasher);
    bytes[bytes.len().saturating_sub(SAMPLE)..].hash(hasher);
}

fn hash_json(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0u8.hash(hasher),
        Value::Bool(b) => (1u8, b).hash(hasher),
        Value::Number(n) => (2u8, n.to_string()).hash(hasher),
        Value::String(s) => (3u8, s).hash(hasher),
        Value::Array(items) => {
            (4u8, items.len()).hash(hasher);
            items.iter().for_each(|i| hash_json(i, hasher));
        }
        Value::Object(map) => {
            (5u8, map.len()).hash(hasher);
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            for key in keys {
                key.hash(hasher);
                hash_json(&map[key], hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests;
