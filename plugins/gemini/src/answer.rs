//! The answer so far: chunks in, events out.
//!
//! The step where a tool may start is the end of the body: a reason may come before the text that it ends, and a call may be continued by
//! the next chunk. So calls are given out at the end, all together.

use airlock::provider::{FinishReason, StepFinish};
use codec::json::{self, Lean};
use codec::{Blocks, Kind, Place, Read, Seed, Shape, Unreadable, failure};
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
        json::with(json, |value| match value {
            // Without `alt=sse` the server sends one list of all chunks.
            Lean::Array(chunks) => self.chunks(chunks, json, place),
            one => self.chunks(std::slice::from_ref(one), json, place),
        })?
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
    fn chunks(&mut self, chunks: &[Lean<'_>], json: &[u8], place: Place) -> Result<Read, Unreadable> {
        if !chunks.iter().all(Lean::is_object) {
            return Err(Unreadable::NotJson);
        }
        let says = |key: &'static str| chunks.iter().any(|c| !c.get(key).is_null());
        let failed = says("error");
        if failed && chunks.len() == 1 {
            return Ok(Read::Error);
        }
        if place != Place::Event && !failed && !says("candidates") && !says("promptFeedback") {
            return Ok(Read::Nothing);
        }
        chunks.iter().for_each(|chunk| self.chunk(chunk, json));
        Ok(Read::Taken)
    }

    /// `json`: what the ids of calls are made from.
    fn chunk(&mut self, chunk: &Lean<'_>, json: &[u8]) {
        if self.blocks.is_over() {
            return;
        }
        if !chunk.get("error").is_null() {
            return self.blocks.fail(failure::in_answer(&chunk.into()));
        }
        self.blocks.start();
        self.chunks += 1;
        set_once(&mut self.id, chunk.get("responseId"));
        set_once(&mut self.model, chunk.get("modelVersion"));
        self.counts.read(chunk.get("usageMetadata"));
        if let Some(why) = word(chunk.get("promptFeedback").get("blockReason")) {
            self.blocked = Some(why);
        }
        let is_first = |c: &&Lean<'_>| c.get("index").as_u64().unwrap_or(0) == 0;
        if let Some(candidate) = list(chunk.get("candidates")).iter().find(is_first) {
            self.candidate(candidate, json);
        }
    }

    fn candidate(&mut self, candidate: &Lean<'_>, json: &[u8]) {
        for (at, part) in list(candidate.get("content").get("parts")).iter().enumerate() {
            self.part(part, json, at);
        }
        if let Some(said) = word(candidate.get("finishReason")) {
            let message = candidate.get("finishMessage").as_str().unwrap_or("").chars().take(500).collect();
            self.finish = Some((said, message));
        }
    }

    fn part(&mut self, part: &Lean<'_>, json: &[u8], at: usize) {
        if part.get("functionCall").is_object() {
            let seed = Seed::default().with(json).with(&self.chunks.to_le_bytes()).with(&at.to_le_bytes());
            if self.calls.add(&part.into(), seed, &mut self.blocks).is_err() {
                let why = "The model's answer has more tool calls, or longer ones, than is sane";
                self.blocks.fail(failure::transport(why, false));
            }
            return;
        }
        let text = part.get("text").as_str().unwrap_or("");
        let thought = part.get("thought").as_bool() == Some(true);
        if thought {
            self.blocks.reasoning(text)
        } else {
            self.blocks.text(text)
        }
        if let Some(signature) = part.get("thoughtSignature").as_str().filter(|s| !s.is_empty()) {
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

fn list<'a>(value: &'a Lean<'a>) -> &'a [Lean<'a>] {
    value.as_array().unwrap_or(&[])
}

/// A word of the server's own, of bounded length; `None` for an empty one.
fn word(value: &Lean<'_>) -> Option<String> {
    let text = value.as_str().filter(|t| !t.is_empty())?;
    Some(text.chars().take(200).collect())
}

fn set_once(field: &mut String, given: &Lean<'_>) {
    if field.is_empty()
        && let Some(text) = word(given)
    {
        *field = text;
    }
}
