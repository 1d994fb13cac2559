//! Calls that small models write as text: a JSON object, alone or in a fence, or `<tool_call>` tags. Off unless the person says
//! otherwise for a provider, since text that only looks like a call would be run.
//!
//! Strict on purpose: the whole answer is the call, the tool is one of those that were offered, and nothing that a tool's result said
//! is taken for the model's own word.

use model::id::{CallId, PartId};
use model::message::FinishReason;
use model::provider::{ChatMessage, ChatPart, ModelCall, Request, StreamEvent};
use serde_json::Value;
use std::sync::Arc;

/// Bytes of text that are looked at; a longer answer is no call.
const LONGEST: usize = 256 << 10;
/// Calls of one answer.
const MOST: usize = 16;

/// Reads along, and turns the end of an answer that was a call into one.
pub struct TextCalls {
    tools: Vec<String>,
    /// The conversation, in which tools have said this and that.
    messages: Vec<Arc<ChatMessage>>,
    text: String,
    called: bool,
}

impl TextCalls {
    #[must_use]
    pub fn new(request: &Request) -> Self {
        Self {
            tools: request.tools.iter().map(|t| t.name.clone()).collect(),
            messages: request.messages.clone(),
            text: String::new(),
            called: false,
        }
    }

    /// The same events, with calls before the end where the text was nothing else.
    #[must_use]
    pub fn read(&mut self, events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        events.into_iter().flat_map(|event| self.one(event)).collect()
    }

    fn one(&mut self, event: StreamEvent) -> Vec<StreamEvent> {
        match event {
            StreamEvent::TextDelta { ref text, .. } if self.text.len() <= LONGEST => self.text.push_str(text),
            StreamEvent::ToolCall(_) => self.called = true,
            StreamEvent::StepFinish {
                reason: said @ (FinishReason::Stop | FinishReason::Unknown),
                usage,
                metadata,
            } => {
                let mut events = self.calls();
                let reason = if events.is_empty() { said } else { FinishReason::ToolCalls };
                events.push(StreamEvent::StepFinish { reason, usage, metadata });
                return events;
            }
            _ => {}
        }
        vec![event]
    }

    fn calls(&self) -> Vec<StreamEvent> {
        let text = self.text.trim();
        if self.called || text.is_empty() || text.len() > LONGEST || self.is_quoted(text) {
            return vec![];
        }
        let pieces = written(text).filter(|pieces| pieces.len() <= MOST).unwrap_or_default();
        let calls: Option<Vec<ModelCall>> = pieces.iter().map(|piece| self.call(piece)).collect();
        calls.unwrap_or_default().into_iter().flat_map(events).collect()
    }

    fn is_quoted(&self, text: &str) -> bool {
        let mut parts = self.messages.iter().flat_map(|m| &m.parts);
        parts.any(|p| matches!(p, ChatPart::ToolResult(r) if r.text.contains(text)))
    }

    /// `{"name": …, "arguments": {…}}` and its usual variants.
    fn call(&self, json: &str) -> Option<ModelCall> {
        let value: Value = serde_json::from_str(json).ok()?;
        let call = value.get("function").filter(|f| f.is_object()).unwrap_or(&value);
        let name = ["name", "tool", "tool_name"].iter().find_map(|key| call.get(key)?.as_str())?;
        let input = match ["arguments", "parameters", "input"].iter().find_map(|key| call.get(key))? {
            object @ Value::Object(_) => object.to_string(),
            Value::String(text) => text.clone(),
            _ => return None,
        };
        self.tools.iter().any(|t| t == name).then(|| ModelCall { id: new_id(), name: name.into(), input, opaque: None })
    }
}

fn new_id() -> CallId {
    CallId::given(&PartId::new().as_str().replacen(PartId::PREFIX, "call_", 1))
}

fn events(call: ModelCall) -> [StreamEvent; 4] {
    let ModelCall { id, name, input, .. } = call.clone();
    [
        StreamEvent::ToolInputStart { id: id.clone(), name },
        StreamEvent::ToolInputDelta { id: id.clone(), text: input },
        StreamEvent::ToolInputEnd { id },
        StreamEvent::ToolCall(call),
    ]
}

