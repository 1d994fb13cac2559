//! Makes what any stored history gives into messages that every server takes. The law: no message and no text is empty or blank, every
//! call has an id of its own, a name and exactly one result right after it, and no result stands without its call.

use model::id::CallId;
use model::provider::{ChatPart, Role};
use std::collections::{HashMap, HashSet, VecDeque};

/// Longest name of a tool that servers take.
const MAX_NAME: usize = 64;
/// In place of a name of which nothing is left.
const NAMELESS: &str = "unnamed";
/// In place of a result that says nothing: some servers refuse an empty one.
const NO_OUTPUT: &str = "(no output)";

/// What was sent before, as far as it bears on what may be sent.
#[derive(Debug, Default)]
pub(crate) struct Sanitiser {
    used: HashSet<CallId>,
    /// The ids that the newest answer's calls were given, by the ids that they had.
    given: HashMap<CallId, VecDeque<CallId>>,
}

impl Sanitiser {
    /// A new answer begins: its results answer its own calls only.
    pub(crate) fn next_answer(&mut self) {
        self.given.clear();
    }

    /// The parts that may be sent, in order; empty where the message must not be.
    pub(crate) fn clean(&mut self, role: Role, parts: Vec<ChatPart>) -> Vec<ChatPart> {
        let mut kept: Vec<ChatPart> = parts.into_iter().filter_map(|p| self.part(p)).collect();
        // Thoughts alone are no answer.
        if role == Role::Assistant && kept.iter().all(|p| matches!(p, ChatPart::Reasoning { .. })) {
            kept.clear();
        }
        kept
    }

    fn part(&mut self, part: ChatPart) -> Option<ChatPart> {
        match part {
            ChatPart::Text(text) => (!text.trim().is_empty()).then_some(ChatPart::Text(text)),
            ChatPart::Reasoning { text, opaque } => {
                let is_blank = text.trim().is_empty() && opaque.is_none();
                (!is_blank).then_some(ChatPart::Reasoning { text, opaque })
            }
            ChatPart::File(file) => (!file.data.is_empty()).then_some(ChatPart::File(file)),
            ChatPart::ToolCall(mut call) => {
                let fresh = self.fresh(&call.id);
                self.given.entry(call.id).or_default().push_back(fresh.clone());
                call.id = fresh;
                call.name = name(&call.name);
                Some(ChatPart::ToolCall(call))
            }
            ChatPart::ToolResult(mut result) => {
                result.call_id = self.given.get_mut(&result.call_id)?.pop_front()?;
                result.name = name(&result.name);
                if result.text.trim().is_empty() {
                    result.text = NO_OUTPUT.into();
                }
                Some(ChatPart::ToolResult(result))
            }
        }
    }

    /// The id itself the first time. Made of what was sent before only, so that it is the same in the next request.
    fn fresh(&mut self, id: &CallId) -> CallId {
        let mut fresh = id.clone();
        let mut n = 1;
        while fresh.as_str().trim().is_empty() || self.used.contains(&fresh) {
            n += 1;
            fresh = CallId::given(&format!("{}_{n}", if id.as_str().trim().is_empty() { "call" } else { id.as_str() }));
        }
        self.used.insert(fresh.clone());
        fresh
    }
}

fn name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    if name.is_empty() { NAMELESS.into() } else { name }
}

#[cfg(test)]
mod tests;
