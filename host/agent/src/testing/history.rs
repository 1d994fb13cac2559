//! Stored messages and parts.

use super::{model_ref, session};
use crate::step::PROVIDER_EXECUTED;
use model::budget::Tokens;
use model::fault::FailureKind;
use model::id::{CallId, MessageId, PartId, SessionId};
use model::message::{
    AssistantMessage, COMPACTION_CONTINUE, CompactionPart, Created, FinishReason, Message, Part, PartBody, Paths,
    ReasoningPart, TextPart, ToolPart, Turn, UserMessage, WithParts,
};
use model::tool_state::{Done, Metadata, Span, ToolState};
use rust_decimal::Decimal;
use serde_json::{Value, json};

pub(crate) fn part(body: PartBody) -> Part {
    Part { id: PartId::new(), session_id: SessionId::new(), message_id: MessageId::new(), body }
}

pub(crate) fn text(text: &str, open: bool) -> Part {
    let time = Some(Span { start: 1, end: if open { None } else { Some(2) } });
    part(PartBody::Text(TextPart { text: text.into(), time, ..TextPart::default() }))
}

pub(crate) fn reasoning(text: &str, opaque: Option<&str>) -> Part {
    let mut metadata = Metadata::new();
    metadata.extend(opaque.map(|o| ("opaque".to_owned(), json!(o))));
    part(PartBody::Reasoning(ReasoningPart { text: text.into(), time: Span { start: 1, end: None }, metadata }))
}

fn tool(name: &str, call: &str, state: ToolState) -> Part {
    let tool = ToolPart { call_id: CallId::given(call), tool: name.into(), state, metadata: Metadata::new() };
    part(PartBody::Tool(tool))
}

fn started() -> ToolState {
    let mut state = ToolState::pending();
    assert!(state.start(json!({"a": 1}), 1));
    state
}

pub(crate) fn running(name: &str) -> Part {
    tool(name, name, started())
}

pub(crate) fn completed(name: &str, output: &str) -> Part {
    let mut state = started();
    assert!(state.complete(Done { output: output.into(), ..Done::default() }, 2));
    tool(name, name, state)
}

pub(crate) fn failed(name: &str, error: &str) -> Part {
    let mut state = started();
    assert!(state.fail(FailureKind::Failed, error.into(), Metadata::new(), 2));
    tool(name, name, state)
}

pub(crate) fn interrupted(name: &str) -> Part {
    let mut state = started();
    assert!(state.fail(FailureKind::Interrupted, "stopped".into(), Metadata::new(), 2));
    tool(name, name, state)
}

pub(crate) fn providers(name: &str) -> Part {
    let mut made = completed(name, "found");
    if let PartBody::Tool(t) = &mut made.body {
        t.metadata.insert(PROVIDER_EXECUTED.into(), Value::Bool(true));
    }
    made
}

pub(crate) fn dropped(mut part: Part) -> Part {
    part.body.drop_from_view();
    part
}

pub(crate) fn user(said: &str) -> WithParts {
    let info = UserMessage {
        id: MessageId::new(),
        session_id: session().id,
        time: Created { created: 0 },
        agent: "build".into(),
        model: model_ref(),
        format: None,
    };
    WithParts { info: Message::User(info), parts: vec![text(said, false)] }
}

/// A request for a summary.
pub(crate) fn asked(auto: bool, overflow: bool, tail: Option<&WithParts>) -> WithParts {
    let mut message = user("");
    let tail_start_id = tail.map(|m| m.info.id().clone());
    message.parts = vec![part(PartBody::Compaction(CompactionPart { auto, overflow, tail_start_id }))];
    message
}

/// The summary that answers the request.
pub(crate) fn summary(asked: &WithParts, said: &str) -> WithParts {
    let mut message = assistant(|m| {
        m.summary = true;
        m.parent_id = asked.info.id().clone();
    });
    message.parts = vec![text(said, false)];
    message
}

/// The host's word after a summary.
pub(crate) fn continued(said: &str) -> WithParts {
    let mut message = user("");
    let metadata = Metadata::from_iter([(COMPACTION_CONTINUE.to_owned(), json!(true))]);
    let text = TextPart { text: said.into(), synthetic: true, metadata, ..TextPart::default() };
    message.parts = vec![part(PartBody::Text(text))];
    message
}

/// A finished message without parts, as `change` leaves it.
pub(crate) fn assistant(change: impl FnOnce(&mut AssistantMessage)) -> WithParts {
    let mut info = AssistantMessage {
        id: MessageId::new(),
        session_id: session().id,
        parent_id: MessageId::new(),
        time: Turn { created: 0, completed: Some(1) },
        provider_id: "test".into(),
        model_id: "m".into(),
        agent: "build".into(),
        summary: false,
        path: Paths { cwd: "/w".into(), root: "/w".into() },
        cost: Decimal::ZERO,
        tokens: Tokens::default(),
        finish: Some(FinishReason::Stop),
        error: None,
    };
    change(&mut info);
    WithParts { info: Message::Assistant(Box::new(info)), parts: vec![] }
}

/// An answer with one call that left this metadata.
pub(crate) fn called(metadata: Metadata) -> WithParts {
    let mut state = started();
    assert!(state.complete(Done { metadata, ..Done::default() }, 2));
    let mut message = assistant(|_| {});
    message.parts = vec![tool("t", "t", state)];
    message
}
