//! Scripted answers of the mock model, in the wire format of `chat/completions`.

use serde_json::{Value, json};
use std::time::Duration;

/// One write to the socket, after a pause.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub bytes: Vec<u8>,
    pub after: Duration,
}

/// How the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The terminating chunk is sent.
    Proper,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing more is sent and the connection stays open.
    Hang,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub chunks: Vec<Chunk>,
    pub end: End,
}

impl Reply {
    /// Body bytes as an event stream with status 200, in one write.
    #[must_use]
    pub fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::http(200, "text/event-stream", body)
    }

    #[must_use]
    pub fn http(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let chunks = vec![Chunk { bytes: body.into(), after: Duration::ZERO }];
        Self { status, headers, chunks, end: End::Proper }
    }

    /// A short text and a normal stop.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::turn(Some(text), &[])
    }

    /// Tool calls, `(id, name, input)`, and nothing else.
    #[must_use]
    pub fn calls(calls: &[(&str, &str, Value)]) -> Self {
        Self::turn(None, calls)
    }

    #[must_use]
    pub fn turn(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Self {
        let mut deltas = vec![json!({"role": "assistant", "content": null})];
        deltas.extend(text.map(|t| json!({"content": t})));
        for (index, (id, name, input)) in calls.iter().enumerate() {
            let function = json!({"name": name, "arguments": input.to_string()});
            deltas.push(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
        }
        let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
        Self::sse(stream(&deltas, finish))
    }

    /// With so many tokens of input in its usage.
    #[must_use]
    pub fn used(mut self, input: u64) -> Self {
        let told = format!("\"prompt_tokens\":{input}");
        for chunk in &mut self.chunks {
            let text = String::from_utf8_lossy(&chunk.bytes).replace("\"prompt_tokens\":100", &told);
            chunk.bytes = text.into_bytes();
        }
        self
    }

    /// With this word for its end.
    #[must_use]
    pub fn finishes(mut self, word: &str) -> Self {
        for chunk in &mut self.chunks {
            let text = String::from_utf8_lossy(&chunk.bytes)
                .replace("\"finish_reason\":\"stop\"", &format!("\"finish_reason\":\"{word}\""));
            chunk.bytes = text.into_bytes();
        }
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn ends(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Cuts the body into writes of these sizes; what is left over goes in the last one.
    #[must_use]
    pub fn cut(mut self, sizes: impl IntoIterator<Item = usize>, pause: Duration) -> Self {
        let body: Vec<u8> = self.chunks.drain(..).flat_map(|c| c.bytes).collect();
        let mut rest = body.as_slice();
        for size in sizes {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at(size.clamp(1, rest.len()));
            self.chunks.push(Chunk { bytes: now.to_vec(), after: pause });
            rest = later;
        }
        if !rest.is_empty() {
            self.chunks.push(Chunk { bytes: rest.to_vec(), after: pause });
        }
        self
    }

    /// The whole body.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|c| c.bytes.clone()).collect()
    }

    /// Another body in one write, with a pause before it.
    #[must_use]
    pub fn then(mut self, after: Duration, bytes: impl Into<Vec<u8>>) -> Self {
        self.chunks.push(Chunk { bytes: bytes.into(), after });
        self
    }
}

/// Chunks of a stream with these deltas, the finish chunk, usage and `[DONE]`.
#[must_use]
pub fn stream(deltas: &[Value], finish: &str) -> String {
    let mut out: String = deltas.iter().map(|d| event(&choice(d, &Value::Null))).collect();
    out += &event(&choice(&json!({}), &json!(finish)));
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    out += &event(&json!({"id": "cmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}));
    out + "data: [DONE]\n\n"
}

/// One chunk with one choice.
#[must_use]
pub fn choice(delta: &Value, finish: &Value) -> Value {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    json!({"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices})
}

/// One server-sent event.
#[must_use]
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