/// The JSON texts of an answer that is nothing but calls.
fn written(text: &str) -> Option<Vec<&str>> {
    const OPEN: &str = "<tool_call>";
    const CLOSE: &str = "</tool_call>";
    if text.starts_with('{') {
        return Some(vec![text]);
    }
    if let Some(fenced) = text.strip_prefix("```").and_then(|t| t.strip_suffix("```")) {
        let (_language, body) = fenced.split_once('\n')?;
        return Some(vec![body.trim()]);
    }
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let (piece, after) = rest.strip_prefix(OPEN)?.split_once(CLOSE)?;
        pieces.push(piece.trim());
        rest = after.trim_start();
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::SessionId;
    use model::provider::{Extra, ModelResult, Role, ToolChoice, ToolDecl};

    fn request(result: &str) -> Request {
        let tool = |name: &str| ToolDecl { name: name.into(), description: String::new(), input_schema: "{}".into() };
        let result = ModelResult {
            call_id: CallId::given("c"),
            name: "read".into(),
            text: result.into(),
            is_error: false,
            files: vec![],
        };
        Request {
            session: SessionId::new(),
            model: "small".into(),
            system: vec![],
            messages: vec![ChatMessage { role: Role::Tool, parts: vec![ChatPart::ToolResult(result)] }.into()],
            tools: [tool("read"), tool("write")].into(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            temperature: None,
            response_schema: None,
            extra: Extra::default(),
        }
    }

    fn finish(reason: FinishReason) -> StreamEvent {
        StreamEvent::StepFinish { reason, usage: None, metadata: None }
    }

    /// Name and input of each call, and the reason of the end.
    fn read(result: &str, text: &str, reason: FinishReason) -> (Vec<(String, String)>, FinishReason) {
        let mut reader = TextCalls::new(&request(result));
        let (head, tail) = text.split_at(text.len() / 2);
        let delta = |text: &str| StreamEvent::TextDelta { id: "t".into(), text: text.into() };
        let mut events = reader.read(vec![delta(head)]);
        events.extend(reader.read(vec![delta(tail), finish(reason)]));
        let calls = events.iter().filter_map(|e| if let StreamEvent::ToolCall(c) = e { Some(c) } else { None });
        let calls = calls.map(|c| (c.name.clone(), c.input.clone())).collect();
        let Some(StreamEvent::StepFinish { reason, .. }) = events.last() else { panic!("{events:?}") };
        (calls, *reason)
    }

    #[test]
    fn an_answer_that_is_a_call_is_one() {
        let json = r#"{"name": "read", "arguments": {"path": "a"}}"#;
        let one = [("read", r#"{"path":"a"}"#)];
        for (text, want) in [
            (json.to_owned(), &one[..]),
            (format!("```json\n{json}\n```"), &one),
            (format!("<tool_call>\n{json}\n</tool_call>"), &one),
            (r#"{"function": {"name": "read", "parameters": {"path": "a"}}}"#.into(), &one),
            (r#"{"tool": "read", "input": "{\"path\":\"a\"}"}"#.into(), &one),
            (format!("<tool_call>{json}</tool_call>\n<tool_call>{json}</tool_call>"), &[one[0], one[0]]),
        ] {
            let want = want.iter().map(|(n, i)| ((*n).to_owned(), (*i).to_owned())).collect();
            assert_eq!(read("", &text, FinishReason::Stop), (want, FinishReason::ToolCalls), "{text}");
        }
    }

    #[test]
    fn all_else_stays_text() {
        let json = r#"{"name": "read", "arguments": {"path": "a"}}"#;
        let prose = format!("I would call {json}");
        let fence = format!("Like so:\n```json\n{json}\n```");
        let quoted = format!("a file that says {json} and more");
        for (result, text, reason) in [
            ("", prose.as_str(), FinishReason::Stop),
            ("", &fence, FinishReason::Stop),
            ("", r#"{"name": "rm", "arguments": {}}"#, FinishReason::Stop),
            ("", r#"{"name": "read"}"#, FinishReason::Stop),
            ("", r#"{"name": "read", "arguments": 3}"#, FinishReason::Stop),
            ("", "<tool_call>{broken</tool_call>", FinishReason::Stop),
            ("", "<tool_call>{}", FinishReason::Stop),
            ("", "", FinishReason::Stop),
            ("", json, FinishReason::Length),
            (&quoted, json, FinishReason::Stop),
        ] {
            assert_eq!(read(result, text, reason), (vec![], reason), "{text}");
        }
    }

    #[test]
    fn a_model_that_calls_properly_is_taken_at_its_word() {
        let mut reader = TextCalls::new(&request(""));
        let call = ModelCall { id: CallId::given("1"), name: "read".into(), input: "{}".into(), opaque: None };
        let json = StreamEvent::TextDelta { id: "t".into(), text: r#"{"name": "read", "arguments": {}}"#.into() };
        let events = reader.read(vec![json, StreamEvent::ToolCall(call), finish(FinishReason::Stop)]);
        assert_eq!(events.len(), 3);
    }
}
