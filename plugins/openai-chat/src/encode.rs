//! From the neutral conversation to one request.
//!
//! What stays the same from step to step comes first in the body, messages in order after it, so that a server that caches by prefix
//! finds the longest one.

use crate::dialect::{Auth, Dialect, Limit, Parameters, Schema, Thinking};
use airlock::provider::{Header, Part, Request, ToolChoice, ToolDecl};
use codec::openai::is_reasoning_model;
use codec::{Answered, Frame, Protocol, Room, Tail, Whole, options};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod ids;
mod messages;

/// Members of the options that are the encoder's own.
const RESERVED: [&str; 4] = ["messages", "tools", "stream", "model"];

/// A conversation as this protocol has it.
pub struct Chat {
    frame: Frame,
    messages: messages::Writer,
}

impl Protocol for Chat {
    type Item = Whole;
    const KEPT: usize = 1;
    /// Images and bytes of a request at OpenAI's (platform.openai.com/docs/guides/images-vision). Other servers take less or more.
    const ROOM: Room = Room { most: 500, bytes: 40 << 20 };

    fn new(request: &Request, out: &mut Tail<Whole>) -> Result<Self, String> {
        let (dialect, options) = options(request)?;
        let tools = request.tools.iter().map(|t| Tool::new(t, dialect.parameters)).collect::<Result<_, _>>()?;
        let body = Body { request, dialect, tools, options };
        let (head, foot) = (codec::frame::head(&body, "messages"), codec::frame::foot(&body.of_step()));
        messages::system(&request.system, out);
        Ok(Self {
            frame: Frame { url: url(&request.base_url), headers: headers(request, dialect), head, foot },
            messages: messages::Writer::new(dialect, &request.tools),
        })
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        self.messages.user(said, out);
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        self.messages.assistant(said, out);
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        self.messages.answers(answers, out);
    }

    fn frame(&self, _: &Tail<Whole>) -> Cow<'_, Frame> {
        Cow::Borrowed(&self.frame)
    }
}

/// A base URL may carry a query, such as Azure's version.
fn url(base: &str) -> String {
    let (path, query) = base.split_once('?').map_or((base, None), |(path, query)| (path, Some(query)));
    let url = format!("{}/chat/completions", path.trim_end_matches('/'));
    query.map_or(url.clone(), |query| format!("{url}?{query}"))
}

fn headers(request: &Request, dialect: Dialect) -> Vec<Header> {
    let header = |name: &str, value: String| Header { name: name.into(), value };
    let mut headers =
        vec![header("content-type", "application/json".into()), header("accept", "text/event-stream".into())];
    if let Some(name) = request.secrets.first() {
        headers.push(match dialect.auth {
            Auth::Bearer => header("authorization", format!("Bearer {{{{secret:{name}}}}}")),
            Auth::ApiKey => header("api-key", format!("{{{{secret:{name}}}}}")),
        });
    }
    headers
}

/// The dialect, and the options that go into the body as they are.
fn options(request: &Request) -> Result<(Dialect, Map<String, Value>), String> {
    let dialect = Dialect::of(&request.base_url);
    let mut options = options::of(request, &RESERVED)?;
    let dialect = options.shift_remove("dialect").map_or(Ok(dialect), |given| dialect.with(&given))?;
    Ok((dialect, options))
}

struct Body<'a> {
    request: &'a Request,
    dialect: Dialect,
    tools: Vec<Tool<'a>>,
    /// Each takes the place of the member of its name; null takes it away.
    options: Map<String, Value>,
}

/// The members before the messages.
impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.request.model)?;
        map.serialize_entry("stream", &true)?;
        for (name, value) in self.stable() {
            map.serialize_entry(&name, &value)?;
        }
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        map.end()
    }
}

