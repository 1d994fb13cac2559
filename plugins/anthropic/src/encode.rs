//! From the neutral conversation to one request.

use crate::traits::{Thinking, Traits};
use airlock::provider::{Header, Part, Request, ToolChoice};
use codec::{Answered, Frame, Protocol, Room, Said, Tail, options};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod cache;
mod closed;
mod media;
mod messages;
mod tools;

pub use messages::Kind;

/// Members of the options that are the encoder's own.
const RESERVED: [&str; 5] = ["messages", "tools", "stream", "model", "system"];
/// Tokens of an answer where neither the request nor the catalogue says how many.
const ANSWER: u32 = 8192;
/// The version of the protocol.
const VERSION: &str = "2023-06-01";

/// A conversation as this protocol has it.
pub struct Messages {
    url: String,
    headers: Vec<Header>,
    body: Body,
    messages: messages::Writer,
    tools: tools::Tools,
}

impl Protocol for Messages {
    type Item = Said<Kind>;
    /// Two messages carry a mark.
    const KEPT: usize = cache::MESSAGES;
    const ROOM: Room = media::ROOM;

    fn new(request: &Request, _: &mut Tail<Said<Kind>>) -> Result<Self, String> {
        let mut options = options::of(request, &RESERVED)?;
        options::vary(&mut options, crate::MODELS, &request.model, effort)?;
        let betas = options.shift_remove("betas");
        let mut tools = tools::Tools::of(request, &options)?;
        let body = Body::new(request, options, &mut tools);
        let headers = headers(request, betas.as_ref());
        Ok(Self { url: url(&request.base_url), headers, body, messages: messages::Writer::default(), tools })
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Said<Kind>>) {
        messages::user(said, out);
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Said<Kind>>) {
        self.tools.called(said);
        self.messages.assistant(said, out);
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Said<Kind>>) {
        self.messages.answers(answers, out);
    }

    fn end(&self, out: &mut Tail<Said<Kind>>) -> Result<(), String> {
        messages::end(out);
        cache::mark_messages(out);
        Ok(())
    }

    fn frame(&self, end: &Tail<Said<Kind>>) -> Cow<'_, Frame> {
        let head = self.body.head(messages::is_mid_thoughtless_turn(end), self.tools.declared());
        let (url, headers) = (self.url.clone(), self.headers.clone());
        let (head, foot) = (codec::frame::head(&head, "messages"), codec::frame::foot(&Map::new()));
        Cow::Owned(Frame { url, headers, head, foot })
    }
}

