//! Where a prefix may be cached: at four places at most. The start of the system prompt holds for the session, the end of the last message
//! but one for the step before, the end of the last for the next.

use super::messages::Kind;
use super::tools::Tools;
use codec::{Ink, Said, Tail};
use serde_json::{Value, json};

const SYSTEM: usize = 2;
pub const MESSAGES: usize = 2;

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

pub fn mark_prefix(tools: &mut Tools, system: &mut [Value]) {
    let tool = if system.is_empty() { tools.last_mut() } else { None };
    tool.into_iter().chain(system.iter_mut().take(SYSTEM)).for_each(|block| block["cache_control"] = mark());
}

/// Thoughts cannot be marked.
pub fn mark_messages(end: &mut Tail<Said<Kind>>) {
    let mark = Ink::of(&mark());
    for message in end.newest_mut().take(MESSAGES) {
        if let Some((_, block)) = message.blocks.iter_mut().rev().find(|(kind, _)| *kind != Kind::Thought) {
            block.member("cache_control", &mark);
        }
    }
}