impl Body<'_> {
    /// What all steps of a session share.
    fn stable(&self) -> Map<String, Value> {
        let mut members = Map::new();
        if self.dialect.stream_options {
            members.insert("stream_options".into(), json!({"include_usage": true}));
        }
        if self.dialect.store {
            members.insert("store".into(), false.into());
        }
        if self.dialect.cache_key && !self.request.session_id.is_empty() {
            members.insert("prompt_cache_key".into(), self.request.session_id.as_str().into());
        }
        members.extend(self.thinking().map(|(name, value)| (name.to_owned(), value)));
        members.retain(|name, _| !self.options.contains_key(name));
        members.extend(self.options.clone().into_iter().filter(|(_, value)| !value.is_null()));
        members
    }

    /// What may differ from step to step.
    fn of_step(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let mut set = |name: &str, value: Option<Value>| members.extend(value.map(|v| (name.to_owned(), v)));
        set("tool_choice", self.tool_choice());
        set("response_format", self.response_format());
        set(self.limit_name(), self.request.max_output_tokens.map(Value::from));
        set("temperature", self.temperature().map(Value::from));
        members.retain(|name, _| !self.options.contains_key(name));
        members
    }

    fn thinking(&self) -> Option<(&'static str, Value)> {
        match self.dialect.thinking {
            Thinking::AsIs => None,
            Thinking::Zai => Some(("thinking", json!({"type": "enabled", "clear_thinking": false}))),
            Thinking::Alibaba => self.request.model.contains("-thinking").then(|| ("enable_thinking", true.into())),
        }
    }

    fn limit_name(&self) -> &'static str {
        match self.dialect.max_tokens {
            Limit::Common => "max_tokens",
            Limit::Completion => "max_completion_tokens",
            Limit::ByModel if is_reasoning_model(&self.request.model) => "max_completion_tokens",
            Limit::ByModel => "max_tokens",
        }
    }

    fn temperature(&self) -> Option<f64> {
        let refused = self.dialect.fixed_temperature && is_reasoning_model(&self.request.model);
        self.request.temperature.filter(|t| !refused && t.is_finite())
    }

    /// The field without tools is an error for some servers.
    fn tool_choice(&self) -> Option<Value> {
        if self.tools.is_empty() {
            return None;
        }
        match &self.request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some("none".into()),
            ToolChoice::Required => Some("required".into()),
            ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
        }
    }

    fn response_format(&self) -> Option<Value> {
        let schema = self.request.response_schema.as_deref()?;
        Some(match self.dialect.schema {
            Schema::JsonObject => json!({"type": "json_object"}),
            Schema::JsonSchema => {
                let schema: Value = serde_json::from_str(schema).unwrap_or_default();
                json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}})
            }
        })
    }
}

/// A declaration. The schema is passed on byte by byte.
#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolDecl, allowed: Parameters) -> Result<Self, String> {
        let parameters = parameters(&tool.input_schema, allowed)
            .map_err(|e| format!("The schema of the tool `{}` is {e}", tool.name))?;
        Ok(Self {
            kind: "function",
            function: Function { name: &tool.name, description: &tool.description, parameters },
        })
    }
}

/// Parameters are an object, even where there are none: OpenAI refuses a schema that does not say so.
fn parameters(schema: &str, allowed: Parameters) -> Result<Box<RawValue>, String> {
    if let Some(rules) = allowed.rules() {
        let reduced = schema::parameters(schema, rules)?;
        return serde_json::value::to_raw_value(&reduced).map_err(|e| e.to_string());
    }
    let mut parsed: Map<String, Value> = serde_json::from_str(schema).map_err(|e| format!("no JSON object: {e}"))?;
    if parsed.contains_key("type") {
        return RawValue::from_string(schema.trim().into()).map_err(|e| e.to_string());
    }
    parsed.insert("type".into(), "object".into());
    parsed.entry("properties").or_insert_with(|| json!({}));
    serde_json::value::to_raw_value(&parsed).map_err(|e| e.to_string())
}
