//! What a run that died left open is closed before the next one begins (agent-core, section 0, row Restart). Pure.

use model::fault::FailureKind;
use model::message::{AssistantMessage, Message, MessageError, Part, PartBody, WithParts};
use model::store::Change;
use model::tool_state::{Metadata, Span, ToolState};
use serde_json::Value;

/// What the model reads in place of a result that was never written.
pub(crate) const LOST: &str =
    "The run was interrupted before this call ended. Its effects, if any, are not known: look before you repeat it.";

/// Closes every unfinished message, its running calls and its open texts. Empty where nothing was left open.
pub(crate) fn repair(history: &[WithParts], now: u64) -> Vec<Change> {
    history.iter().flat_map(|m| repair_message(m, now)).collect()
}

fn repair_message(message: &WithParts, now: u64) -> Vec<Change> {
    let Message::Assistant(info) = &message.info else { return vec![] };
    let mut changes: Vec<Change> =
        message.parts.iter().filter_map(|p| closed(p, LOST, now)).map(Change::Part).collect();
    if info.time.completed.is_none() {
        let mut info = info.as_ref().clone();
        close_message(&mut info, "the program ended before the message was complete", now);
        changes.push(Change::Message(Message::Assistant(Box::new(info))));
    }
    changes
}

/// Marks a message as broken off. An error that it already has stands.
pub(crate) fn close_message(info: &mut AssistantMessage, why: &str, now: u64) {
    info.time.completed = Some(now);
    info.error.get_or_insert(MessageError::Aborted { message: why.into() });
}

/// The part with its end written, or `None` if it has one.
pub(crate) fn closed(part: &Part, why: &str, now: u64) -> Option<Part> {
    let mut part = part.clone();
    close_body(&mut part.body, why, now).then_some(part)
}

fn close_body(body: &mut PartBody, why: &str, now: u64) -> bool {
    match body {
        PartBody::Tool(tool) => {
            adopt_raw(&mut tool.state);
            tool.state.fail(FailureKind::Interrupted, why.into(), Metadata::new(), now)
        }
        PartBody::Text(text) => text.time.as_mut().is_some_and(|t| end(t, now)),
        PartBody::Reasoning(reasoning) => end(&mut reasoning.time, now),
        PartBody::File(_)
        | PartBody::StepStart { .. }
        | PartBody::StepFinish(_)
        | PartBody::Retry(_)
        | PartBody::Compaction(_)
        | PartBody::Prefix(_) => false,
    }
}

/// A call that never ran keeps the arguments that the model wrote, as far as they are an object.
pub(crate) fn adopt_raw(state: &mut ToolState) {
    let ToolState::Pending { input, raw } = state else { return };
    if let Ok(object @ Value::Object(_)) = serde_json::from_str(raw) {
        *input = object;
    }
}

fn end(span: &mut Span, now: u64) -> bool {
    let open = span.end.is_none();
    span.end.get_or_insert(now);
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::history::{assistant, reasoning, running, text, user};
    use crate::transcript::Transcript;

    fn apply(history: Vec<WithParts>, changes: &[Change]) -> Vec<WithParts> {
        let mut transcript = Transcript::new(history);
        changes.iter().for_each(|c| transcript.apply(c));
        transcript.messages().to_vec()
    }

    #[test]
    fn everything_open_is_closed_once() {
        let mut open = assistant(|m| m.time.completed = None);
        open.parts = vec![reasoning("hm", None), text("half", true), running("write")];
        // A part belongs to its message.
        let id = open.info.id().clone();
        open.parts.iter_mut().for_each(|p| p.message_id = id.clone());
        let history = vec![user("go"), open];
        let changes = repair(&history, 77);
        let history = apply(history, &changes);

        let Message::Assistant(info) = &history[1].info else { panic!() };
        assert_eq!(info.time.completed, Some(77));
        assert!(matches!(info.error, Some(MessageError::Aborted { .. })));
        let PartBody::Reasoning(r) = &history[1].parts[0].body else { panic!() };
        assert_eq!(r.time.end, Some(77));
        let PartBody::Text(t) = &history[1].parts[1].body else { panic!() };
        assert_eq!(t.time.unwrap().end, Some(77));
        let PartBody::Tool(t) = &history[1].parts[2].body else { panic!() };
        assert!(t.state.is_interrupted());
        assert!(matches!(&t.state, ToolState::Error { metadata, .. } if metadata["kind"] == "interrupted"));

        assert!(repair(&history, 99).is_empty(), "a repaired history needs no repair");
    }

    #[test]
    fn a_closed_history_is_left_alone() {
        assert!(repair(&[user("go"), assistant(|_| ())], 5).is_empty());
    }
}
