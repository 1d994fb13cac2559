//! Messages, and the rules of the server: users and assistants in turn, the user first, results before all else in the message that follows
//! their calls, and nothing empty.

use super::media;
use crate::thought;
use airlock::provider::{Part, ToolCall, ToolResult};
use codec::{Answered, CallIds, INTERRUPTED, Ink, Said, Seed, Tail, ids, json as text_json};
use serde::Serialize;
use serde_json::Value;

/// Said where a user has to speak and nobody did.
const GO_ON: &str = "Go on.";
/// Stands where a tool of the server was called and the result never came.
const BROKEN_OFF: &str = "(A tool of the service was called here, and the call was broken off.)";

const USER: &str = r#"{"role":"user","content":["#;
const ASSISTANT: &str = r#"{"role":"assistant","content":["#;

/// What has to be known of a block that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Thought,
    Result,
    /// Of a tool that the server ran itself.
    Server,
    /// A call whose result the server gives once it is asked to go on.
    Paused,
}

type Messages = Tail<Said<Kind>>;
type Block = (Kind, Ink);

/// Writes messages, and remembers what the next one has to know.
pub struct Writer {
    ids: CallIds,
    /// The wire's ids of the calls of the last turn, in their order.
    calls: Vec<String>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { ids: CallIds::new(fits, Seed::call_id), calls: Vec::new() }
    }
}

fn fits(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

pub fn user(said: &[Part], out: &mut Messages) {
    let blocks = said.iter().filter_map(|part| match part {
        Part::Text(said) => text(said),
        Part::File(file) => Some((Kind::Plain, media::block(file))),
        _ => None,
    });
    let blocks = blocks.collect();
    say_as_user(blocks, out);
}

/// Whoever else speaks after a pause ends it: a call of the server without its result is refused then.
fn end_pause(out: &mut Messages) {
    let last = out.newest_mut().next().and_then(|message| message.blocks.last_mut());
    if let Some(block) = last.filter(|(kind, _)| *kind == Kind::Paused) {
        *block = (Kind::Plain, said(BROKEN_OFF));
    }
}

fn say_as_user(blocks: Vec<Block>, out: &mut Messages) {
    if !blocks.is_empty() {
        end_pause(out);
    }
    out.say(USER, blocks);
}

impl Writer {
    pub fn assistant(&mut self, said: &[Part], out: &mut Messages) {
        self.calls.clear();
        let mut blocks = Vec::new();
        for part in said {
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
        if !matches!(blocks.first(), None | Some((Kind::Server, _))) {
            end_pause(out);
        }
        let follows_itself = out.last().is_some_and(|last| last.is_by(ASSISTANT));
        let begins = out.is_empty() && !blocks.is_empty();
        if begins || (follows_itself && blocks.iter().any(is_thought)) {
            go_on(out);
        }
        out.say(ASSISTANT, blocks);
    }

    fn call(&mut self, call: &ToolCall, blocks: &mut Vec<Block>) {
        if let Some(own) = of_server(call) {
            blocks.extend(own.iter().map(server_block));
            if let ([_], Some((kind @ Kind::Server, _))) = (own.as_slice(), blocks.last_mut())
                && own[0]["type"] == "server_tool_use"
            {
                *kind = Kind::Paused;
            }
            return;
        }
        let id = self.ids.call(&call.id);
        let input = text_json::object(&call.input);
        let block = Call { kind: "tool_use", id: &id, name: &ids::name(&call.name), input };
        blocks.push((Kind::Plain, Ink::of(&block)));
        self.calls.push(id);
    }

    /// Results first, then the files that a failed call cannot carry.
    pub fn answers(&self, answers: &[Answered], out: &mut Messages) {
        let ours = answers.iter().filter(|a| of_server(&a.call).is_none());
        let (mut blocks, mut after) = (Vec::new(), Vec::new());
        for (answer, id) in ours.zip(&self.calls) {
            let block = match &answer.result {
                Some(result) if result.is_error => {
                    after.extend(result.files.iter().map(|file| (Kind::Plain, media::block(file))));
                    failed(id, &result.text)
                }
                Some(answered) => result(id, answered),
                None => failed(id, INTERRUPTED),
            };
            blocks.push((Kind::Result, block));
        }
        blocks.extend(after);
        say_as_user(blocks, out);
    }
}

fn go_on(out: &mut Messages) {
    out.say(USER, text(GO_ON).into_iter().collect());
}

/// A user is answered. Only what the server itself broke off goes on without one.
pub fn end(out: &mut Messages) {
    let goes_on = |block: &Block| matches!(block.0, Kind::Server | Kind::Paused);
    let is_over = |last: &Said<Kind>| last.is_by(USER) || last.blocks.last().is_some_and(goes_on);
    if !out.last().is_some_and(is_over) {
        go_on(out);
    }
}

/// The answer that is going on has calls and began without a thought: the server refuses to begin to think in its middle.
pub fn is_mid_thoughtless_turn(end: &Messages) -> bool {
    let mut newest = end.newest();
    let (Some(user), Some(assistant)) = (newest.next(), newest.next()) else { return false };
    let answers = user.blocks.first().is_some_and(|(kind, _)| *kind == Kind::Result);
    answers && !assistant.blocks.first().is_some_and(is_thought)
}

fn is_thought(block: &Block) -> bool {
    block.0 == Kind::Thought
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    name: &'a str,
    input: Value,
}

/// The head of a result; its content follows.
#[derive(Serialize)]
struct Outcome<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

impl Outcome<'_> {
    fn with(&self, content: &[Ink]) -> Ink {
        let mut ink = Ink::of(self);
        ink.member("content", &Ink::list(content));
        ink
    }
}

fn said(text: &str) -> Ink {
    Ink::of(&Text { kind: "text", text })
}

fn text(text: &str) -> Option<Block> {
    (!text.trim().is_empty()).then(|| (Kind::Plain, said(text)))
}

fn result(id: &str, result: &ToolResult) -> Ink {
    let mut content: Vec<Ink> = text(&result.text).into_iter().map(|(_, text)| text).collect();
    content.extend(result.files.iter().map(media::block));
    if content.is_empty() {
        content.push(said("(no output)"));
    }
    Outcome { kind: "tool_result", tool_use_id: id, is_error: false }.with(&content)
}

/// The server accepts nothing but text of a failed call, and not none.
fn failed(id: &str, text: &str) -> Ink {
    let text = if text.trim().is_empty() { "The call failed without a word" } else { text };
    Outcome { kind: "tool_result", tool_use_id: id, is_error: true }.with(&[said(text)])
}

/// The blocks of a call that the server ran itself, and of its result, as they came.
fn of_server(call: &ToolCall) -> Option<Vec<Value>> {
    let opaque: Value = serde_json::from_str(call.opaque.as_deref()?).ok()?;
    opaque["server"].as_array().cloned().filter(|blocks| !blocks.is_empty())
}

fn server_block(block: &Value) -> Block {
    let is_own = block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result") || kind == "server_tool_use");
    let kind = if is_own { Kind::Server } else { Kind::Plain };
    (kind, Ink::of(block))
}
