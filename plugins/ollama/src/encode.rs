//! From the neutral conversation to one request.

use airlock::provider::{Header, HttpRequest, Request, ToolChoice, ToolDecl};
use codec::files::schema_in_words;
use serde_json::{Map, Value, json};

mod messages;

/// Members of the options that stand in the body itself. All others are options of the model, such as `num_ctx`: without it the server
/// takes a small window and silently forgets the beginning of a longer conversation.
const OF_BODY: [&str; 3] = ["think", "keep_alive", "format"];
/// Members of the options that are the encoder's own.
const RESERVED: [&str; 4] = ["messages", "tools", "stream", "model"];

pub fn encode(request: &Request) -> Result<HttpRequest, String> {
    let given = options(request.options.as_deref())?;
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("stream".into(), true.into());
    body.extend(tools(request)?.map(|t| ("tools".to_owned(), t)));
    body.insert("messages".into(), messages::of(request, in_words(request))?.into());
    body.extend(format(request).map(|f| ("format".to_owned(), f)));
    let mut options = of_request(request);
    for (name, value) in given {
        let place = if OF_BODY.contains(&name.as_str()) { &mut body } else { &mut options };
        if value.is_null() { drop(place.shift_remove(&name)) } else { drop(place.insert(name, value)) }
    }
    if !options.is_empty() {
        body.insert("options".into(), options.into());
    }
    let body = serde_json::to_vec(&body).map_err(|e| format!("The request cannot be written: {e}"))?;
    Ok(HttpRequest { method: "POST".into(), url: url(&request.base_url)?, headers: headers(request), body })
}

/// Options as a flat list: what a config says under `options` is meant for the same place as what it says beside it.
fn options(text: Option<&str>) -> Result<Map<String, Value>, String> {
    let Some(text) = text else { return Ok(Map::new()) };
    let mut options: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("The provider's options are no JSON object: {e}"))?;
    if let Some(name) = RESERVED.iter().find(|name| options.contains_key(**name)) {
        return Err(format!("The provider's options must not set `{name}`"));
    }
    match options.shift_remove("options") {
        Some(Value::Object(more)) => options.extend(more),
        Some(_) => return Err("options.options is no object".into()),
        None => {}
    }
    Ok(options)
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
