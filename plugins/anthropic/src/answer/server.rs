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

    /// The call that a result answers, with the result.
    pub fn answered(&mut self, result: &Value) -> Option<(ToolCall, ToolResult)> {
        let id = result["tool_use_id"].as_str()?;
        let at = self.open.iter().position(|o| o.block["id"] == id)?;
        let mut open = self.open.remove(at);
        self.given += 1;
        let written = serde_json::from_str::<Map<String, Value>>(&open.input);
        if let Ok(input) = written {
            open.block["input"] = input.into();
        }
        let name = open.block["name"].as_str().unwrap_or("server tool").to_owned();
        let call = ToolCall {
            id: id.into(),
            name: name.clone(),
            input: open.block["input"].as_object().map_or("{}".into(), |_| open.block["input"].to_string()),
            opaque: Some(json!({"server": [open.block, result]}).to_string()),
        };
        Some((call, shown(name, result)))
    }
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
