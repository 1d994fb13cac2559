//! Tail calls: what comes back of a call, or a hook behind it, may name the call whose result takes its place: `{"tool": NAME,
//! "input": {…}}` as `tail` in the metadata. Such a call passes every stage like the model's own. It is made in the name of whoever
//! speaks to the model, not within the grant of the component that asks for it: so only where a rule allows `tail` for that tool.

use super::stage::{Outcome, Settled};
use model::permission::{Act, TAIL};
use model::tool_state::Metadata;
use serde_json::{Map, Value};

/// Calls behind one call of the model's.
pub(super) const MOST: usize = 8;
const OF: &str = "tail_of";

/// The call that a result names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    pub tool: String,
    pub input: Value,
}

impl Tail {
    /// What has to be allowed for it.
    pub fn act(&self) -> Act {
        Act::Other { permission: TAIL.into(), patterns: vec![self.tool.clone()], always: vec![] }
    }
}

/// Only a call that ended well has one.
pub(super) fn wanted(settled: &Settled) -> Option<Tail> {
    let Outcome::Completed(done) = &settled.outcome else { return None };
    let tail = done.metadata.get(TAIL)?;
    let tool = tail.get("tool")?.as_str()?.to_owned();
    let input = tail.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    Some(Tail { tool, input })
}

/// Notes behind which tools a result stands.
pub(super) fn note(settled: &mut Settled, behind: &[String]) {
    if behind.is_empty() {
        return;
    }
    let metadata: &mut Metadata = match &mut settled.outcome {
        Outcome::Completed(done) => &mut done.metadata,
        Outcome::Failed { metadata, .. } => metadata,
    };
    metadata.insert(OF.into(), behind.iter().map(String::as_str).collect());
}
