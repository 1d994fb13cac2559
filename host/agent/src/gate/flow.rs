//! What a family of sessions has read of, and what that makes of its further acts. Neither rule nor approval answers a flow rule:
//! each such act is looked at.

use super::needs::Need;
use super::opinion::Course;
use super::{Gatekeeper, State};
use model::flow::{FlowRule, Label, Labels, is_secret};
use model::id::SessionId;
use model::permission::{Act, Action, Denial};
use serde_json::{Map, Value};
use std::path::Path;

/// What brought the question up, in the metadata of an ask.
const FLOW: &str = "flow";

impl Gatekeeper {
    pub(super) fn labels_of(&self, session: &SessionId) -> Labels {
        let root = self.root_of(session);
        self.state().labels.get(&root).cloned().unwrap_or_default()
    }

    pub(super) fn label(&self, session: &SessionId, labels: &Labels) {
        if labels.is_empty() {
            return;
        }
        let root = self.root_of(session);
        let State { labels: known, .. } = &mut *self.state();
        known.entry(root).or_default().join(labels);
    }

    /// The strictest flow rule against acts that need this, with what they read themselves: a call that reads a secret and sends
    /// is one call.
    pub(super) fn flows(&self, session: &SessionId, acts: &[Act], needs: &[Need]) -> Option<FlowRule> {
        let mut labels = self.labels_of(session);
        labels.join(&acts.iter().filter(|a| !matches!(a, Act::Request { .. })).filter_map(label_of).collect());
        let of_sink = |sink: &str| self.flow.judge(&labels, sink).cloned();
        needs.iter().flat_map(Need::sinks).filter_map(of_sink).max_by_key(|rule| rule.action)
    }
}

/// A flow rule over what rules and hooks say: it makes the answer stricter.
pub(super) fn over(course: Course, rule: Option<FlowRule>) -> Course {
    match (course, rule) {
        (Course::Refuse(denial), _) => Course::Refuse(denial),
        (_, Some(rule)) if rule.action == Action::Deny => Course::Refuse(Denial::Flow(rule)),
        (Course::Pass | Course::Ask | Course::Insist, Some(_)) => Course::Insist,
        (course, None) => course,
    }
}

/// The question, with why it comes up.
pub(super) fn told(metadata: Value, rule: Option<&FlowRule>) -> Value {
    let Some(rule) = rule else { return metadata };
    let mut object = match metadata {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.insert(FLOW.into(), Value::String(rule.to_string()));
    Value::Object(object)
}

/// What comes into a session by these acts. Of a shell line only the files that it names are seen.
pub(super) fn brought_by(acts: &[Act]) -> Labels {
    acts.iter().filter_map(label_of).collect()
}

fn label_of(act: &Act) -> Option<Label> {
    match act {
        Act::Request { .. } => Some(Label::Web),
        Act::Read { path } => is_secret(path).then_some(Label::Secret),
        Act::Shell { line, .. } => names_a_secret(line).then_some(Label::Secret),
        Act::Exec { argv, .. } => argv.iter().any(|word| is_secret(Path::new(word))).then_some(Label::Secret),
        Act::Call { .. } | Act::Write { .. } | Act::Escalate { .. } | Act::Other { .. } => None,
    }
}

fn names_a_secret(line: &str) -> bool {
    let between = |c: char| c.is_whitespace() || "\"'`$();|&<>={}".contains(c);
    line.split(between).any(|word| is_secret(Path::new(word)))
}
