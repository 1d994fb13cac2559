//! From the neutral conversation to one request.

use airlock::provider::{Header, Part, Request, ToolChoice, ToolDecl};
use codec::openai::is_reasoning_model;
use codec::{Answered, Frame, Protocol, Room, Tail, Whole, host, ids, options};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod input;
mod media;

/// Members of the options that are the encoder's own.
const RESERVED: [&str; 5] = ["input", "instructions", "tools", "stream", "model"];
/// The shortest limit of an answer that the server takes.
const SHORTEST: u32 = 16;

/// A conversation as this protocol has it.
pub struct Responses {
    frame: Frame,
    input: input::Writer,
}

impl Protocol for Responses {
    type Item = Whole;
    const KEPT: usize = 0;
    const ROOM: Room = media::ROOM;

    fn new(request: &Request, _: &mut Tail<Whole>) -> Result<Self, String> {
        let place = Place::of(&request.base_url);
        let mut options = options::of(request, &RESERVED)?;
        let effort = |word: &str| json!({"reasoning": {"effort": word}});
        options::vary(&mut options, crate::MODELS, &request.model, effort)?;
        let body = Body { request, place, options }.head()?;
        let (head, foot) = (codec::frame::head(&body, "input"), codec::frame::foot(&Map::new()));
        let frame = Frame { url: url(&request.base_url), headers: headers(request), head, foot };
        Ok(Self { frame, input: input::Writer::default() })
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        input::user(said, out);
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        self.input.assistant(said, out);
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        self.input.answers(answers, out);
    }

    fn end(&self, out: &mut Tail<Whole>) -> Result<(), String> {
        input::end(out);
        Ok(())
    }

    fn frame(&self, _: &Tail<Whole>) -> Cow<'_, Frame> {
        Cow::Borrowed(&self.frame)
    }
}

/// Whose server it is, as far as that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    OpenAi,
    Azure,
    Other,
}

impl Place {
    fn of(base_url: &str) -> Self {
        let host = host::of(base_url);
        let azure = ["openai.azure.com", "services.ai.azure.com"];
        match host.as_str() {
            "api.openai.com" => Self::OpenAi,
            _ if azure.iter().any(|name| host::is_in(&host, name)) => Self::Azure,
            _ => Self::Other,
        }
    }
}

/// A base URL may carry a query, such as Azure's version.
fn url(base: &str) -> String {
    let (path, query) = base.split_once('?').map_or((base, None), |(path, query)| (path, Some(query)));
    let url = format!("{}/responses", path.trim_end_matches('/'));
    query.map_or(url.clone(), |query| format!("{url}?{query}"))
}

fn headers(request: &Request) -> Vec<Header> {
    let header = |name: &str, value: String| Header { name: name.into(), value };
    let mut headers =
        vec![header("content-type", "application/json".into()), header("accept", "text/event-stream".into())];
    if let Some(name) = request.secrets.first() {
        headers.push(match Place::of(&request.base_url) {
            Place::Azure => header("api-key", format!("{{{{secret:{name}}}}}")),
            _ => header("authorization", format!("Bearer {{{{secret:{name}}}}}")),
        });
    }
    headers
}

struct Body<'a> {
    request: &'a Request,
    place: Place,
    /// Each takes the place of the member of its name; null takes it away.
    options: Map<String, Value>,
}

impl Body<'_> {
    /// What stays the same from step to step comes first.
    fn head(&self) -> Result<Map<String, Value>, String> {
        let request = self.request;
        let tools = self.tools()?;
        let mut body = Map::new();
        let mut set = |name: &str, value: Option<Value>| body.extend(value.map(|v| (name.to_owned(), v)));
        set("model", Some(request.model.as_str().into()));
        set("stream", Some(true.into()));
        set("store", Some(false.into()));
        set("prompt_cache_key", (!request.session_id.is_empty()).then(|| request.session_id.as_str().into()));
        set("include", self.include());
        set("tool_choice", self.tool_choice(!tools.is_empty()));
        set("text", self.text());
        set("max_output_tokens", request.max_output_tokens.filter(|n| *n > 0).map(|n| n.max(SHORTEST).into()));
        set("temperature", self.temperature().map(Value::from));
        self.add_options(&mut body);
        body.extend(self.instructions().map(|text| ("instructions".to_owned(), text.into())));
        if !tools.is_empty() {
            body.insert("tools".into(), tools.into());
        }
        Ok(body)
    }

    fn add_options(&self, body: &mut Map<String, Value>) {
        for (name, value) in &self.options {
            match name.as_str() {
                // Seen to above, each with what the request says.
                "text" | "server_tools" => {}
                _ if value.is_null() => drop(body.shift_remove(name)),
                _ => drop(body.insert(name.clone(), value.clone())),
            }
        }
    }

    /// Thoughts come encrypted, so that they can go back: without them some models think no more after a few calls. OpenAI refuses the
    /// wish for a model that does not think.
    fn include(&self) -> Option<Value> {
        let refused = self.place != Place::Other && !is_reasoning_model(&self.request.model);
        (!refused).then(|| json!(["reasoning.encrypted_content"]))
    }

    fn instructions(&self) -> Option<String> {
        let blocks: Vec<&str> =
            self.request.system.iter().map(String::as_str).filter(|t| !t.trim().is_empty()).collect();
        (!blocks.is_empty()).then(|| blocks.join("\n\n"))
    }

    fn temperature(&self) -> Option<f64> {
        let refused = self.place != Place::Other && is_reasoning_model(&self.request.model);
        self.request.temperature.filter(|t| !refused && t.is_finite())
    }

    fn tools(&self) -> Result<Vec<Value>, String> {
        let mut tools: Vec<Value> = self.request.tools.iter().map(declaration).collect::<Result<_, _>>()?;
        tools.extend(self.options.get("server_tools").and_then(Value::as_array).into_iter().flatten().cloned());
        Ok(tools)
    }

    fn tool_choice(&self, has_tools: bool) -> Option<Value> {
        match &self.request.tool_choice {
            _ if !has_tools => None,
            ToolChoice::Auto => None,
            ToolChoice::None => Some("none".into()),
            ToolChoice::Required => Some("required".into()),
            ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
        }
    }

    /// The shape of the answer, beside what the options say of its text.
    fn text(&self) -> Option<Value> {
        let mut text = self.options.get("text").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(schema) = &self.request.response_schema {
            let schema: Value = serde_json::from_str(schema).unwrap_or_default();
            text.insert(
                "format".into(),
                json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false}),
            );
        }
        (!text.is_empty()).then(|| text.into())
    }
}

fn declaration(tool: &ToolDecl) -> Result<Value, String> {
    let bad = |why: &str| format!("The tool `{}` cannot be declared to this model: {why}", tool.name);
    if ids::name(&tool.name) != tool.name {
        return Err(bad("its name must have 1 to 64 letters, digits, `_` and `-`"));
    }
    let parameters =
        schema::parameters(&tool.input_schema, &schema::OPENAI).map_err(|why| bad(&format!("its schema is {why}")))?;
    Ok(json!({
        "type": "function", "name": tool.name, "description": tool.description, "parameters": parameters, "strict": false,
    }))
}
