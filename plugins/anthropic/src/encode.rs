//! From the neutral conversation to one request.

use crate::traits::{Thinking, Traits};
use airlock::provider::{Header, HttpRequest, Request, ToolChoice};
use serde_json::{Map, Value, json};

mod cache;
mod closed;
mod media;
mod messages;
mod tools;

/// Members of the options that are the encoder's own.
const RESERVED: [&str; 5] = ["messages", "tools", "stream", "model", "system"];
/// Tokens of an answer where neither the request nor the catalogue says how many.
const ANSWER: u32 = 8192;
/// The version of the protocol.
const VERSION: &str = "2023-06-01";

pub fn encode(request: &Request) -> Result<HttpRequest, String> {
    let mut options = options(request)?;
    let betas = options.shift_remove("betas");
    let body = Body { request, traits: Traits::of(&request.model), options }.build()?;
    let body = serde_json::to_vec(&body).map_err(|e| format!("The request cannot be written: {e}"))?;
    Ok(HttpRequest {
        method: "POST".into(),
        url: url(&request.base_url),
        headers: headers(request, betas.as_ref()),
        body,
    })
}

/// With or without the version at the end of the base: both are in use.
fn url(base: &str) -> String {
    let (path, query) = base.split_once('?').map_or((base, None), |(path, query)| (path, Some(query)));
    let path = path.trim_end_matches('/');
    let url = if path.ends_with("/v1") { format!("{path}/messages") } else { format!("{path}/v1/messages") };
    query.map_or(url.clone(), |query| format!("{url}?{query}"))
}

fn headers(request: &Request, betas: Option<&Value>) -> Vec<Header> {
    let header = |name: &str, value: String| Header { name: name.into(), value };
    let mut headers = vec![
        header("content-type", "application/json".into()),
        header("accept", "text/event-stream".into()),
        header("anthropic-version", VERSION.into()),
    ];
    let betas: Vec<&str> = betas.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if !betas.is_empty() {
        headers.push(header("anthropic-beta", betas.join(",")));
    }
    headers.extend(request.secrets.first().map(|name| header("x-api-key", format!("{{{{secret:{name}}}}}"))));
    headers
}

fn options(request: &Request) -> Result<Map<String, Value>, String> {
    let Some(text) = &request.options else { return Ok(Map::new()) };
    let options: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("The provider's options are no JSON object: {e}"))?;
    match RESERVED.iter().find(|name| options.contains_key(**name)) {
        Some(name) => Err(format!("The provider's options must not set `{name}`")),
        None => Ok(options),
    }
}

struct Body<'a> {
    request: &'a Request,
    traits: Traits,
    /// Each takes the place of the member of its name; null takes it away.
    options: Map<String, Value>,
}

