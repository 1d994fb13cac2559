//! From the neutral conversation to one request.
//!
//! What stays the same from step to step comes first in the body, the contents in order after it: a server that caches by prefix finds the
//! longest one.

use crate::traits::{is_third, thinks};
use airlock::provider::{Header, Part, Request, ToolChoice, ToolDecl};
use codec::options::Nested;
use codec::{Answered, Frame, Protocol, Room, Said, Tail, options};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod contents;

/// Settings of the generation.
const OPTIONS: Nested<'_> =
    Nested { name: "generationConfig", of_body: &["safetySettings", "toolConfig", "cachedContent", "labels"] };
/// Members of the options that are the encoder's own.
const RESERVED: [&str; 3] = ["contents", "systemInstruction", "tools"];

/// A conversation as this protocol has it.
pub struct Contents {
    frame: Frame,
    /// Of the third generation of models.
    third: bool,
}

impl Protocol for Contents {
    type Item = Said<()>;
    const KEPT: usize = 1;
    /// Bytes of inline data, so that a request stays below 20 MB (ai.google.dev/gemini-api/docs/files).
    const ROOM: Room = Room { most: 3000, bytes: 14 << 20 };

    fn new(request: &Request, _: &mut Tail<Said<()>>) -> Result<Self, String> {
        let (head, foot) = (head(request)?, foot(request)?);
        let frame = Frame { url: url(request)?, headers: headers(request), head, foot };
        Ok(Self { frame, third: is_third(&request.model) })
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Said<()>>) {
        contents::user(said, out);
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Said<()>>) {
        contents::assistant(said, self.third, out);
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Said<()>>) {
        contents::answers(answers, self.third, out);
    }

    fn end(&self, out: &mut Tail<Said<()>>) -> Result<(), String> {
        contents::end(out)
    }

    fn frame(&self, _: &Tail<Said<()>>) -> Cow<'_, Frame> {
        Cow::Borrowed(&self.frame)
    }
}

fn head(request: &Request) -> Result<Vec<u8>, String> {
    let mut head = Map::new();
    head.extend(system(request).map(|s| ("systemInstruction".to_owned(), s)));
    head.extend(tools(&request.tools)?.map(|t| ("tools".to_owned(), t)));
    Ok(codec::frame::head(&head, "contents"))
}

fn foot(request: &Request) -> Result<Vec<u8>, String> {
    let mut foot = Map::new();
    foot.extend(choice(request).map(|c| ("toolConfig".to_owned(), c)));
    let mut options = OPTIONS.of(request, &RESERVED)?;
    let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
    options::vary(&mut options, crate::MODELS, model, |word| effort(model, word))?;
    OPTIONS.put(options, &mut foot, generation(request));
    Ok(codec::frame::foot(&foot))
}

/// A base URL may name the version itself, as gateways and other services do.
fn url(request: &Request) -> Result<String, String> {
    let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/@:".contains(c);
    if model.is_empty() || !model.chars().all(plain) || model.contains("..") {
        return Err(format!("`{}` cannot be the name of a model in an address", request.model));
    }
    let (path, query) = request.base_url.split_once('?').unwrap_or((&request.base_url, ""));
    let path = path.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or("");
    let has_version = last.strip_prefix('v').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
    let version = if has_version { "" } else { "/v1beta" };
    let collection = if model.contains('/') { "" } else { "models/" };
    let and = if query.is_empty() { "" } else { "&" };
    Ok(format!("{path}{version}/{collection}{model}:streamGenerateContent?alt=sse{and}{query}"))
}

fn headers(request: &Request) -> Vec<Header> {
    let header = |name: &str, value: String| Header { name: name.into(), value };
    let mut headers =
        vec![header("content-type", "application/json".into()), header("accept", "text/event-stream".into())];
    headers.extend(request.secrets.first().map(|name| header("x-goog-api-key", format!("{{{{secret:{name}}}}}"))));
    headers
}

fn system(request: &Request) -> Option<Value> {
    let schema = request.response_schema.as_deref().filter(|_| !takes_schema(request));
    let asked = schema.map(codec::files::schema_in_words);
    let texts = request.system.iter().map(String::as_str).chain(asked.as_deref());
    let parts: Vec<Value> = texts.filter(|t| !t.is_empty()).map(|t| json!({"text": t})).collect();
    (!parts.is_empty()).then(|| json!({"parts": parts}))
}

/// Before the third generation an answer in JSON and tools exclude each other: the schema is asked for in words then.
fn takes_schema(request: &Request) -> bool {
    request.tools.is_empty() || is_third(&request.model)
}

fn tools(tools: &[ToolDecl]) -> Result<Option<Value>, String> {
    let declarations: Vec<Value> = tools.iter().map(declaration).collect::<Result<_, _>>()?;
    Ok((!declarations.is_empty()).then(|| json!([{"functionDeclarations": declarations}])))
}

/// A tool without parameters has no schema: one without properties is an error for some versions.
fn declaration(tool: &ToolDecl) -> Result<Value, String> {
    let parameters = schema::parameters(&tool.input_schema, &schema::GEMINI)
        .map_err(|e| format!("The schema of the tool `{}` is {e}", tool.name))?;
    let mut declaration = Map::new();
    declaration.insert("name".into(), tool.name.as_str().into());
    declaration.insert("description".into(), tool.description.as_str().into());
    if parameters["properties"].as_object().is_some_and(|p| !p.is_empty()) {
        declaration.insert("parameters".into(), parameters.into());
    }
    Ok(declaration.into())
}

fn choice(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return None;
    }
    let config = match &request.tool_choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    Some(json!({"functionCallingConfig": config}))
}

fn generation(request: &Request) -> Map<String, Value> {
    let mut config = Map::new();
    let mut set = |name: &str, value: Option<Value>| config.extend(value.map(|v| (name.to_owned(), v)));
    set("maxOutputTokens", request.max_output_tokens.map(Value::from));
    set("temperature", request.temperature.filter(|t| t.is_finite()).map(Value::from));
    set("thinkingConfig", thinking(&request.model));
    if let Some(schema) = request.response_schema.as_deref().filter(|_| takes_schema(request)) {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        set("responseMimeType", Some("application/json".into()));
        set("responseSchema", Some(schema::reduce(&schema, &schema::GEMINI)));
    }
    config
}

/// For a model that the catalogue does not know: a level from the third generation on, a number of tokens before it
/// (ai.google.dev/gemini-api/docs/thinking).
fn effort(model: &str, word: &str) -> Value {
    let level = match word {
        "none" | "minimal" => "minimal",
        "low" | "medium" => word,
        _ => "high",
    };
    let budget = match word {
        "none" => 0,
        "minimal" => 512,
        "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    match (thinks(model), is_third(model)) {
        (false, _) => json!({}),
        (true, true) => json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": level}}),
        (true, false) => json!({"thinkingConfig": {"includeThoughts": true, "thinkingBudget": budget}}),
    }
}

fn thinking(model: &str) -> Option<Value> {
    match (thinks(model), is_third(model)) {
        (false, _) => None,
        (true, false) => Some(json!({"includeThoughts": true})),
        (true, true) => Some(json!({"includeThoughts": true, "thinkingLevel": "high"})),
    }
}
