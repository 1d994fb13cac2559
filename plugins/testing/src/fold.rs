//! The events of a stream folded into what a host would make of them, with checks of what must hold for every stream.

use airlock::provider::{FinishReason, ProviderFailure, StreamEvent, ToolCall, ToolResult, Usage};
use std::collections::HashSet;

/// What a host would have made of the events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    pub text: String,
    pub reasoning: String,
    /// Each thought with its provider data.
    pub thoughts: Vec<(String, Option<String>)>,
    pub calls: Vec<ToolCall>,
    /// Of calls that the server ran itself.
    pub results: Vec<ToolResult>,
    pub reason: Option<FinishReason>,
    pub usage: Option<Usage>,
    pub metadata: Option<String>,
    pub failure: Option<ProviderFailure>,
}

/// Defines `decode` and `events` for a decoder.
#[macro_export]
macro_rules! reader {
    ($decoder:ty) => {
        fn decode(content_type: &str, pieces: &[&[u8]]) -> Vec<::airlock::provider::StreamEvent> {
            $crate::laws::decode::<$decoder>("mock", content_type, pieces)
        }

        fn events(body: &[u8]) -> Vec<::airlock::provider::StreamEvent> {
            decode("text/event-stream", &[body])
        }
    };
}

pub fn chunks<'a>(body: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let (mut rest, mut pieces, mut at) = (body, Vec::new(), 0);
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(sizes[at % sizes.len()].clamp(1, rest.len()));
        pieces.push(piece);
        rest = tail;
        at += 1;
    }
    pieces
}

/// A piece ends after each CR.
pub fn after_each_cr(body: &[u8]) -> Vec<&[u8]> {
    body.split_inclusive(|b| *b == b'\r').collect()
}

#[derive(Default)]
struct Check {
    open: Option<String>,
    ids: HashSet<String>,
    inputs: Vec<(String, String)>,
    thought: String,
    ended: bool,
}

impl Check {
    fn open(&mut self, id: &str) {
        assert!(self.open.is_none(), "one block at a time");
        assert!(self.ids.insert(id.into()), "{id} is used twice");
        self.open = Some(id.into());
    }

    fn delta(&self, id: &str, text: &str) {
        assert_eq!(self.open.as_deref(), Some(id));
        assert!(!text.is_empty(), "no empty delta");
    }

    fn close(&mut self, id: &str) {
        assert_eq!(self.open.take().as_deref(), Some(id));
    }

    fn input(&mut self, id: &str) -> &mut String {
        &mut self.inputs.iter_mut().find(|(i, _)| i == id).expect("an input that was started").1
    }

    fn start_input(&mut self, id: &str) {
        assert!(!id.is_empty() && self.ids.insert(id.into()), "{id} is empty or used twice");
        self.inputs.push((id.into(), String::new()));
    }

    fn call(&mut self, call: &ToolCall) {
        let joined = self.input(&call.id).clone();
        assert!(
            call.input == joined || (joined.trim().is_empty() && call.input == "{}"),
            "{} is not {joined}",
            call.input
        );
        assert!(!call.name.is_empty());
    }
}

pub fn fold(events: &[StreamEvent]) -> Folded {
    let (mut folded, mut check) = (Folded::default(), Check::default());
    for (at, event) in events.iter().enumerate() {
        assert!(!check.ended, "{event:?} after the end");
        assert_eq!(
            *event == StreamEvent::StepStart,
            at == 0 && !matches!(event, StreamEvent::Failure(_)),
            "{events:?}"
        );
        step(&mut folded, &mut check, event);
    }
    assert!(check.ended, "a stream ends in a finish or a failure: {events:?}");
    folded
}

fn step(folded: &mut Folded, check: &mut Check, event: &StreamEvent) {
    match event {
        StreamEvent::StepStart => {}
        StreamEvent::TextStart { id } | StreamEvent::ReasoningStart { id } => check.open(id),
        StreamEvent::TextDelta { id, text } => {
            check.delta(id, text);
            folded.text.push_str(text);
        }
        StreamEvent::ReasoningDelta { id, text } => {
            check.delta(id, text);
            folded.reasoning.push_str(text);
            check.thought.push_str(text);
        }
        StreamEvent::TextEnd { id, .. } => check.close(id),
        StreamEvent::ReasoningEnd { id, opaque } => {
            check.close(id);
            folded.thoughts.push((std::mem::take(&mut check.thought), opaque.clone()));
        }
        StreamEvent::ToolInputStart { id, name } => {
            assert!(!name.is_empty());
            check.start_input(id);
        }
        StreamEvent::ToolInputDelta { id, text } => check.input(id).push_str(text),
        StreamEvent::ToolInputEnd { id } => drop(check.input(id).len()),
        StreamEvent::ToolCall(call) => {
            check.call(call);
            folded.calls.push(call.clone());
        }
        StreamEvent::ToolResult(result) => {
            assert!(folded.calls.iter().any(|c| c.id == result.call_id), "{result:?} answers a call");
            folded.results.push(result.clone());
        }
        StreamEvent::StepFinish(finish) => {
            assert!(check.open.is_none(), "a finished stream leaves no block open");
            folded.reason = Some(finish.reason);
            folded.usage = finish.usage;
            folded.metadata.clone_from(&finish.metadata);
            check.ended = true;
        }
        StreamEvent::Failure(failure) => {
            folded.failure = Some(failure.clone());
            check.ended = true;
        }
    }
}
