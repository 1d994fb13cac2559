//! The answer so far: events of the wire in, events out.
//!
//! An answer is a list of items, and the last event has all of them once more: it wins over what came before. A call is given out early only
//! where the server says that its item is completed; all others, and the calls after them, wait for the last event.

use airlock::calls::Calls;
use airlock::provider::{FinishReason, StepFinish, ToolCall, ToolResult, Usage};
use codec::{Blocks, Kind, Place, Read, Seed, Shape, Unreadable, failure, json};
use serde_json::{Map, Value};

mod ending;
mod item;
mod server;
mod usage;

use ending::Ending;
use item::{Item, What};

#[derive(Debug, Default)]
pub struct Answer {
    blocks: Blocks,
    items: Vec<Item>,
    ids: Vec<String>,
    usage: Option<Usage>,
    is_refusal: bool,
    has_calls: bool,
    id: String,
    model: String,
    bytes: usize,
}

impl codec::Answer for Answer {
    const SHAPE: Shape = Shape::Events;

    fn read(&mut self, json: &[u8], place: Place) -> Result<Read, Unreadable> {
        let value = json::read(json)?;
        let kind = value["type"].as_str().unwrap_or("");
        let is_whole = value["object"] == "response";
        if kind == "error" || (!value["error"].is_null() && !is_whole) {
            return Ok(Read::Error);
        }
        match place {
            Place::Event | Place::Stray if kind.starts_with("response.") => self.event(kind, &value),
            _ if is_whole => self.over(&value, ""),
            // Types that are not known yet are none of our business.
            Place::Event if value.is_object() => self.blocks.start(),
            Place::Event => return Err(Unreadable::NotJson),
            _ => return Ok(Read::Nothing),
        }
        Ok(Read::Taken)
    }

