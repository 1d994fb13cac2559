//! The answer so far: chunks in, events out.
//!
//! The step where a tool may start is the end of the body: a reason may come before the text that it ends, and a call may be continued by
//! the next chunk. So calls are given out at the end, all together.

use airlock::provider::{FinishReason, StepFinish};
use codec::{Blocks, Kind, Place, Read, Seed, Shape, Unreadable, failure, json};
use serde_json::{Map, Value};

mod calls;
mod ending;
mod usage;

use crate::signature::{On, of_reasoning};
use calls::Calls;
use usage::Counts;

#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    calls: Calls,
    counts: Counts,
    /// Why the prompt was not answered at all.
    blocked: Option<String>,
    /// The server's own word for the end, and what it says to it.
    finish: Option<(String, String)>,
    id: String,
    model: String,
    chunks: u64,
}

impl codec::Answer for Answer {
    const SHAPE: Shape = Shape::Events;

    fn read(&mut self, json: &[u8], place: Place) -> Result<Read, Unreadable> {
        let value = json::read(json)?;
        // Without `alt=sse` the server sends one list of all chunks.
        let chunks = if let Value::Array(chunks) = &value { chunks.as_slice() } else { std::slice::from_ref(&value) };
        if !chunks.iter().all(Value::is_object) {
            return Err(Unreadable::NotJson);
        }
        let says = |key: &str| chunks.iter().any(|c| c.get(key).is_some_and(|v| !v.is_null()));
        let failed = says("error");
        if failed && chunks.len() == 1 {
            return Ok(Read::Error);
        }
        if place != Place::Event && !failed && !says("candidates") && !says("promptFeedback") {
            return Ok(Read::Nothing);
        }
        let seed = Seed::default().with(json);
        chunks.iter().for_each(|chunk| self.chunk(chunk, seed));
        Ok(Read::Taken)
    }

    fn done(&mut self) {
        self.cut();
    }

    fn cut(&mut self) {
        if self.blocks.is_over() {
            return;
        }
        match (&self.finish, &self.blocked) {
            (Some((said, message)), _) => match ending::effective(said, message, !self.calls.is_empty()) {
                Ok(reason) => self.finish(reason),
                Err(failure) => self.blocks.fail(failure),
            },
            (None, Some(why)) => self.blocks.fail(ending::blocked(why)),
            (None, None) => self.blocks.fail(failure::cut(self.blocks.has_begun())),
        }
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

impl Answer {
    fn chunk(&mut self, chunk: &Value, seed: Seed) {
        if self.blocks.is_over() {
            return;
        }
        if chunk.get("error").is_some_and(|e| !e.is_null()) {
            return self.blocks.fail(failure::in_answer(chunk));
        }
        self.blocks.start();
        self.chunks += 1;
        set_once(&mut self.id, &chunk["responseId"]);
        set_once(&mut self.model, &chunk["modelVersion"]);
        self.counts.read(&chunk["usageMetadata"]);
        if let Some(why) = word(&chunk["promptFeedback"]["blockReason"]) {
            self.blocked = Some(why);
        }
        let is_first = |c: &&Value| c["index"].as_u64().unwrap_or(0) == 0;
        if let Some(candidate) = chunk["candidates"].as_array().and_then(|all| all.iter().find(is_first)) {
            self.candidate(candidate, seed.with(&self.chunks.to_le_bytes()));
        }
    }

    fn candidate(&mut self, candidate: &Value, seed: Seed) {
        for (at, part) in candidate["content"]["parts"].as_array().into_iter().flatten().enumerate() {
            self.part(part, seed.with(&at.to_le_bytes()));
        }
        if let Some(said) = word(&candidate["finishReason"]) {
            let message = candidate["finishMessage"].as_str().unwrap_or("").chars().take(500).collect();
            self.finish = Some((said, message));
        }
    }

    fn part(&mut self, part: &Value, seed: Seed) {
        if part["functionCall"].is_object() {
            if self.calls.add(part, seed, &mut self.blocks).is_err() {
                let why = "The model's answer has more tool calls, or longer ones, than is sane";
                self.blocks.fail(failure::transport(why, false));
            }
            return;
        }
        let text = part["text"].as_str().unwrap_or("");
        let thought = part["thought"] == true;
        if thought {
            self.blocks.reasoning(text)
        } else {
            self.blocks.text(text)
        }
        if let Some(signature) = part["thoughtSignature"].as_str().filter(|s| !s.is_empty()) {
            self.sign(
                signature,
                if thought {
                    On::Thought
                } else if text.is_empty() {
                    On::Nothing
                } else {
                    On::Text
                },
            );
        }
    }

    /// A signature ends its part: what follows is another one.
    fn sign(&mut self, signature: &str, on: On) {
        if on != On::Thought {
            self.blocks.close();
        }
        self.blocks.switch(Kind::Reasoning);
        self.blocks.keep(of_reasoning(signature, on));
        self.blocks.close();
    }

    fn finish(&mut self, reason: FinishReason) {
        self.blocks.close();
        self.calls.give_out(&mut self.blocks);
        let metadata = self.metadata();
        self.blocks.finish(StepFinish { reason, usage: self.counts.usage(), metadata });
    }

    fn metadata(&mut self) -> Option<String> {
        let (said, message) = self.finish.take().unwrap_or_default();
        let (id, model) = (std::mem::take(&mut self.id), std::mem::take(&mut self.model));
        let given = [("finish_reason", said), ("message", message), ("id", id), ("model", model)];
        let map: Map<_, _> =
            given.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), v.into())).collect();
        (!map.is_empty()).then(|| Value::Object(map).to_string())
    }
}

/// A word of the server's own, of bounded length; `None` for an empty one.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|t| !t.is_empty())?;
    Some(text.chars().take(200).collect())
}

fn set_once(field: &mut String, given: &Value) {
    if field.is_empty()
        && let Some(text) = word(given)
    {
        *field = text;
    }
}
