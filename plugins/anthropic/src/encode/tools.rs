//! Declarations of tools.

use airlock::provider::{Part, Request, ToolDecl};
use codec::ids::name;
use serde_json::{Map, Value, json};

/// The declarations, and those of the server's own tools that the options ask for. Where there are none although the conversation has calls,
/// the called tools stand in, since the server wants to know them.
pub fn of(request: &Request) -> Result<Vec<Value>, String> {
    let mut tools: Vec<Value> = request.tools.iter().map(declaration).collect::<Result<_, _>>()?;
    tools.extend(of_server(request));
    if tools.is_empty() {
        tools = called(request);
    }
    Ok(tools)
}

fn declaration(tool: &ToolDecl) -> Result<Value, String> {
    let bad = |why: &str| format!("The tool `{}` cannot be declared to this model: {why}", tool.name);
    if name(&tool.name) != tool.name {
        return Err(bad("its name must have 1 to 64 letters, digits, `_` and `-`"));
    }
    let input = schema::parameters(&tool.input_schema, &schema::ANTHROPIC)
        .map_err(|why| bad(&format!("its schema is {why}")))?;
    let mut out = Map::new();
    out.insert("name".into(), tool.name.as_str().into());
    if !tool.description.trim().is_empty() {
        out.insert("description".into(), tool.description.as_str().into());
    }
    out.insert("input_schema".into(), input.into());
    Ok(out.into())
}

fn of_server(request: &Request) -> Vec<Value> {
    let options: Value = request.options.as_deref().and_then(|o| serde_json::from_str(o).ok()).unwrap_or_default();
    options["server_tools"].as_array().cloned().unwrap_or_default()
}

fn called(request: &Request) -> Vec<Value> {
    let mut names: Vec<String> = Vec::new();
    for part in request.messages.iter().flat_map(|m| &m.parts) {
        if let Part::ToolCall(call) = part {
            let name = name(&call.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.iter().map(|name| json!({"name": name, "input_schema": {"type": "object"}})).collect()
}
