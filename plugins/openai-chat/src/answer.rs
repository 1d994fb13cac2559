//! The answer so far: chunks in, events out.
//!
//! Tool calls are given out at the very end only. In this protocol a call can be taken back as long as the stream runs: llama.cpp streams a
//! whole call and then an error when the rest of the output does not fit its grammar, and some servers grow a call after its arguments
//! looked complete. What streams meanwhile are the pieces of the input, which nobody acts upon.

use crate::chunk::{CallDelta, Choice, Chunk, Delta, Function, Loose};
use crate::failure;
use airlock::calls::{Call, Calls, Fragment, Placed};
use airlock::provider::{FinishReason, ProviderFailure, StepFinish, StreamEvent, ToolCall, Usage};
use serde_json::{Map, Value};

mod details;
mod ending;
mod usage;

use details::Details;

/// The block that deltas go to.
#[derive(Debug)]
enum Open {
    Nothing,
    Text(String),
    Reasoning(String),
}

#[derive(Debug)]
pub struct Answer {
    events: Vec<StreamEvent>,
    phase: Phase,
    open: Open,
    blocks: u32,
    calls: Calls,
    details: Details,
    usage: Option<Usage>,
    /// The server's own word for the end, once it was said.
    finish: Option<String>,
    is_refusal: bool,
    /// Id and model as the server gives them.
    id: String,
    model: String,
    chunks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Running,
    Over,
}

