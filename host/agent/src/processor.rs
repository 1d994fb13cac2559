//! How a stream event changes a message. A pure reducer over one attempt: events in, [`Effect`]s out. It holds no text: only which
//! block is which part.

use crate::recovery::Content;
use crate::step::PROVIDER_EXECUTED;
use model::budget::Tokens;
use model::event::DeltaKind;
use model::id::{CallId, MessageId, PartId, SessionId};
use model::message::{FinishReason, OPAQUE, Part, PartBody, ReasoningPart, TextPart, ToolPart};
use model::provider::{FailureKind, ModelCall, ModelResult, ProviderFailure, StreamEvent};
use model::tool_state::{Metadata, Span, ToolState};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Bytes of one answer. No model writes as much; a stream that does is broken.
const MAX_ANSWER: usize = 32 << 20;
/// Blocks and calls of one answer.
const MAX_PARTS: usize = 4096;

/// What is to be done to the message, in order.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a batch has a handful of effects, taken one by one")]
pub(crate) enum Effect {
    /// A new part at the end.
    Open(Part),
    /// More text for an open part: all of the batch that lies side by side, merged.
    Append { part: PartId, kind: DeltaKind, text: String },
    /// The text or thought is complete.
    Close { part: PartId, kind: DeltaKind, opaque: Option<String> },
    /// A call is complete as far as the stream is concerned. Its part is open.
    Call { part: PartId, call: ModelCall },
    /// The provider ran this call itself.
    Answered { part: PartId, result: ModelResult },
    /// The step ended well. Last.
    Finish { reason: FinishReason, usage: Option<Tokens>, metadata: Metadata },
    /// The attempt failed. Last.
    Fail(ProviderFailure),
}

/// Reduces the events of one attempt.
#[derive(Debug)]
pub(crate) struct Processor {
    session: SessionId,
    message: MessageId,
    /// In the order of their parts.
    open: Vec<Block>,
    /// Blocks that began and have no text yet: a part is made of them with the first text.
    begun: HashMap<String, DeltaKind>,
    calls: HashMap<CallId, Call>,
    taken: HashSet<CallId>,
    bytes: usize,
    parts: usize,
    content: Content,
    over: bool,
}

#[derive(Clone, Debug)]
struct Block {
    id: String,
    part: PartId,
    kind: DeltaKind,
}

#[derive(Debug)]
struct Call {
    part: PartId,
    /// The id that the part has: unique in the message.
    id: CallId,
    complete: bool,
}

impl Processor {
    pub(crate) fn new(session: SessionId, message: MessageId) -> Self {
        Self {
            session,
            message,
            open: Vec::new(),
            begun: HashMap::new(),
            calls: HashMap::new(),
            taken: HashSet::new(),
            bytes: 0,
            parts: 0,
            content: Content::default(),
            over: false,
        }
    }

    /// Bytes of the answer so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// What the answer holds so far.
    pub(crate) fn content(&self) -> Content {
        self.content
    }

    /// What a batch of events does. Nothing follows a `Finish` or a `Fail`.
    pub(crate) fn reduce(&mut self, batch: Vec<StreamEvent>, now: u64) -> Vec<Effect> {
        let mut effects = Vec::with_capacity(batch.len().min(16));
        for event in batch {
            if self.over {
                break;
            }
            self.event(event, now, &mut effects);
            if !self.over && (self.bytes > MAX_ANSWER || self.parts > MAX_PARTS) {
                self.fail(flood(), &mut effects);
            }
        }
        effects
    }

