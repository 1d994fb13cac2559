//! From the neutral conversation to one request.

use airlock::provider::{Header, Part, Request, ToolChoice, ToolDecl};
use codec::files::schema_in_words;
use codec::options::Nested;
use codec::{Answered, Frame, Protocol, Tail, Whole, options};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

mod messages;

/// Options of the model, such as `num_ctx`: without it the server takes a small window and silently forgets the beginning of a longer
/// conversation.
const OPTIONS: Nested<'_> = Nested { name: "options", of_body: &["think", "keep_alive", "format"] };
/// Members of the options that are the encoder's own.
const RESERVED: [&str; 4] = ["messages", "tools", "stream", "model"];

/// A conversation as this protocol has it.
pub struct Chat(Frame);

impl Protocol for Chat {
    type Item = Whole;
    const KEPT: usize = 0;

    fn new(request: &Request, out: &mut Tail<Whole>) -> Result<Self, String> {
        messages::system(request, in_words(request), out);
        let (head, foot) = (head(request)?, foot(request)?);
        Ok(Self(Frame { url: url(&request.base_url)?, headers: headers(request), head, foot }))
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        messages::user(said, out);
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        messages::assistant(said, out);
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        messages::results(answers, out);
    }

    fn frame(&self, _: &Tail<Whole>) -> Cow<'_, Frame> {
        Cow::Borrowed(&self.0)
    }
}

fn head(request: &Request) -> Result<Vec<u8>, String> {
    let mut head = Map::new();
    head.insert("model".into(), request.model.as_str().into());
    head.insert("stream".into(), true.into());
    head.extend(tools(request)?.map(|t| ("tools".to_owned(), t)));
    Ok(codec::frame::head(&head, "messages"))
}

fn foot(request: &Request) -> Result<Vec<u8>, String> {
    let mut foot = Map::new();
    foot.extend(format(request).map(|f| ("format".to_owned(), f)));
    let mut options = OPTIONS.of(request, &RESERVED)?;
    options::vary(&mut options, "", &request.model, |word| json!({"think": effort(&request.model, word)}))?;
    OPTIONS.put(options, &mut foot, of_request(request));
    Ok(codec::frame::foot(&foot))
}

/// A switch; one family of models knows words in its place (docs.ollama.com/capabilities/thinking).
fn effort(model: &str, word: &str) -> Value {
    match word {
        _ if !model.contains("gpt-oss") => (word != "none").into(),
        "none" | "minimal" => "low".into(),
        "low" | "medium" => word.into(),
        _ => "high".into(),
    }
}

fn of_request(request: &Request) -> Map<String, Value> {
    let limit = request.max_output_tokens.map(|n| ("num_predict".to_owned(), Value::from(n)));
    let temperature = request.temperature.filter(|t| t.is_finite()).map(|t| ("temperature".to_owned(), Value::from(t)));
    limit.into_iter().chain(temperature).collect()
}

/// The compatible endpoint lies beside this protocol, and a request must not leave the address that the user gave.
fn url(base: &str) -> Result<String, String> {
    let (path, query) = base.split_once('?').map_or((base, None), |(path, query)| (path, Some(query)));
    let path = path.trim_end_matches('/');
    if let Some(root) = path.strip_suffix("/v1") {
        return Err(format!(
            "Ollama's own protocol is not below {path}: set base_url to {root}, or take the adapter openai-chat"
        ));
    }
    let url = format!("{}/api/chat", path.strip_suffix("/api").unwrap_or(path));
    Ok(query.map_or(url.clone(), |query| format!("{url}?{query}")))
}

fn headers(request: &Request) -> Vec<Header> {
    let header = |name: &str, value: String| Header { name: name.into(), value };
    let mut headers =
        vec![header("content-type", "application/json".into()), header("accept", "application/x-ndjson".into())];
    headers
        .extend(request.secrets.first().map(|name| header("authorization", format!("Bearer {{{{secret:{name}}}}}"))));
    headers
}

/// A format binds every token: with it a model could call no tool. With tools the schema is asked for in words.
fn format(request: &Request) -> Option<Value> {
    let schema = request.response_schema.as_deref().filter(|_| request.tools.is_empty())?;
    serde_json::from_str(schema).ok()
}

fn in_words(request: &Request) -> Option<String> {
    request.response_schema.as_deref().filter(|_| !request.tools.is_empty()).map(schema_in_words)
}

/// The protocol has no choice of tools: what must not be called is not offered.
fn tools(request: &Request) -> Result<Option<Value>, String> {
    let is_offered = |tool: &&ToolDecl| match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::Required => true,
        ToolChoice::None => false,
        ToolChoice::Named(name) => tool.name == *name,
    };
    let tools: Vec<Value> = request.tools.iter().filter(is_offered).map(tool).collect::<Result<_, _>>()?;
    Ok((!tools.is_empty()).then(|| tools.into()))
}

fn tool(tool: &ToolDecl) -> Result<Value, String> {
    let parameters = schema::parameters(&tool.input_schema, &schema::OLLAMA)
        .map_err(|e| format!("The schema of the tool `{}` is {e}", tool.name))?;
    let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}
