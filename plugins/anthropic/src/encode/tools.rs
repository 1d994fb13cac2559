//! Declarations of tools.

use airlock::provider::{Part, Request, ToolDecl};
use codec::ids::name;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The declarations, and those of the server's own tools that the options ask for. Where there are none although the conversation has calls,
/// the called tools stand in, since the server wants to know them.
pub struct Tools {
    declared: Vec<Value>,
    /// Names of tools that were called although none is declared.
    called: Vec<String>,
}

impl Tools {
    pub fn of(request: &Request, options: &Map<String, Value>) -> Result<Self, String> {
        let mut declared: Vec<Value> = request.tools.iter().map(declaration).collect::<Result<_, _>>()?;
        declared.extend(options.get("server_tools").and_then(Value::as_array).into_iter().flatten().cloned());
        Ok(Self { declared, called: Vec::new() })
    }

    pub fn last_mut(&mut self) -> Option<&mut Value> {
        self.declared.last_mut()
    }

    /// Tells of the calls of a turn.
    pub fn called(&mut self, said: &[Part]) {
        if !self.declared.is_empty() {
            return;
        }
        for part in said {
            if let Part::ToolCall(call) = part {
                let name = name(&call.name);
                if !self.called.contains(&name) {
                    self.called.push(name);
                }
            }
        }
    }

    pub fn declared(&self) -> Cow<'_, [Value]> {
        let stands_in = |name: &String| json!({"name": name, "input_schema": {"type": "object"}});
        match (self.declared.is_empty(), self.called.is_empty()) {
            (true, false) => self.called.iter().map(stands_in).collect(),
            _ => Cow::Borrowed(&self.declared),
        }
    }
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