    /// This protocol has an event for its end: whoever stops without it was cut.
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
    fn event(&mut self, kind: &str, event: &Value) {
        self.head(&event["response"]);
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.over(&event["response"], kind.trim_start_matches("response."));
            }
            "response.output_item.added" => self.added(event),
            "response.output_item.done" => self.item_done(event),
            "response.output_text.delta" => self.spoken(event, false),
            "response.refusal.delta" => self.spoken(event, true),
            "response.reasoning_summary_text.delta" => self.thought(event, "summary_index"),
            "response.reasoning_text.delta" => self.thought(event, "content_index"),
            "response.function_call_arguments.delta" => self.input(event),
            "response.function_call_arguments.done" => self.input_done(event),
            _ => self.blocks.start(),
        }
    }

    fn head(&mut self, response: &Value) {
        self.blocks.start();
        set_once(&mut self.id, &response["id"]);
        set_once(&mut self.model, &response["model"]);
    }

    /// The item that an event belongs to. The place in the list is the surest sign, then the id; servers that send neither have one item open
    /// at a time.
    fn find(&self, event: &Value, id: &str) -> Option<usize> {
        if let Some(index) = event["output_index"].as_u64() {
            return self.items.iter().rposition(|i| i.index == Some(index));
        }
        let by_id = || self.items.iter().rposition(|i| i.is_named(id));
        let open = || self.items.iter().rposition(|i| !i.is_done);
        if id.is_empty() { open() } else { by_id().or_else(open) }
    }

    /// The item of an event that has only its pieces, made where it was never announced.
    fn item_of(&mut self, event: &Value, what: What) -> Option<usize> {
        let id = event["item_id"].as_str().unwrap_or("");
        match self.find(event, id) {
            Some(at) => Some(at),
            None => self.add(event["output_index"].as_u64(), id, what),
        }
    }

    fn add(&mut self, index: Option<u64>, id: &str, what: What) -> Option<usize> {
        if self.items.len() >= Calls::MOST {
            self.too_much();
            return None;
        }
        self.blocks.close();
        self.items.push(Item::new(index, id, what));
        Some(self.items.len() - 1)
    }

    fn added(&mut self, event: &Value) {
        let item = &event["item"];
        let index = event["output_index"].as_u64();
        let known = index.and_then(|i| self.items.iter().position(|known| known.index == Some(i)));
        let at = known.or_else(|| self.add(index, item["id"].as_str().unwrap_or(""), What::of(item)));
        if let Some(at) = at {
            self.begin_call(at, item);
        }
    }

    /// The input of a call begins once its name is known.
    fn begin_call(&mut self, at: usize, item: &Value) {
        let What::Call(call) = &self.items[at].what else { return };
        let name = item["name"].as_str().unwrap_or("");
        if !call.name.is_empty() || name.is_empty() {
            return;
        }
        let given = ["call_id", "id"].iter().find_map(|key| item[*key].as_str().filter(|id| !id.is_empty()));
        let id = self.own_id(given.unwrap_or(""), name);
        self.has_calls = true;
        self.blocks.input_start(&id, name);
        if let What::Call(call) = &mut self.items[at].what {
            self.blocks.input(&id, &call.input);
            (call.id, call.name) = (id, name.into());
        }
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

    fn spoken(&mut self, event: &Value, is_refusal: bool) {
        let Some(at) = self.item_of(event, What::Message) else { return };
        self.is_refusal |= is_refusal;
        let text = event["delta"].as_str().unwrap_or("");
        self.items[at].heard(event["content_index"].as_u64().unwrap_or(0), text);
        self.blocks.text(text);
    }

    fn thought(&mut self, event: &Value, part: &str) {
        let Some(at) = self.item_of(event, What::Thought) else { return };
        self.think(at, event[part].as_u64().unwrap_or(0), event["delta"].as_str().unwrap_or(""));
    }

    /// The parts of a thought stand apart.
    fn think(&mut self, at: usize, part: u64, text: &str) {
        if self.items[at].is_new_part(part) && !text.is_empty() {
            self.blocks.reasoning("\n\n");
        }
        self.items[at].heard(part, text);
        self.blocks.reasoning(text);
    }

    fn input(&mut self, event: &Value) {
        let piece = event["delta"].as_str().unwrap_or("");
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > Calls::MOST_BYTES {
            return self.too_much();
        }
        let Some(at) = self.item_of(event, What::call()) else { return };
        if let What::Call(call) = &mut self.items[at].what {
            call.input.push_str(piece);
            if !call.name.is_empty() {
                self.blocks.input(&call.id, piece);
            }
        }
    }

    fn input_done(&mut self, event: &Value) {
        let Some(at) = self.item_of(event, What::call()) else { return };
        self.begin_call(at, event);
        self.set_input(at, &event["arguments"]);
    }

    /// The whole input wins over its pieces.
    fn set_input(&mut self, at: usize, whole: &Value) {
        let written = if whole.is_object() { Some(whole.to_string()) } else { whole.as_str().map(str::to_owned) };
        let Some(written) = written.filter(|w| !w.is_empty()) else { return };
        if let What::Call(call) = &mut self.items[at].what {
            if call.input.is_empty() && !call.name.is_empty() {
                self.blocks.input(&call.id, &written);
            }
            call.input = written;
        }
    }

    fn item_done(&mut self, event: &Value) {
        let item = &event["item"];
        let id = item["id"].as_str().unwrap_or("");
        let at = self.find(event, id).filter(|at| self.items[*at].what.is_like(&What::of(item)));
        let at = at.or_else(|| self.add(event["output_index"].as_u64(), id, What::of(item)));
        if let Some(at) = at {
            self.settle(at, item);
            self.give_out();
        }
    }

    /// Takes from a whole item what its pieces left out.
    fn settle(&mut self, at: usize, item: &Value) {
        match &self.items[at].what {
            What::Message => self.settle_message(at, item),
            What::Thought => self.settle_thought(at, item),
            What::Call(_) => self.settle_call(at, item),
            What::Server if !self.items[at].is_done => self.server_call(item),
            What::Server | What::Other => {}
        }
        self.items[at].is_done = true;
    }

    fn settle_message(&mut self, at: usize, item: &Value) {
        for (part, content) in (0..).zip(item["content"].as_array().into_iter().flatten()) {
            let text = content["text"].as_str().or(content["refusal"].as_str()).unwrap_or("");
            self.is_refusal |= content["type"] == "refusal";
            if !self.items[at].has_heard(part) {
                self.items[at].heard(part, text);
                self.blocks.text(text);
            }
        }
        self.blocks.close();
    }

    fn settle_thought(&mut self, at: usize, item: &Value) {
        if self.items[at].is_done {
            return;
        }
        let parts = |key: &str| item[key].as_array().cloned().unwrap_or_default();
        let shown = if parts("summary").is_empty() { parts("content") } else { parts("summary") };
        for (part, content) in (0..).zip(&shown) {
            if !self.items[at].has_heard(part) {
                self.think(at, part, content["text"].as_str().unwrap_or(""));
            }
        }
        if item["encrypted_content"].as_str().is_some_and(|e| !e.is_empty()) {
            self.blocks.switch(Kind::Reasoning);
            self.blocks.keep(replayed(item));
        }
        self.blocks.close();
    }

    fn settle_call(&mut self, at: usize, item: &Value) {
        self.begin_call(at, item);
        let What::Call(call) = &self.items[at].what else { return };
        if call.is_given {
            return self.compare(at, &item["arguments"]);
        }
        self.set_input(at, &item["arguments"]);
        if let What::Call(call) = &mut self.items[at].what {
            call.item_id = item["id"].as_str().unwrap_or("").into();
            call.is_completed |= item["status"] == "completed";
        }
    }

    /// A server that says another thing than it did cannot be believed in either.
    fn compare(&mut self, at: usize, whole: &Value) {
        let What::Call(call) = &self.items[at].what else { return };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
        let same = whole.as_str().is_none_or(|w| w.is_empty() || parsed(w) == parsed(&call.input));
        if !same {
            let message = "The server took back a tool call that it had called completed";
            self.blocks.fail(failure::transport(message, true));
        }
    }

    /// The calls that are completed, up to the first that is not.
    fn give_out(&mut self) {
        for item in &mut self.items {
            let What::Call(call) = &mut item.what else { continue };
            if !call.is_given && !call.is_whole() {
                return;
            }
            if !call.is_given {
                call.is_given = true;
                self.blocks.call(call.complete(FinishReason::ToolCalls));
            }
        }
    }

    /// A tool that the server ran: call and result come out together, so that nobody takes the call for an order.
    fn server_call(&mut self, item: &Value) {
        let (name, input, text) = server::read(item);
        let id = self.own_id(item["id"].as_str().unwrap_or(""), &name);
        self.blocks.input_start(&id, &name);
        self.blocks.input(&id, &input);
        let opaque = Some(server::opaque(item));
        self.blocks.call(ToolCall { id: id.clone(), name: name.clone(), input, opaque });
        let is_error = item["status"] == "failed";
        self.blocks.result(ToolResult { call_id: id, name, text, is_error, files: Vec::new() });
    }

    /// The last event, or a whole answer that was not streamed.
    fn over(&mut self, response: &Value, status: &str) {
        self.head(response);
        self.usage = usage::read(&response["usage"]).or(self.usage);
        let ending = ending::of(response, status);
        if let Ending::Failed(failure) = ending {
            return self.blocks.fail(failure);
        }
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            let known = self
                .same(index, item)
                .or_else(|| self.add(Some(index), item["id"].as_str().unwrap_or(""), What::of(item)));
            if let Some(at) = known {
                self.settle(at, item);
            }
        }
        if let Ending::Step(reason, said) = ending {
            self.end(reason, &said);
        }
    }

    /// The item that the last event shows once more.
    fn same(&self, index: u64, item: &Value) -> Option<usize> {
        let like = |at: &usize| self.items[*at].what.is_like(&What::of(item));
        let by_index = self.items.iter().position(|i| i.index == Some(index));
        let named = |key: &str| item[key].as_str().filter(|id| !id.is_empty());
        let by_name = || {
            let name = named("id").or_else(|| named("call_id"))?;
            self.items.iter().position(|i| i.is_named(name))
        };
        let by_call = || self.items.iter().position(|i| i.is_call(named("call_id").unwrap_or("")));
        let by_place = || {
            let place = usize::try_from(index).ok()?;
            self.items.get(place).filter(|i| i.index.is_none()).map(|_| place)
        };
        by_index
            .filter(like)
            .or_else(|| by_name().filter(like))
            .or_else(|| by_call().filter(like))
            .or_else(|| by_place().filter(like))
    }

    fn end(&mut self, reason: FinishReason, said: &str) {
        if self.blocks.is_over() {
            return;
        }
        self.blocks.close();
        let goes_on = self.has_calls && matches!(reason, FinishReason::Stop | FinishReason::Unknown);
        let reason = if goes_on { FinishReason::ToolCalls } else { reason };
        for item in std::mem::take(&mut self.items) {
            let What::Call(call) = item.what else { continue };
            if !call.is_given && !call.name.is_empty() {
                self.blocks.call(call.complete(reason));
            }
        }
        let metadata = self.metadata(said);
        self.blocks.finish(StepFinish { reason, usage: self.usage, metadata });
    }

    fn metadata(&self, said: &str) -> Option<String> {
        let given = [("finish_reason", said), ("id", &self.id), ("model", &self.model)];
        let mut map: Map<String, Value> =
            given.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), v.into())).collect();
        if self.is_refusal {
            map.insert("refusal".into(), true.into());
        }
        (!map.is_empty()).then(|| Value::Object(map).to_string())
    }

    fn too_much(&mut self) {
        let message = "The model's answer has more tool calls, or longer ones, than is sane";
        self.blocks.fail(failure::transport(message, false));
    }
}

/// What has to go back of a thought: its content, which only open models show, is none of it.
fn replayed(item: &Value) -> String {
    let mut map = Map::new();
    for key in ["type", "id", "summary", "encrypted_content"] {
        map.insert(key.into(), item[key].clone());
    }
    map.retain(|_, value| !value.is_null());
    map.entry("summary").or_insert_with(|| Value::Array(Vec::new()));
    Value::Object(map).to_string()
}

fn set_once(field: &mut String, given: &Value) {
    if let Some(given) = given.as_str().filter(|_| field.is_empty()) {
        *field = given.chars().take(200).collect();
    }
}
