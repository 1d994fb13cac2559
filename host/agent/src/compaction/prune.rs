//! Old results that the model need not see any more (agent-core, section 4.7). Pure.

use super::estimate;
use crate::transcript::is_prompt;
use model::message::{Message, Part, PartBody, WithParts};
use model::store::Change;
use model::tool_state::ToolState;

/// Tokens of the newest results that stay.
const PROTECTED: u64 = 40_000;
/// Less than this is not worth a changed prefix.
const WORTHWHILE: u64 = 20_000;
/// The newest turns are not looked at.
const TURNS: usize = 2;
/// Results that are instructions.
const KEPT: &str = "skill";

/// The calls whose results are taken out, changed.
pub(crate) fn prune(history: &[WithParts], now: u64) -> Vec<Change> {
    let mut turns = 0;
    let (mut seen, mut freed) = (0, 0);
    let mut cleared = Vec::new();
    'all: for message in history.iter().rev() {
        if matches!(&message.info, Message::Assistant(info) if info.summary) {
            break;
        }
        for part in message.parts.iter().rev().filter(|_| turns >= TURNS) {
            match result(part) {
                Result::None => {}
                Result::Cleared => break 'all,
                Result::Tokens(tokens) => {
                    seen += tokens;
                    if seen > PROTECTED {
                        freed += tokens;
                        cleared.push(part);
                    }
                }
            }
        }
        turns += usize::from(is_prompt(message));
    }
    if freed > WORTHWHILE { cleared.into_iter().map(|p| Change::Part(clear(p, now))).collect() } else { vec![] }
}

enum Result {
    None,
    /// Taken out before: so is all that is older.
    Cleared,
    Tokens(u64),
}

fn result(part: &Part) -> Result {
    match &part.body {
        PartBody::Tool(t) if t.tool != KEPT && !part.body.is_dropped() => match &t.state {
            ToolState::Completed { time, .. } if time.compacted.is_some() => Result::Cleared,
            ToolState::Completed { output, .. } => Result::Tokens(estimate(output)),
            _ => Result::None,
        },
        _ => Result::None,
    }
}

fn clear(part: &Part, now: u64) -> Part {
    let mut part = part.clone();
    if let PartBody::Tool(tool) = &mut part.body {
        tool.state.clear_output(now);
    }
    part
}

#[cfg(test)]
mod tests;
