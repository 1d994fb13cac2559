//! The answer so far: chunks in, events out.
//!
//! Tool calls are given out at the very end only. In this protocol a call can be taken back as long as the stream runs: llama.cpp streams a
//! whole call and then an error when the rest of the output does not fit its grammar, and some servers grow a call after its arguments
//! looked complete. What streams meanwhile are the pieces of the input, which nobody acts upon.

use crate::chunk::{self, CallDelta, Choice, Chunk, Delta, Function};
use airlock::calls::{Call, Calls, Fragment, Placed};
use airlock::provider::{FinishReason, StepFinish, ToolCall, Usage};
use codec::{Blocks, Kind, Loose, Place, Read, Seed, Shape, Think, Thinking, Unreadable, failure};
use serde_json::{Map, Value};

mod details;
mod ending;
mod usage;

use details::Details;

#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    think: Think,
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

impl codec::Answer for Answer {
    const SHAPE: Shape = Shape::Events;

    fn of_model(&mut self, model: &str) {
        self.think = Think::of(model);
    }

    fn read(&mut self, json: &[u8], place: Place) -> Result<Read, Unreadable> {
        chunk::read(json, |chunk| match place {
            _ if chunk.is_error() => Read::Error,
            Place::Stray | Place::Whole if chunk.choice.is_none() => Read::Nothing,
            _ => {
                self.chunk(chunk);
                Read::Taken
            }
        })
    }

    fn done(&mut self) {
        self.settle();
        let is_empty = self.finish.is_none() && self.blocks.is_empty() && self.calls.is_empty();
        if is_empty {
            self.blocks.fail(failure::transport("The server ended the stream without an answer", true));
        }
        self.end();
    }

    fn cut(&mut self) {
        self.settle();
        if self.finish.is_none() {
            self.blocks.fail(failure::cut(self.blocks.has_begun()));
        }
        self.end();
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

impl Answer {
    fn chunk(&mut self, chunk: &Chunk<'_>) {
        self.blocks.start();
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

    fn text(&mut self, text: &str) {
        if self.think.is_plain() {
            return self.say(text);
        }
        let pieces = self.think.push(text);
        self.tell(pieces);
    }

    /// What waits for the rest of a tag gets none once something else comes.
    fn settle(&mut self) {
        let rest = self.think.end();
        self.tell(rest);
    }

    fn tell(&mut self, pieces: Vec<Thinking>) {
        for piece in pieces {
            match piece {
                Thinking::Text(text) => self.say(&text),
                Thinking::Thought(thought) => self.reasoning(&thought),
            }
        }
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.seal(Some(Kind::Text));
            self.blocks.text(text);
        }
    }

    fn reasoning(&mut self, text: &str) {
        self.blocks.reasoning(text);
    }

    /// Reasoning that ends here takes its details with it.
    fn seal(&mut self, next: Option<Kind>) {
        if self.blocks.open() == Some(Kind::Reasoning)
            && next != Some(Kind::Reasoning)
            && let Some(details) = self.details.take()
        {
            self.blocks.keep(details);
        }
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
                let why = "The model's answer has more tool calls, or longer ones, than is sane";
                self.blocks.fail(failure::transport(why, false));
                None
            }
        }
    }

    fn call_started(&mut self, at: usize, arguments: &str) -> usize {
        self.settle();
        self.seal(None);
        let Call { id, name, .. } = self.calls.get(at);
        self.blocks.input_start(id, name);
        self.call_continued(at, arguments)
    }

    fn call_continued(&mut self, at: usize, arguments: &str) -> usize {
        self.blocks.input(&self.calls.get(at).id, arguments);
        at
    }

    fn end(&mut self) {
        if self.blocks.is_over() {
            return;
        }
        let said = self.finish.take();
        match ending::effective(said.as_deref(), !self.calls.is_empty()) {
            Ok(reason) => self.finish(reason, said),
            Err(failure) => self.blocks.fail(failure),
        }
    }

    fn finish(&mut self, reason: FinishReason, said: Option<String>) {
        self.blocks.start();
        if !self.details.is_empty() {
            self.blocks.switch(Kind::Reasoning);
        }
        self.seal(None);
        self.blocks.close();
        for call in self.calls.take() {
            self.blocks.call(complete(call, reason));
        }
        let metadata = self.metadata(said);
        self.blocks.finish(StepFinish { reason, usage: self.usage, metadata });
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
    let numbers = [created, chunks, fragment.index.unwrap_or(u64::MAX)];
    let texts = [chunk.id.text(), chunk.model.text(), fragment.name, fragment.arguments];
    let seed = numbers.iter().fold(Seed::default(), |seed, n| seed.with(&n.to_le_bytes()));
    texts.iter().fold(seed, |seed, text| seed.with(text.as_bytes())).call_id()
}
