//! Long answers, as each protocol streams them.

use serde_json::{Value, json};

/// An answer of text: what comes first, a piece by its number, and what comes last.
pub struct Flow {
    pub name: &'static str,
    pub content_type: &'static str,
    head: fn() -> String,
    piece: fn(u64) -> String,
    tail: fn() -> String,
}

impl Flow {
    #[must_use]
    pub fn head(&self) -> String {
        (self.head)()
    }

    #[must_use]
    pub fn piece(&self, n: u64) -> String {
        (self.piece)(n)
    }

    #[must_use]
    pub fn tail(&self) -> String {
        (self.tail)()
    }

    /// The whole answer with this many pieces.
    #[must_use]
    pub fn whole(&self, pieces: u64) -> String {
        let mut all = self.head();
        (0..pieces).for_each(|n| all += &self.piece(n));
        all + &self.tail()
    }
}

const EVENTS: &str = "text/event-stream";

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("message"))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

pub const ANTHROPIC: Flow = Flow {
    name: "anthropic",
    content_type: EVENTS,
    head: || {
        let message = json!({"id": "msg_1", "model": "m", "usage": {"input_tokens": 10, "output_tokens": 1}});
        event(&json!({"type": "message_start", "message": message}))
            + &event(&json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
    },
    piece: |n| {
        event(&json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": format!(" word{n}")}}))
    },
    tail: || {
        event(&json!({"type": "content_block_stop", "index": 0}))
            + &event(
                &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            )
            + &event(&json!({"type": "message_stop"}))
    },
};

pub const CHAT: Flow = Flow {
    name: "openai-chat",
    content_type: EVENTS,
    head: || data(&chat(json!({"role": "assistant", "content": ""}), Value::Null)),
    piece: |n| data(&chat(json!({"content": format!(" word{n}")}), Value::Null)),
    tail: || data(&chat(json!({}), json!("stop"))) + "data: [DONE]\n\n",
};

fn chat(delta: Value, reason: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

pub const RESPONSES: Flow = Flow {
    name: "openai-responses",
    content_type: EVENTS,
    head: || {
        event(&json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}}))
            + &event(
                &json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1"}}),
            )
    },
    piece: |n| {
        event(
            &json!({"type": "response.output_text.delta", "sequence_number": n, "item_id": "msg_1", "output_index": 0,
            "content_index": 0, "delta": format!(" word{n}")}),
        )
    },
    tail: || {
        let response = json!({"id": "resp_1", "status": "completed", "output": [], "usage": {"input_tokens": 3, "output_tokens": 4}});
        event(&json!({"type": "response.completed", "response": response}))
    },
};

pub const GEMINI: Flow = Flow {
    name: "gemini",
    content_type: EVENTS,
    head: String::new,
    piece: |n| data(&gemini(json!([{"text": format!(" word{n}")}]), Value::Null)),
    tail: || data(&gemini(json!([]), json!("STOP"))),
};

fn gemini(parts: Value, reason: Value) -> Value {
    let content = json!({"role": "model", "parts": parts});
    json!({"candidates": [{"index": 0, "content": content, "finishReason": reason}],
        "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 9}, "modelVersion": "m", "responseId": "r"})
}

pub const OLLAMA: Flow = Flow {
    name: "ollama",
    content_type: "application/x-ndjson",
    head: String::new,
    piece: |n| {
        let message = json!({"role": "assistant", "content": format!(" word{n}")});
        format!("{}\n", json!({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false}))
    },
    tail: || "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n".into(),
};