impl Answer {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            phase: Phase::Before,
            open: Open::Nothing,
            blocks: 0,
            calls: Calls::default(),
            details: Details::default(),
            usage: None,
            finish: None,
            is_refusal: false,
            id: String::new(),
            model: String::new(),
            chunks: 0,
        }
    }

    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    pub fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    pub fn fail(&mut self, failure: ProviderFailure) {
        if !self.is_over() {
            self.phase = Phase::Over;
            self.events.push(StreamEvent::Failure(failure));
        }
    }

    pub fn chunk(&mut self, chunk: &Chunk<'_>) {
        self.start();
        self.chunks += 1;
        set_once(&mut self.id, &chunk.id);
        set_once(&mut self.model, &chunk.model);
        if let Some(usage) = chunk.reported_usage() {
            // A report, cumulative where it comes with every chunk: the last one counts.
            self.usage = Some(usage::read(&usage));
        }
        if let Some(choice) = &chunk.choice {
            self.choice(choice, chunk);
        }
    }

    fn start(&mut self) {
        if self.phase == Phase::Before {
            self.phase = Phase::Running;
            self.events.push(StreamEvent::StepStart);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, chunk: &Chunk<'_>) {
        if let Some(delta) = choice.delta() {
            self.delta(delta, chunk);
        }
        let reason = choice.finish_reason.text();
        if !reason.is_empty() {
            self.finish = Some(reason.chars().take(200).collect());
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, chunk: &Chunk<'_>) {
        self.reasoning(delta.reasoning());
        if let Some(details) = delta.reasoning_details {
            self.details.add(details.get());
        }
        match &delta.content {
            Loose::Text(text) => self.text(text),
            Loose::Json(Value::Array(parts)) => self.parts(parts),
            _ => {}
        }
        let refusal = delta.refusal.text();
        if !refusal.is_empty() {
            self.is_refusal = true;
            self.text(refusal);
        }
        for call in delta.tool_calls.iter().flatten() {
            self.call(call, chunk);
        }
        if let Some(function) = &delta.function_call {
            self.fragment(&Fragment::default(), function, chunk);
        }
    }

    /// Mistral's reasoning models: a list of thinking and text.
    fn parts(&mut self, parts: &[Value]) {
        for part in parts {
            match part["type"].as_str() {
                Some("thinking") => self.thinking(&part["thinking"]),
                _ => self.text(part["text"].as_str().unwrap_or("")),
            }
        }
    }

    fn thinking(&mut self, thinking: &Value) {
        match thinking {
            Value::String(text) => self.reasoning(text),
            Value::Array(parts) => {
                for part in parts {
                    self.reasoning(part["text"].as_str().unwrap_or(""));
                }
            }
            _ => {}
        }
    }

    /// An empty string neither opens nor closes a block.
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, Open::Text(_)) {
            self.close();
            let id = self.block("text");
            self.events.push(StreamEvent::TextStart { id: id.clone() });
            self.open = Open::Text(id);
        }
        if let Open::Text(id) = &self.open {
            self.events.push(StreamEvent::TextDelta { id: id.clone(), text: text.into() });
        }
    }

    fn reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.open_reasoning();
        if let Open::Reasoning(id) = &self.open {
            self.events.push(StreamEvent::ReasoningDelta { id: id.clone(), text: text.into() });
        }
    }

    fn open_reasoning(&mut self) {
        if !matches!(self.open, Open::Reasoning(_)) {
            self.close();
            let id = self.block("reasoning");
            self.events.push(StreamEvent::ReasoningStart { id: id.clone() });
            self.open = Open::Reasoning(id);
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Text(id) => self.events.push(StreamEvent::TextEnd { id, opaque: None }),
            Open::Reasoning(id) => {
                let opaque = self.details.take();
                self.events.push(StreamEvent::ReasoningEnd { id, opaque });
            }
        }
    }

    fn block(&mut self, kind: &str) -> String {
        self.blocks += 1;
        format!("{kind}-{}", self.blocks)
    }

    fn call(&mut self, call: &CallDelta<'_>, chunk: &Chunk<'_>) {
        let place = Fragment { index: call.index(), id: call.id.text(), ..Fragment::default() };
        let none = Function::default();
        let placed = self.fragment(&place, call.function.as_ref().unwrap_or(&none), chunk);
        if let (Some(at), Some(extra)) = (placed, call.extra_content) {
            self.calls.set_opaque(at, extra.get());
        }
    }

    fn fragment(&mut self, place: &Fragment<'_>, function: &Function<'_>, chunk: &Chunk<'_>) -> Option<usize> {
        let arguments = function.arguments();
        let fragment = Fragment { name: function.name.text(), arguments: &arguments, ..*place };
        let seed = (chunk, self.chunks);
        match self.calls.add(&fragment, || made_id(seed.0, seed.1, &fragment)) {
            Ok(Placed::Started(at)) => Some(self.call_started(at, &arguments)),
            Ok(Placed::Continued(at)) => Some(self.call_continued(at, &arguments)),
            Ok(Placed::Ignored) => None,
            Err(_) => {
                self.fail(failure::transport(
                    "The model's answer has more tool calls, or longer ones, than is sane",
                    false,
                ));
                None
            }
        }
    }

    fn call_started(&mut self, at: usize, arguments: &str) -> usize {
        self.close();
        let Call { id, name, .. } = self.calls.get(at);
        self.events.push(StreamEvent::ToolInputStart { id: id.clone(), name: name.clone() });
        self.call_continued(at, arguments)
    }

    fn call_continued(&mut self, at: usize, arguments: &str) -> usize {
        if !arguments.is_empty() {
            let id = self.calls.get(at).id.clone();
            self.events.push(StreamEvent::ToolInputDelta { id, text: arguments.into() });
        }
        at
    }

    /// `[DONE]`, or the end of a whole answer: the server says that all is there.
    pub fn done(&mut self) {
        let is_empty = self.finish.is_none() && self.blocks == 0 && self.calls.is_empty();
        if is_empty {
            self.fail(failure::transport("The server ended the stream without an answer", true));
        }
        self.end();
    }

    /// The body has ended. Without the server's word for the end it was cut.
    pub fn cut(&mut self) {
        if self.finish.is_none() {
            let message = match self.phase {
                Phase::Before => "The server closed the connection without an answer",
                _ => "The connection closed before the model's answer was complete",
            };
            self.fail(failure::transport(message, true));
        }
        self.end();
    }

    fn end(&mut self) {
        if self.is_over() {
            return;
        }
        let said = self.finish.take();
        match ending::effective(said.as_deref(), !self.calls.is_empty()) {
            Ok(reason) => self.finish(reason, said),
            Err(failure) => self.fail(failure),
        }
    }

    fn finish(&mut self, reason: FinishReason, said: Option<String>) {
        self.start();
        if !self.details.is_empty() {
            self.open_reasoning();
        }
        self.close();
        for call in self.calls.take() {
            self.events.push(StreamEvent::ToolInputEnd { id: call.id.clone() });
            self.events.push(StreamEvent::ToolCall(complete(call, reason)));
        }
        let metadata = self.metadata(said);
        self.events.push(StreamEvent::StepFinish(StepFinish { reason, usage: self.usage, metadata }));
        self.phase = Phase::Over;
    }

    fn metadata(&mut self, said: Option<String>) -> Option<String> {
        let mut map = Map::new();
        let given =
            [("finish_reason", said.unwrap_or_default()), ("id", take(&mut self.id)), ("model", take(&mut self.model))];
        map.extend(given.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), v.into())));
        if self.is_refusal {
            map.insert("refusal".into(), true.into());
        }
        (!map.is_empty()).then(|| Value::Object(map).to_string())
    }
}

fn take(text: &mut String) -> String {
    std::mem::take(text)
}

/// A tool without parameters is called with no arguments at all by some models. After a cut that would be a guess.
fn complete(call: Call, reason: FinishReason) -> ToolCall {
    let is_bare = call.arguments.trim().is_empty() && reason != FinishReason::Length;
    let input = if is_bare { "{}".into() } else { call.arguments };
    ToolCall { id: call.id, name: call.name, input, opaque: call.opaque }
}

fn set_once(field: &mut String, given: &Loose<'_>) {
    if field.is_empty() && !given.text().is_empty() {
        *field = given.text().chars().take(200).collect();
    }
}

/// An id for a call that came without one: the same for the same bytes, and another for any other chunk.
fn made_id(chunk: &Chunk<'_>, chunks: u64, fragment: &Fragment<'_>) -> String {
    let created = if let Loose::Json(v) = &chunk.created { v.as_u64().unwrap_or(0) } else { 0 };
    let index = fragment.index.unwrap_or(u64::MAX);
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let numbers = [created, chunks, index].map(u64::to_le_bytes);
    let texts = [chunk.id.text(), chunk.model.text(), fragment.name, fragment.arguments];
    for byte in numbers.iter().flatten().chain(texts.iter().flat_map(|t| t.as_bytes())) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("call_{hash:016x}")
}
