//! From the neutral conversation to one request.
//!
//! What stays the same from step to step comes first in the body, messages in order after it, so that a server that caches by prefix
//! finds the longest one.

use crate::dialect::{Auth, Dialect, Limit, Parameters, Schema, Thinking};
use airlock::provider::{Conversation, Header, HttpRequest, Message, Request, ToolChoice, ToolDecl};
use codec::openai::is_reasoning_model;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

mod ids;
mod messages;

/// Members of the options that are the encoder's own.
const RESERVED: [&str; 4] = ["messages", "tools", "stream", "model"];

pub fn encode(request: &Request) -> Result<HttpRequest, String> {
    Growing::new(request.clone()).encode()
}

/// A conversation whose messages are written once, when they come.
pub struct Growing(Result<Written, String>);

struct Written {
    url: String,
    headers: Vec<Header>,
    /// The body up to its messages, and from their end on.
    head: Vec<u8>,
    foot: Vec<u8>,
    messages: messages::Writer,
}

impl Conversation for Growing {
    fn new(request: Request) -> Self {
        Self(Written::new(&request))
    }

    fn append(&mut self, messages: Vec<Message>) {
        // Once something could not be expressed, nothing after it can.
        if let Ok(written) = &mut self.0
            && let Err(why) = written.messages.add(&messages)
        {
            self.0 = Err(why);
        }
    }

    fn encode(&self) -> Result<HttpRequest, String> {
        let written = self.0.as_ref().map_err(Clone::clone)?;
        let body = [&written.head[..], written.messages.so_far(), &written.messages.end()?, &written.foot].concat();
        Ok(HttpRequest { method: "POST".into(), url: written.url.clone(), headers: written.headers.clone(), body })
    }
}

impl Written {
    fn new(request: &Request) -> Result<Self, String> {
        let (dialect, options) = options(request)?;
        let mut messages = messages::Writer::new(dialect);
        messages.system(&request.system)?;
        messages.add(&request.messages)?;
        let tools = request.tools.iter().map(|t| Tool::new(t, dialect.parameters)).collect::<Result<_, _>>()?;
        let body = Body { request, dialect, tools, options };
        Ok(Self {
            url: url(&request.base_url),
            headers: headers(request, dialect),
            head: body.head()?,
            foot: body.foot()?,
            messages,
        })
    }
}

fn json_of(value: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|e| format!("The request cannot be written: {e}"))
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
    let Some(text) = &request.options else { return Ok((dialect, Map::new())) };
    let mut options: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("The provider's options are no JSON object: {e}"))?;
    if let Some(name) = RESERVED.iter().find(|name| options.contains_key(**name)) {
        return Err(format!("The provider's options must not set `{name}`"));
    }
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
    fn head(&self) -> Result<Vec<u8>, String> {
        let mut head = json_of(self)?;
        // The object goes on.
        head.pop();
        head.extend_from_slice(br#","messages":["#);
        Ok(head)
    }

    fn foot(&self) -> Result<Vec<u8>, String> {
        let mut foot = b"]".to_vec();
        let members = self.of_step();
        if members.is_empty() {
            foot.push(b'}');
        } else {
            foot.push(b',');
            foot.extend_from_slice(&json_of(&members)?[1..]);
        }
        Ok(foot)
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