    fn event(&mut self, event: StreamEvent, now: u64, out: &mut Vec<Effect>) {
        match event {
            StreamEvent::StepStart => {
                let part = self.part(PartBody::StepStart { metadata: Metadata::new() });
                out.push(Effect::Open(part));
            }
            StreamEvent::TextStart { id } => self.begin(id, DeltaKind::Text),
            StreamEvent::ReasoningStart { id } => self.begin(id, DeltaKind::Reasoning),
            StreamEvent::TextDelta { id, text } | StreamEvent::ReasoningDelta { id, text } => {
                self.append(&id, text, now, out);
            }
            StreamEvent::TextEnd { id, opaque } | StreamEvent::ReasoningEnd { id, opaque } => {
                self.close(&id, opaque, now, out);
            }
            StreamEvent::ToolInputStart { id, name } => {
                self.ensure(&id, &name, out);
            }
            // The arguments come whole with the call; only their size counts here.
            StreamEvent::ToolInputDelta { text, .. } => self.bytes = self.bytes.saturating_add(text.len()),
            StreamEvent::ToolInputEnd { .. } => (),
            StreamEvent::ToolCall(call) => self.call(call, out),
            StreamEvent::ToolResult(result) => self.answered(result, out),
            StreamEvent::StepFinish { reason: FinishReason::Error, .. } => self.fail(error_finish(), out),
            StreamEvent::StepFinish { reason, usage, metadata } => {
                self.end_all(out);
                self.over = true;
                out.push(Effect::Finish { reason, usage, metadata: object(metadata) });
            }
            StreamEvent::Failure(failure) => self.fail(failure, out),
        }
    }

    fn part(&mut self, body: PartBody) -> Part {
        self.parts += 1;
        Part { id: PartId::new(), session_id: self.session.clone(), message_id: self.message.clone(), body }
    }

    /// A block that is known already is not begun again.
    fn begin(&mut self, id: String, kind: DeltaKind) {
        if !self.open.iter().any(|b| b.id == id) {
            self.begun.insert(id, kind);
        }
    }

    fn append(&mut self, id: &str, text: String, now: u64, out: &mut Vec<Effect>) {
        if text.is_empty() {
            return;
        }
        self.bytes = self.bytes.saturating_add(text.len());
        let Some(Block { part, kind, .. }) = self.opened(id, now, out) else { return };
        match kind {
            DeltaKind::Text => self.content.text |= !text.trim().is_empty(),
            DeltaKind::Reasoning => self.content.thought = true,
        }
        match out.last_mut() {
            Some(Effect::Append { part: last, text: merged, .. }) if *last == part => merged.push_str(&text),
            _ => out.push(Effect::Append { part, kind, text }),
        }
    }

    /// The part of a block that has begun, made where it has none yet. `None` for a block that never began, or has ended.
    fn opened(&mut self, id: &str, now: u64, out: &mut Vec<Effect>) -> Option<Block> {
        if let Some(found) = self.open.iter().find(|b| b.id == id) {
            return Some(found.clone());
        }
        let kind = self.begun.remove(id)?;
        let part = self.part(empty(kind, now));
        let block = Block { id: id.to_owned(), part: part.id.clone(), kind };
        self.open.push(block.clone());
        out.push(Effect::Open(part));
        Some(block)
    }

    fn close(&mut self, id: &str, opaque: Option<String>, now: u64, out: &mut Vec<Effect>) {
        // Encrypted thoughts have no text, and have to be sent back all the same.
        if opaque.is_some() {
            let opened = self.opened(id, now, out);
            self.content.thought |= opened.is_some_and(|b| b.kind == DeltaKind::Reasoning);
        }
        self.begun.remove(id);
        if let Some(at) = self.open.iter().position(|b| b.id == id) {
            let Block { part, kind, .. } = self.open.remove(at);
            out.push(Effect::Close { part, kind, opaque });
        }
    }

    /// A stream may end without closing its blocks.
    fn end_all(&mut self, out: &mut Vec<Effect>) {
        let left = self.open.drain(..);
        out.extend(left.map(|b| Effect::Close { part: b.part, kind: b.kind, opaque: None }));
    }

