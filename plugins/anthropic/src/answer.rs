//! The answer so far: events of the wire in, events out.
//!
//! A call is given out when its block has ended and its input is a whole JSON object: from there on the protocol cannot take it back but by
//! an error, which takes back the whole answer. What is empty or broken waits for the end, which says whether it was cut; and so do the
//! calls after it, since their order counts.

use airlock::calls::Calls;
use airlock::provider::{FinishReason, StepFinish, ToolCall, ToolResult};
use codec::{Blocks, Kind, Place, Read, Seed, Shape, Unreadable, failure, json};
use serde_json::{Map, Value};

mod call;
mod ending;
mod server;
mod usage;

use call::Call;
use server::ServerCalls;
use usage::Tally;

#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    /// Calls whose block is open, and those that wait for the end, in the order in which they began.
    calls: Vec<Call>,
    ids: Vec<String>,
    server: ServerCalls,
    tally: Tally,
    /// The server's own word for the end, once it was said.
    finish: Option<String>,
    is_whole: bool,
    id: String,
    model: String,
    bytes: usize,
}

impl codec::Answer for Answer {
    const SHAPE: Shape = Shape::Events;

    fn read(&mut self, json: &[u8], place: Place) -> Result<Read, Unreadable> {
        let value = json::read(json)?;
        let kind = value["type"].as_str().unwrap_or("");
        if kind == "error" || !value["error"].is_null() {
            return Ok(Read::Error);
        }
        match (place, kind) {
            (Place::Event | Place::Stray, _) if ending::is_known(kind) => self.event(kind, &value),
            (_, "message") => self.whole(&value),
            // Types that are not known yet are none of our business.
            (Place::Event, _) if value.is_object() => self.blocks.start(),
            (Place::Event, _) => return Err(Unreadable::NotJson),
            _ => return Ok(Read::Nothing),
        }
        Ok(Read::Taken)
    }

    fn done(&mut self) {
        if self.is_whole || self.finish.is_some() {
            return self.end();
        }
        self.blocks
            .fail(failure::transport("The server ended the stream before the model's answer was complete", true));
    }

