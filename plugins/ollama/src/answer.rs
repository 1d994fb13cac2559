//! The answer so far: lines in, events out.
//!
//! The step where a tool may start is the line that says `done`: until then an error may take all back.

use airlock::calls::Calls;
use airlock::provider::{FinishReason, StepFinish, ToolCall, Usage};
use codec::{Blocks, Place, Read, Seed, Shape, Unreadable, failure, json};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    calls: Vec<ToolCall>,
    call_bytes: usize,
    lines: u64,
}

impl codec::Answer for Answer {
    const SHAPE: Shape = Shape::JsonLines;

    fn read(&mut self, json: &[u8], _place: Place) -> Result<Read, Unreadable> {
        let value = json::read(json)?;
        if !value.is_object() {
            return Err(Unreadable::NotJson);
        }
        if value.get("error").is_some_and(|e| !e.is_null()) {
            return Ok(Read::Error);
        }
        self.lines += 1;
        self.line(&value, Seed::default().with(json).with(&self.lines.to_le_bytes()));
        Ok(Read::Taken)
    }

    fn done(&mut self) {
        self.cut();
    }

    fn cut(&mut self) {
        self.blocks.fail(failure::cut(self.blocks.has_begun()));
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

impl Answer {
    fn line(&mut self, line: &Value, seed: Seed) {
        self.blocks.start();
        let message = &line["message"];
        self.blocks.reasoning(message["thinking"].as_str().unwrap_or(""));
        self.blocks.text(message["content"].as_str().unwrap_or(""));
        for (at, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.call(call, seed.with(&at.to_le_bytes()));
        }
        if line["done"] == true {
            self.finish(line);
        }
    }

    /// A call comes whole. Without a name it is none.
    fn call(&mut self, given: &Value, seed: Seed) {
        let name = given["function"]["name"].as_str().unwrap_or("");
        if name.is_empty() || self.blocks.is_over() {
            return;
        }
        let input = input(&given["function"]["arguments"]);
        self.call_bytes = self.call_bytes.saturating_add(input.len());
        if self.calls.len() >= Calls::MOST || self.call_bytes > Calls::MOST_BYTES {
            let why = "The model's answer has more tool calls, or longer ones, than is sane";
            return self.blocks.fail(failure::transport(why, false));
        }
        let is_new = |id: &&str| !id.is_empty() && self.calls.iter().all(|c| c.id != *id);
        let id = given["id"].as_str().filter(is_new).map_or_else(|| seed.call_id(), str::to_owned);
        self.blocks.input_start(&id, name);
        self.blocks.input(&id, &input);
        self.calls.push(ToolCall { id, name: name.into(), input, opaque: None });
    }

    fn finish(&mut self, line: &Value) {
        let said = line["done_reason"].as_str().unwrap_or("stop");
        let reason = match (said, self.calls.is_empty()) {
            ("length", _) => FinishReason::Length,
            (_, false) => FinishReason::ToolCalls,
            ("stop", true) => FinishReason::Stop,
            (_, true) => FinishReason::Unknown,
        };
        self.blocks.close();
        for call in std::mem::take(&mut self.calls) {
            self.blocks.call(call);
        }
        self.blocks.finish(StepFinish { reason, usage: usage(line), metadata: metadata(line, said) });
    }
}

/// An object, as the protocol has it, or its text, as some proxies write it.
fn input(arguments: &Value) -> String {
    match arguments {
        Value::Null => "{}".into(),
        Value::String(text) if text.trim().is_empty() => "{}".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What came from the server's cache is not counted at all.
fn usage(line: &Value) -> Option<Usage> {
    let count = |name: &str| line[name].as_u64();
    let (input, output) = (count("prompt_eval_count"), count("eval_count"));
    input.or(output)?;
    Some(Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), ..Usage::default() })
}

fn metadata(line: &Value, said: &str) -> Option<String> {
    let model = line["model"].as_str().unwrap_or("");
    let given = [("finish_reason", said), ("model", model)].into_iter().filter(|(_, v)| !v.is_empty());
    let map: Map<_, _> = given.map(|(k, v)| (k.to_owned(), v.chars().take(200).collect::<String>().into())).collect();
    (!map.is_empty()).then(|| Value::Object(map).to_string())
}
