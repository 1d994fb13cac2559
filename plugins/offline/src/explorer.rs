//! What the stand-in does without a script: look at the workspace, read what a newcomer would read, and report.

use crate::report;
use crate::turn::{self, Call, Turn};
use airlock::provider::{Message, Part, Request, Role, ToolCall, ToolResult};
use serde_json::{Value, json};

/// Files that a newcomer would read, most telling first. Compared without regard to case.
const TELLING: [&str; 12] = [
    "readme.md",
    "readme",
    "readme.txt",
    "readme.rst",
    "cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "makefile",
    "justfile",
    "cmakelists.txt",
    "agents.md",
];

/// Files that are read at most.
const MOST: usize = 4;

pub fn turn(request: &Request) -> Turn {
    let seen = seen(request);
    let turn = match seen.rounds {
        0 => look(request),
        1 => read(request, &seen),
        _ => None,
    };
    turn.unwrap_or_else(|| Turn::saying(report::of(&seen))).numbered(turn::number(request))
}

/// A call with what came of it.
pub struct Done<'a> {
    pub call: &'a ToolCall,
    pub result: &'a ToolResult,
}

/// What was done for the person's last message.
pub struct Seen<'a> {
    /// Answers that held calls.
    rounds: usize,
    pub done: Vec<Done<'a>>,
    /// The tools that could have been used.
    pub can_look: bool,
}

fn seen(request: &Request) -> Seen<'_> {
    let start = request.messages.iter().rposition(|m| m.role == Role::User).unwrap_or(0);
    let since = &request.messages[start..];
    let rounds = since.iter().filter(|m| calls(m).next().is_some()).count();
    let done =
        since.iter().flat_map(calls).filter_map(|call| Some(Done { call, result: result(since, &call.id)? })).collect();
    Seen { rounds, done, can_look: has(request, "read") || has(request, "glob") }
}

fn calls(message: &Message) -> impl Iterator<Item = &ToolCall> {
    message.parts.iter().filter_map(|p| if let Part::ToolCall(call) = p { Some(call) } else { None })
}

fn result<'a>(messages: &'a [Message], id: &str) -> Option<&'a ToolResult> {
    let parts = messages.iter().flat_map(|m| &m.parts);
    parts.filter_map(|p| if let Part::ToolResult(r) = p { Some(r) } else { None }).find(|r| r.call_id == id)
}

fn has(request: &Request, tool: &str) -> bool {
    request.tools.iter().any(|t| t.name == tool)
}

fn look(request: &Request) -> Option<Turn> {
    let call = if has(request, "read") {
        call("read", json!({"filePath": "."}))
    } else if has(request, "glob") {
        call("glob", json!({"pattern": "*"}))
    } else {
        return None;
    };
    Some(calling("I look at what lies in the workspace.", vec![call]))
}

fn read(request: &Request, seen: &Seen<'_>) -> Option<Turn> {
    let listing = seen.done.first().filter(|d| !d.result.is_error)?;
    let files = telling(&names(&listing.result.text));
    if files.is_empty() || !has(request, "read") {
        return None;
    }
    let calls = files.iter().map(|file| call("read", json!({"filePath": file}))).collect();
    Some(calling("I read what says most about it.", calls))
}

fn telling(names: &[String]) -> Vec<String> {
    let found = TELLING.iter().filter_map(|telling| names.iter().find(|name| name.eq_ignore_ascii_case(telling)));
    found.take(MOST).cloned().collect()
}

fn call(name: &str, input: Value) -> Call {
    Call { id: String::new(), name: name.into(), input }
}

fn calling(text: &str, tool_calls: Vec<Call>) -> Turn {
    Turn { text: text.into(), tool_calls, ..Turn::default() }
}

/// The names in a listing, folders with a slash at the end: one a line, as a folder's entries or as paths.
pub fn names(listing: &str) -> Vec<String> {
    let inner = listing.split_once("<entries>\n").map_or(listing, |(_, rest)| rest);
    let inner = inner.split("\n</entries>").next().unwrap_or(inner);
    let is_name = |line: &&str| !line.is_empty() && !line.starts_with(['<', '(']);
    inner.lines().map(str::trim).filter(is_name).map(last_component).collect()
}

fn last_component(path: &str) -> String {
    let (body, slash) = path.strip_suffix('/').map_or((path, ""), |body| (body, "/"));
    let name = body.rsplit('/').next().unwrap_or(body);
    format!("{name}{slash}")
}