/// For a model that the catalogue does not know: a budget is what all servers of this protocol understand.
fn effort(word: &str) -> Value {
    let budget = match word {
        "none" => return json!({"thinking": {"type": "disabled"}}),
        "minimal" => 1024,
        "low" => 4000,
        "medium" => 10_000,
        "high" => 16_000,
        _ => 31_999,
    };
    json!({"thinking": {"type": "enabled", "budget_tokens": budget}})
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

/// All of a body but its messages, which have a word in whether the model may think.
struct Body {
    model: String,
    traits: Traits,
    asked_tokens: u32,
    asked_temperature: Option<f64>,
    /// Tools of the request itself, not of the server.
    has_tools: bool,
    choice: ToolChoice,
    system: Vec<Value>,
    output_config: Option<Value>,
    /// Each takes the place of the member of its name; null takes it away.
    options: Map<String, Value>,
}

impl Body {
    fn new(request: &Request, options: Map<String, Value>, tools: &mut tools::Tools) -> Self {
        let traits = Traits::of(&request.model);
        let mut system = system(request, traits);
        cache::mark_prefix(tools, &mut system);
        let known = || crate::limit(&request.model).unwrap_or(ANSWER);
        Self {
            model: request.model.clone(),
            traits,
            asked_tokens: request.max_output_tokens.filter(|n| *n > 0).unwrap_or_else(known),
            asked_temperature: request.temperature,
            has_tools: !request.tools.is_empty(),
            choice: request.tool_choice.clone(),
            system,
            output_config: output_config(request, traits, &options),
            options,
        }
    }

    fn head(&self, is_mid_thoughtless_turn: bool, tools: Cow<'_, [Value]>) -> Map<String, Value> {
        let thinking = self.thinking(is_mid_thoughtless_turn);
        let mut body = Map::new();
        body.insert("model".into(), self.model.as_str().into());
        body.insert("stream".into(), true.into());
        body.insert("max_tokens".into(), self.max_tokens(thinking.as_ref()).into());
        let mut set = |name: &str, value: Option<Value>| body.extend(value.map(|v| (name.to_owned(), v)));
        let is_thinking = self.is_thinking(thinking.as_ref());
        set("temperature", self.temperature(is_thinking));
        set("thinking", thinking);
        set("output_config", self.output_config.clone());
        set("tool_choice", self.tool_choice(!tools.is_empty()));
        set("tools", (!tools.is_empty()).then(|| tools.into_owned().into()));
        set("system", (!self.system.is_empty()).then(|| self.system.clone().into()));
        self.add_options(&mut body);
        body
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

    /// A thinking budget is part of the answer.
    fn max_tokens(&self, thinking: Option<&Value>) -> u64 {
        let asked = u64::from(self.asked_tokens);
        let budget = thinking.and_then(|t| t["budget_tokens"].as_u64()).unwrap_or(0);
        if asked > budget { asked } else { budget + asked }
    }

    /// Models that think do so in words that can be shown, unless the options want it otherwise.
    fn thinking(&self, is_mid_thoughtless_turn: bool) -> Option<Value> {
        let asked = self.options.get("thinking").filter(|v| !v.is_null());
        let wanted = asked.cloned().or_else(|| self.default_thinking());
        if wanted.as_ref().is_some_and(|w| w["type"] == "enabled") && is_mid_thoughtless_turn {
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
        let is_forced = matches!(self.choice, ToolChoice::Required | ToolChoice::Named(_));
        self.traits.forced_tools && self.has_tools && is_forced
    }

    fn temperature(&self, is_thinking: bool) -> Option<Value> {
        let asked = self.asked_temperature.filter(|t| t.is_finite() && self.traits.sampling && !is_thinking)?;
        Some(asked.clamp(0.0, 1.0).into())
    }

    fn tool_choice(&self, declares_any: bool) -> Option<Value> {
        if !declares_any {
            return None;
        }
        let forced = self.forces_tool();
        Some(match &self.choice {
            _ if !self.has_tools && !self.options.contains_key("server_tools") => json!({"type": "none"}),
            ToolChoice::None => json!({"type": "none"}),
            ToolChoice::Required if forced => json!({"type": "any"}),
            ToolChoice::Named(name) if forced => json!({"type": "tool", "name": name}),
            _ => return None,
        })
    }
}

fn system(request: &Request, traits: Traits) -> Vec<Value> {
    let mut blocks: Vec<Value> = request.system.iter().filter(|t| !t.trim().is_empty()).map(text).collect();
    blocks.extend(format_in_words(request, traits).map(text));
    blocks
}

fn output_config(request: &Request, traits: Traits, options: &Map<String, Value>) -> Option<Value> {
    let mut config = options.get("output_config").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(schema) = request.response_schema.as_deref().filter(|_| traits.formats) {
        let schema = closed::schema(serde_json::from_str(schema).unwrap_or_default());
        config.insert("format".into(), json!({"type": "json_schema", "schema": schema}));
    }
    (!config.is_empty()).then(|| config.into())
}

/// For models that cannot be held to a schema.
fn format_in_words(request: &Request, traits: Traits) -> Option<String> {
    let schema = request.response_schema.as_deref().filter(|_| !traits.formats)?;
    Some(format!("Answer with one JSON value and nothing else. It must match this JSON Schema:\n{schema}"))
}

fn text(text: impl AsRef<str>) -> Value {
    json!({"type": "text", "text": text.as_ref()})
}
