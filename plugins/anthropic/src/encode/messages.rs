//! Messages, and the rules of the server: users and assistants in turn, the user first, results before all else in the message that follows
//! their calls, and nothing empty.

use super::media::Media;
use crate::thought::{self, is_thought};
use airlock::provider::{Part, Request, ToolCall, ToolResult};
use codec::turns::{self, Answered, Turn};
use codec::{CallIds, Seed, ids};
use serde_json::{Map, Value, json};

/// Said where a user has to speak and nobody did.
const GO_ON: &str = "Go on.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
}

impl Speaker {
    fn name(self) -> &'static str {
        if self == Self::User { "user" } else { "assistant" }
    }
}

pub fn of(request: &Request) -> Result<Vec<Value>, String> {
    let mut writer = Writer {
        out: Vec::new(),
        ids: CallIds::new(fits, Seed::call_id),
        media: Media::new(&request.messages),
        calls: Vec::new(),
    };
    for turn in turns::of(&request.messages)? {
        match turn {
            Turn::User(parts) => writer.user(&parts),
            Turn::Assistant(parts) => writer.assistant(&parts),
            Turn::Answers(answers) => writer.answers(&answers),
        }
    }
    Ok(writer.end())
}

fn fits(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

struct Writer {
    out: Vec<(Speaker, Vec<Value>)>,
    ids: CallIds,
    media: Media,
    /// The wire's ids of the calls that wait for their results, in their order.
    calls: Vec<String>,
}

impl Writer {
    fn user(&mut self, parts: &[&Part]) {
        let mut blocks = Vec::new();
        for part in parts {
            match part {
                Part::Text(said) => blocks.extend(text(said)),
                Part::File(file) => blocks.push(self.media.block(file)),
                _ => {}
            }
        }
        self.push(Speaker::User, blocks);
    }

    fn assistant(&mut self, parts: &[&Part]) {
        let mut blocks = Vec::new();
        for part in parts {
            match part {
                Part::Text(said) => blocks.extend(text(said)),
                Part::Reasoning(thought) => blocks.extend(thought::block(thought)),
                Part::ToolCall(call) => self.call(call, &mut blocks),
                Part::File(_) | Part::ToolResult(_) => {}
            }
        }
        // A thought that nothing follows is refused.
        while blocks.last().is_some_and(is_thought) {
            blocks.pop();
        }
        let ended = self.out.last().is_some_and(|(speaker, _)| *speaker == Speaker::Assistant);
        if ended && blocks.iter().any(is_thought) {
            self.push(Speaker::User, text(GO_ON).into_iter().collect());
        }
        self.push(Speaker::Assistant, blocks);
    }

    fn call(&mut self, call: &ToolCall, blocks: &mut Vec<Value>) {
        if let Some(own) = of_server(call) {
            return blocks.extend(own);
        }
        let id = self.ids.call(&call.id);
        blocks.push(json!({"type": "tool_use", "id": id, "name": ids::name(&call.name), "input": input(&call.input)}));
        self.calls.push(id);
    }

    /// Results first, then the files that a failed call cannot carry.
    fn answers(&mut self, answers: &[Answered<'_>]) {
        let ours = answers.iter().filter(|a| of_server(a.call).is_none());
        let ids = std::mem::take(&mut self.calls);
        let (mut blocks, mut after) = (Vec::new(), Vec::new());
        for (answer, id) in ours.zip(ids) {
            blocks.push(match answer.result {
                Some(result) if result.is_error => self.failed(&id, result, &mut after),
                Some(result) => self.result(&id, result),
                None => failed(&id, turns::INTERRUPTED),
            });
        }
        blocks.extend(after);
        self.push(Speaker::User, blocks);
    }

    fn result(&mut self, id: &str, result: &ToolResult) -> Value {
        let mut content: Vec<Value> = text(&result.text).into_iter().collect();
        content.extend(result.files.iter().map(|file| self.media.block(file)));
        if content.is_empty() {
            content.extend(text("(no output)"));
        }
        json!({"type": "tool_result", "tool_use_id": id, "content": content})
    }

    /// The server accepts nothing but text of a failed call, and not none.
    fn failed(&mut self, id: &str, result: &ToolResult, after: &mut Vec<Value>) -> Value {
        after.extend(result.files.iter().map(|file| self.media.block(file)));
        let said = if result.text.trim().is_empty() { "The call failed without a word" } else { &result.text };
        failed(id, said)
    }

    fn push(&mut self, speaker: Speaker, blocks: Vec<Value>) {
        match self.out.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, all)) if *last == speaker => all.extend(blocks),
            _ => self.out.push((speaker, blocks)),
        }
    }

    /// A user begins and a user is answered. Only what the server itself broke off goes on without one.
    fn end(mut self) -> Vec<Value> {
        if self.out.first().is_none_or(|(speaker, _)| *speaker == Speaker::Assistant) {
            self.out.insert(0, (Speaker::User, text(GO_ON).into_iter().collect()));
        }
        let (last, blocks) = &self.out[self.out.len() - 1];
        if *last == Speaker::Assistant && !blocks.last().is_some_and(is_of_server) {
            self.push(Speaker::User, text(GO_ON).into_iter().collect());
        }
        self.out.into_iter().map(|(speaker, blocks)| json!({"role": speaker.name(), "content": blocks})).collect()
    }
}

/// The answer that is going on has calls and began without a thought: the server refuses to begin to think in its middle.
pub fn is_mid_thoughtless_turn(messages: &[Value]) -> bool {
    let [.., assistant, user] = messages else { return false };
    let answers = user["content"][0]["type"] == "tool_result";
    answers && !is_thought(&assistant["content"][0])
}

fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn failed(id: &str, said: &str) -> Value {
    let content = [json!({"type": "text", "text": said})];
    json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": true})
}

/// Input is an object on this wire; what the model wrote in its place is kept in one.
fn input(written: &str) -> Value {
    match serde_json::from_str::<Map<String, Value>>(written) {
        Ok(object) => object.into(),
        Err(_) if written.trim().is_empty() => json!({}),
        Err(_) => json!({"invalid_arguments": written}),
    }
}

/// The blocks of a call that the server ran itself, and of its result, as they came.
fn of_server(call: &ToolCall) -> Option<Vec<Value>> {
    let opaque: Value = serde_json::from_str(call.opaque.as_deref()?).ok()?;
    opaque["server"].as_array().cloned().filter(|blocks| !blocks.is_empty())
}

fn is_of_server(block: &Value) -> bool {
    block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result") || kind == "server_tool_use")
}