    fn cut(&mut self) {
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
    fn event(&mut self, kind: &str, event: &Value) {
        self.blocks.start();
        match kind {
            "message_start" => self.head(&event["message"]),
            "content_block_start" => self.block_start(index(event), &event["content_block"]),
            "content_block_delta" => self.delta(index(event), &event["delta"]),
            "content_block_stop" => self.block_stop(index(event)),
            "message_delta" => self.tail(&event["delta"], &event["usage"]),
            "message_stop" => self.stop(),
            _ => {}
        }
    }

    fn head(&mut self, message: &Value) {
        set_once(&mut self.id, &message["id"]);
        set_once(&mut self.model, &message["model"]);
        self.tally.add(&message["usage"]);
    }

    fn tail(&mut self, said: &Value, usage: &Value) {
        self.tally.add(usage);
        if let Some(reason) = said["stop_reason"].as_str().filter(|r| !r.is_empty()) {
            self.finish = Some(reason.chars().take(200).collect());
        }
    }

    /// An answer that was not streamed.
    fn whole(&mut self, message: &Value) {
        self.blocks.start();
        self.is_whole = true;
        self.head(message);
        for (at, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.block_start(at, block);
            self.block_stop(at);
        }
        self.tail(message, &Value::Null);
    }

    fn block_start(&mut self, at: u64, block: &Value) {
        self.blocks.close();
        let text = |key: &str| block[key].as_str().unwrap_or("");
        match text("type") {
            "text" => self.blocks.text(text("text")),
            "thinking" => self.thought(text("thinking"), text("signature")),
            "redacted_thinking" => self.keep(crate::thought::redacted(text("data"))),
            "tool_use" => self.call_start(at, block),
            kind if server::is_call(kind) => self.bounded(0, |answer| answer.server.start(at, block)),
            kind if server::is_result(kind) => self.server_result(block),
            _ => {}
        }
    }

    fn delta(&mut self, at: u64, delta: &Value) {
        let text = |key: &str| delta[key].as_str().unwrap_or("");
        match text("type") {
            "text_delta" => self.blocks.text(text("text")),
            "thinking_delta" => self.thought(text("thinking"), ""),
            "signature_delta" => self.thought("", text("signature")),
            "input_json_delta" => self.input(at, text("partial_json")),
            _ => {}
        }
    }

    /// A thought may have a signature and no text.
    fn thought(&mut self, text: &str, signature: &str) {
        self.blocks.reasoning(text);
        if !signature.is_empty() {
            self.keep(crate::thought::signed(signature));
        }
    }

    fn keep(&mut self, opaque: String) {
        self.blocks.switch(Kind::Reasoning);
        self.blocks.keep(opaque);
    }

    fn call_start(&mut self, at: u64, block: &Value) {
        let name = block["name"].as_str().unwrap_or("");
        // Nothing can be called without a name.
        if name.is_empty() {
            return;
        }
        let id = self.own_id(block["id"].as_str().unwrap_or(""), name);
        self.blocks.input_start(&id, name);
        self.bounded(0, |answer| answer.calls.push(Call::new(at, id, name, &block["input"])));
    }

    fn own_id(&mut self, given: &str, name: &str) -> String {
        let mut id = given.to_owned();
        let mut seed = Seed::default().with(self.id.as_bytes()).with(name.as_bytes());
        while id.is_empty() || self.ids.contains(&id) {
            seed = seed.with(&self.ids.len().to_le_bytes());
            id = seed.call_id();
        }
        self.ids.push(id.clone());
        id
    }

    fn input(&mut self, at: u64, piece: &str) {
        self.bounded(piece.len(), |answer| {
            if let Some(call) = answer.calls.iter_mut().rev().find(|c| c.is_open_at(at)) {
                call.input.push_str(piece);
                answer.blocks.input(&call.id, piece);
            } else {
                answer.server.input(at, piece);
            }
        });
    }

    fn block_stop(&mut self, at: u64) {
        self.blocks.close();
        self.server.stop(at);
        if let Some(call) = self.calls.iter_mut().rev().find(|c| c.is_open_at(at)) {
            call.end();
            self.give_out();
        }
    }

    /// The calls that are whole, up to the first that is not.
    fn give_out(&mut self) {
        while self.calls.first().is_some_and(Call::is_whole) {
            let call = self.calls.remove(0);
            self.give(call, FinishReason::ToolCalls);
        }
    }

    fn give(&mut self, call: Call, reason: FinishReason) {
        let whole = call.complete(reason);
        if whole.input.len() != call.input.len() && call.input.trim().is_empty() {
            self.blocks.input(&call.id, &whole.input);
        }
        self.blocks.call(whole);
    }

    /// A tool that the server ran: call and result come out together, so that nobody takes the call for an order.
    fn server_result(&mut self, block: &Value) {
        if let Some((call, result)) = self.server.answered(block) {
            self.give_answered(call, result);
        }
    }

    fn give_answered(&mut self, call: ToolCall, result: ToolResult) {
        let id = self.own_id(&call.id, &call.name);
        self.blocks.input_start(&id, &call.name);
        self.blocks.input(&id, &call.input);
        self.blocks.call(ToolCall { id: id.clone(), ..call });
        self.blocks.result(ToolResult { call_id: id, ..result });
    }

    fn stop(&mut self) {
        let is_empty = self.finish.is_none() && self.blocks.is_empty() && self.ids.is_empty();
        if is_empty {
            self.blocks.fail(failure::transport("The server ended the stream without an answer", true));
        }
        self.end();
    }

    fn end(&mut self) {
        if self.blocks.is_over() {
            return;
        }
        let said = self.finish.take();
        let reason = ending::effective(said.as_deref(), self.has_calls());
        self.blocks.close();
        if reason == FinishReason::Pause {
            let paused = self.server.paused();
            paused.into_iter().for_each(|(call, result)| self.give_answered(call, result));
        }
        for call in std::mem::take(&mut self.calls) {
            self.give(call, reason);
        }
        let metadata = self.metadata(said.as_deref());
        self.blocks.finish(StepFinish { reason, usage: self.tally.usage(), metadata });
    }

    fn has_calls(&self) -> bool {
        self.ids.len() > self.server.given()
    }

    fn metadata(&self, said: Option<&str>) -> Option<String> {
        let given = [("finish_reason", said.unwrap_or("")), ("id", &self.id), ("model", &self.model)];
        let mut map: Map<String, Value> =
            given.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), v.into())).collect();
        if said == Some("refusal") {
            map.insert("refusal".into(), true.into());
        }
        (!map.is_empty()).then(|| Value::Object(map).to_string())
    }

    /// Does something that keeps `bytes` more, unless the answer is beyond what is sane.
    fn bounded(&mut self, bytes: usize, then: impl FnOnce(&mut Self)) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > Calls::MOST_BYTES || self.ids.len() > Calls::MOST || self.server.open() > Calls::MOST {
            let message = "The model's answer has more tool calls, or longer ones, than is sane";
            return self.blocks.fail(failure::transport(message, false));
        }
        then(self);
    }
}

/// Servers that send one block at a time may leave the index out.
fn index(event: &Value) -> u64 {
    event["index"].as_u64().unwrap_or(0)
}

fn set_once(field: &mut String, given: &Value) {
    if let Some(given) = given.as_str().filter(|_| field.is_empty()) {
        *field = given.chars().take(200).collect();
    }
}