impl Body<'_> {
    fn build(&self) -> Result<Map<String, Value>, String> {
        let mut messages = messages::of(self.request)?;
        let mut tools = tools::of(self.request)?;
        let mut system = self.system();
        cache::mark(&mut tools, &mut system, &mut messages);
        let thinking = self.thinking(&messages);
        let mut body = Map::new();
        body.insert("model".into(), self.request.model.as_str().into());
        body.insert("stream".into(), true.into());
        body.insert("max_tokens".into(), self.max_tokens(thinking.as_ref()).into());
        let mut set = |name: &str, value: Option<Value>| body.extend(value.map(|v| (name.to_owned(), v)));
        let is_thinking = self.is_thinking(thinking.as_ref());
        set("temperature", self.temperature(is_thinking));
        set("thinking", thinking);
        set("output_config", self.output_config());
        set("tool_choice", self.tool_choice(!tools.is_empty()));
        set("tools", (!tools.is_empty()).then(|| tools.into()));
        set("system", (!system.is_empty()).then(|| system.into()));
        self.add_options(&mut body);
        body.insert("messages".into(), messages.into());
        Ok(body)
    }

    fn add_options(&self, body: &mut Map<String, Value>) {
        for (name, value) in &self.options {
            match name.as_str() {
                // Seen to above, each with what the request says.
                "thinking" | "output_config" | "server_tools" => {}
                _ if value.is_null() => drop(body.shift_remove(name)),
                _ => drop(body.insert(name.clone(), value.clone())),
            }
        }
    }

    fn system(&self) -> Vec<Value> {
        let mut blocks: Vec<Value> = self.request.system.iter().filter(|t| !t.trim().is_empty()).map(text).collect();
        blocks.extend(self.format_in_words().map(text));
        blocks
    }

    /// A thinking budget is part of the answer.
    fn max_tokens(&self, thinking: Option<&Value>) -> u64 {
        let known = || crate::Codec::limit(&self.request.model).unwrap_or(ANSWER);
        let asked = u64::from(self.request.max_output_tokens.filter(|n| *n > 0).unwrap_or_else(known));
        let budget = thinking.and_then(|t| t["budget_tokens"].as_u64()).unwrap_or(0);
        if asked > budget { asked } else { budget + asked }
    }

    /// Models that think do so in words that can be shown, unless the options want it otherwise.
    fn thinking(&self, messages: &[Value]) -> Option<Value> {
        let asked = self.options.get("thinking").filter(|v| !v.is_null());
        let wanted = asked.cloned().or_else(|| self.default_thinking());
        if wanted.as_ref().is_some_and(|w| w["type"] == "enabled") && messages::is_mid_thoughtless_turn(messages) {
            return None;
        }
        match (self.forces_tool(), self.traits.thinking) {
            (false, _) => wanted,
            (true, Thinking::ByDefault) => Some(json!({"type": "disabled"})),
            (true, _) => None,
        }
    }

    fn default_thinking(&self) -> Option<Value> {
        let thinks = matches!(self.traits.thinking, Thinking::ByDefault | Thinking::Always);
        thinks.then(|| json!({"type": "adaptive", "display": "summarized"}))
    }

    fn is_thinking(&self, thinking: Option<&Value>) -> bool {
        thinking.is_some_and(|t| t["type"] != "disabled") || self.traits.thinking == Thinking::Always
    }

    fn forces_tool(&self) -> bool {
        self.traits.forced_tools
            && !self.request.tools.is_empty()
            && matches!(self.request.tool_choice, ToolChoice::Required | ToolChoice::Named(_))
    }

    fn temperature(&self, is_thinking: bool) -> Option<Value> {
        let asked = self.request.temperature.filter(|t| t.is_finite() && self.traits.sampling && !is_thinking)?;
        Some(asked.clamp(0.0, 1.0).into())
    }

    fn tool_choice(&self, has_tools: bool) -> Option<Value> {
        if !has_tools {
            return None;
        }
        let forced = self.forces_tool();
        Some(match &self.request.tool_choice {
            _ if self.request.tools.is_empty() && !self.options.contains_key("server_tools") => json!({"type": "none"}),
            ToolChoice::None => json!({"type": "none"}),
            ToolChoice::Required if forced => json!({"type": "any"}),
            ToolChoice::Named(name) if forced => json!({"type": "tool", "name": name}),
            _ => return None,
        })
    }

    fn output_config(&self) -> Option<Value> {
        let mut config = self.options.get("output_config").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(schema) = self.request.response_schema.as_deref().filter(|_| self.traits.formats) {
            let schema = closed::schema(serde_json::from_str(schema).unwrap_or_default());
            config.insert("format".into(), json!({"type": "json_schema", "schema": schema}));
        }
        (!config.is_empty()).then(|| config.into())
    }

    /// For models that cannot be held to a schema.
    fn format_in_words(&self) -> Option<String> {
        let schema = self.request.response_schema.as_deref().filter(|_| !self.traits.formats)?;
        Some(format!("Answer with one JSON value and nothing else. It must match this JSON Schema:\n{schema}"))
    }
}

fn text(text: impl AsRef<str>) -> Value {
    json!({"type": "text", "text": text.as_ref()})
}