    /// The part of a call that has begun. A second call under the id of a complete one is another call.
    fn ensure(&mut self, id: &CallId, name: &str, out: &mut Vec<Effect>) -> (PartId, CallId) {
        if let Some(known) = self.calls.get(id).filter(|c| !c.complete) {
            return (known.part.clone(), known.id.clone());
        }
        let unique = self.unique(id);
        self.content.call = true;
        let tool = ToolPart {
            call_id: unique.clone(),
            tool: name.to_owned(),
            state: ToolState::pending(),
            metadata: Metadata::new(),
        };
        let part = self.part(PartBody::Tool(tool));
        let part_id = part.id.clone();
        out.push(Effect::Open(part));
        self.calls.insert(id.clone(), Call { part: part_id.clone(), id: unique.clone(), complete: false });
        (part_id, unique)
    }

    fn unique(&mut self, id: &CallId) -> CallId {
        let mut unique = id.clone();
        if id.as_str().is_empty() || self.taken.contains(id) {
            let fresh = PartId::new();
            unique = CallId::given(&fresh.as_str().replacen(PartId::PREFIX, "call_", 1));
        }
        self.taken.insert(unique.clone());
        unique
    }

    fn call(&mut self, mut call: ModelCall, out: &mut Vec<Effect>) {
        self.bytes = self.bytes.saturating_add(call.input.len());
        let (part, id) = self.ensure(&call.id, &call.name, out);
        if let Some(known) = self.calls.get_mut(&call.id) {
            known.complete = true;
        }
        call.id = id;
        out.push(Effect::Call { part, call });
    }

    fn answered(&mut self, result: ModelResult, out: &mut Vec<Effect>) {
        self.bytes = self.bytes.saturating_add(result.text.len());
        let Some(known) = self.calls.get(&result.call_id) else { return };
        out.push(Effect::Answered { part: known.part.clone(), result });
    }

    fn fail(&mut self, failure: ProviderFailure, out: &mut Vec<Effect>) {
        self.over = true;
        out.push(Effect::Fail(failure));
    }
}

fn empty(kind: DeltaKind, now: u64) -> PartBody {
    let time = Span { start: now, end: None };
    match kind {
        DeltaKind::Text => PartBody::Text(TextPart { time: Some(time), ..TextPart::default() }),
        DeltaKind::Reasoning => {
            PartBody::Reasoning(ReasoningPart { text: String::new(), time, metadata: Metadata::new() })
        }
    }
}

fn object(value: Option<Value>) -> Metadata {
    match value {
        Some(Value::Object(map)) => map,
        _ => Metadata::new(),
    }
}

/// More text for a part that holds text.
pub(crate) fn append(body: &mut PartBody, more: &str) {
    match body {
        PartBody::Text(t) => t.text.push_str(more),
        PartBody::Reasoning(r) => r.text.push_str(more),
        _ => (),
    }
}

/// The end of a text or thought.
pub(crate) fn close(body: &mut PartBody, opaque: Option<String>, now: u64) {
    let metadata = match body {
        PartBody::Text(t) => {
            if let Some(time) = &mut t.time {
                time.end = Some(now);
            }
            &mut t.metadata
        }
        PartBody::Reasoning(r) => {
            r.time.end = Some(now);
            &mut r.metadata
        }
        _ => return,
    };
    if let Some(opaque) = opaque {
        metadata.insert(OPAQUE.into(), Value::String(opaque));
    }
}

/// Marks a call as the provider's own.
pub(crate) fn mark_providers(tool: &mut ToolPart) {
    tool.metadata.insert(PROVIDER_EXECUTED.into(), Value::Bool(true));
}

fn flood() -> ProviderFailure {
    ProviderFailure {
        kind: FailureKind::Server,
        message: format!("the provider's answer is larger than {} MiB or {MAX_PARTS} parts", MAX_ANSWER >> 20),
        retryable: false,
        retry_after: None,
    }
}

fn error_finish() -> ProviderFailure {
    ProviderFailure {
        kind: FailureKind::Server,
        message: "the provider ended its answer with an error".into(),
        retryable: true,
        retry_after: None,
    }
}

#[cfg(test)]
mod tests;
