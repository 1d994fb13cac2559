//! Where a prefix may be cached: at four places at most. The start of the system prompt holds for the session, the end of the last message
//! but one for the step before, the end of the last for the next.

use crate::thought::is_thought;
use serde_json::{Value, json};

const SYSTEM: usize = 2;
const MESSAGES: usize = 2;

pub fn mark(tools: &mut [Value], system: &mut [Value], messages: &mut [Value]) {
    if system.is_empty() {
        tools.last_mut().into_iter().for_each(mark_block);
    }
    system.iter_mut().take(SYSTEM).for_each(mark_block);
    messages.iter_mut().rev().take(MESSAGES).for_each(mark_message);
}

/// Thoughts cannot be marked.
fn mark_message(message: &mut Value) {
    let blocks = message["content"].as_array_mut();
    if let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rev().find(|b| !is_thought(b))) {
        mark_block(block);
    }
}

fn mark_block(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}
