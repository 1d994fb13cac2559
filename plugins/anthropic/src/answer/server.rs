//! Tools that the server ran itself. Their blocks have to go back as they came.

use airlock::provider::{ToolCall, ToolResult};
use serde_json::{Map, Value, json};

/// Characters of a result that are shown. The whole goes back to the server in the block itself.
const SHOWN: usize = 2000;

#[derive(Debug, Default)]
pub struct ServerCalls {
    open: Vec<Open>,
    given: usize,
}

#[derive(Debug)]
struct Open {
    at: Option<u64>,
    block: Value,
    input: String,
}

pub fn is_call(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use")
}

pub fn is_result(kind: &str) -> bool {
    kind.ends_with("_tool_result")
}

impl ServerCalls {
    pub fn start(&mut self, at: u64, block: &Value) {
        self.open.push(Open { at: Some(at), block: block.clone(), input: String::new() });
    }

    pub fn input(&mut self, at: u64, piece: &str) {
        if let Some(open) = self.open.iter_mut().find(|o| o.at == Some(at)) {
            open.input.push_str(piece);
        }
    }

    pub fn stop(&mut self, at: u64) {
        if let Some(open) = self.open.iter_mut().find(|o| o.at == Some(at)) {
            open.at = None;
        }
    }

    /// Calls that have no result yet.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Calls that were given out.
    pub fn given(&self) -> usize {
        self.given
    }

    /// The call that a result answers, with the result. One that was called before the turn paused stands alone.
    pub fn answered(&mut self, result: &Value) -> Option<(ToolCall, ToolResult)> {
        let id = result["tool_use_id"].as_str()?;
        let open = self.open.iter().position(|o| o.block["id"] == id).map(|at| self.open.remove(at));
        self.given += 1;
        let Some(open) = open else {
            let kind = result["type"].as_str().unwrap_or("");
            let name = kind.strip_suffix("_tool_result").unwrap_or(kind).to_owned();
            let opaque = Some(json!({"server": [result]}).to_string());
            let call = ToolCall { id: id.into(), name: name.clone(), input: "{}".into(), opaque };
            return Some((call, shown(name, result)));
        };
        let (block, input) = open.whole();
        let name = name_of(&block);
        let opaque = Some(json!({"server": [block, result]}).to_string());
        Some((ToolCall { id: id.into(), name: name.clone(), input, opaque }, shown(name, result)))
    }

    /// The calls that the server will answer once it is asked to go on.
    pub fn paused(&mut self) -> Vec<(ToolCall, ToolResult)> {
        let open = std::mem::take(&mut self.open);
        self.given += open.len();
        open.into_iter().map(Open::paused).collect()
    }
}

impl Open {
    fn whole(mut self) -> (Value, String) {
        if let Ok(input) = serde_json::from_str::<Map<String, Value>>(&self.input) {
            self.block["input"] = input.into();
        }
        let input = self.block["input"].as_object().map_or("{}".into(), |_| self.block["input"].to_string());
        (self.block, input)
    }

    fn paused(self) -> (ToolCall, ToolResult) {
        let (block, input) = self.whole();
        let (id, name) = (block["id"].as_str().unwrap_or("").to_owned(), name_of(&block));
        let opaque = Some(json!({"server": [block]}).to_string());
        let text = "(still running at the service)".into();
        let result =
            ToolResult { call_id: String::new(), name: name.clone(), text, is_error: false, files: Vec::new() };
        (ToolCall { id, name, input, opaque }, result)
    }
}

fn name_of(block: &Value) -> String {
    block["name"].as_str().unwrap_or("server tool").to_owned()
}

fn shown(name: String, result: &Value) -> ToolResult {
    let content = &result["content"];
    let is_error = result["is_error"] == true || content["type"].as_str().is_some_and(|t| t.ends_with("_error"));
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(line).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    };
    let text = text.chars().take(SHOWN).collect();
    ToolResult { call_id: String::new(), name, text, is_error, files: Vec::new() }
}

/// A text, or what a search found.
fn line(part: &Value) -> Option<String> {
    let text = |key: &str| part[key].as_str();
    let found = || Some(format!("{} {}", text("title")?, text("url")?));
    text("text").map(str::to_owned).or_else(found)
}
