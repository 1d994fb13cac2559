//! One record from elsewhere, as ours. Only what is missing or said otherwise is touched, so that what a later version adds stays.

use super::{Defaults, ImportError, parsed};
use model::id::{MessageId, PartId, SessionId};
use model::message::{Message, Part, WithParts};
use model::session::Session;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Object = Map<String, Value>;

/// A session record from whatever is said of it; `Null` = nothing is.
pub(super) fn adapt_info(info: Value, defaults: &Defaults) -> Result<Session, ImportError> {
    let mut info = match info {
        Value::Object(info) => info,
        Value::Null => Object::new(),
        other => return Err(ImportError::BadInfo(format!("it is no object but {other}"))),
    };
    info.retain(|_, v| !v.is_null());
    id(&mut info, "id", |t| SessionId::parse(t).is_some(), || SessionId::new().to_string());
    // Whose child it was is not here.
    info.remove("parentID");
    // Elsewhere it is a count of changes, and no words.
    if !info.get("summary").is_some_and(Value::is_string) {
        info.remove("summary");
    }
    let model = model_of(info.get("model"));
    info.insert("model".into(), model);
    let directory = json!(defaults.directory);
    fill(&mut info, "directory", || directory.clone());
    let directory = info["directory"].clone();
    fill(&mut info, "worktree", || directory);
    fill(&mut info, "title", || json!(""));
    fill(&mut info, "agent", || json!(defaults.agent));
    fill(&mut info, "version", || json!(defaults.version));
    fill(&mut info, "cost", || json!(0.0));
    tokens(&mut info);
    let created = info.get("time").and_then(|t| t.get("created")).and_then(Value::as_u64).unwrap_or(defaults.now);
    let updated = info.get("time").and_then(|t| t.get("updated")).and_then(Value::as_u64).unwrap_or(created);
    info.insert("time".into(), json!({ "created": created, "updated": updated }));
    parsed(Value::Object(info)).map_err(ImportError::BadInfo)
}

fn id(object: &mut Object, key: &str, fits: impl Fn(&str) -> bool, new: impl Fn() -> String) {
    if !object.get(key).and_then(Value::as_str).is_some_and(fits) {
        object.insert(key.into(), new().into());
    }
}

fn fill(object: &mut Object, key: &str, with: impl FnOnce() -> Value) {
    if object.get(key).is_none_or(Value::is_null) {
        object.insert(key.into(), with());
    }
}

fn model_of(said: Option<&Value>) -> Value {
    let text = |keys: [&str; 2]| {
        let found = keys.into_iter().find_map(|k| said?.get(k)?.as_str());
        found.unwrap_or("unknown").to_owned()
    };
    json!({ "providerID": text(["providerID", "providerId"]), "modelID": text(["modelID", "id"]) })
}

/// Counts that are missing are none.
fn tokens(object: &mut Object) {
    let said = object.get("tokens").cloned().unwrap_or_default();
    let n = |path: &str| said.pointer(path).and_then(Value::as_f64).map_or(0, |n| n.max(0.0) as u64);
    let tokens = json!({
        "input": n("/input"), "output": n("/output"), "reasoning": n("/reasoning"),
        "cache": { "read": n("/cache/read"), "write": n("/cache/write") },
    });
    object.insert("tokens".into(), tokens);
}

/// A message as one of `session`. Parts of unknown kinds are counted in `left_out`.
pub(super) fn adapt_message(
    value: Value,
    session: &Session,
    left_out: &mut BTreeMap<String, usize>,
) -> Result<WithParts, String> {
    let Value::Object(mut value) = value else { return Err("it is no object".into()) };
    let Some(Value::Object(info)) = value.remove("info") else { return Err("it has no `info`".into()) };
    let Some(Value::Array(parts)) = value.remove("parts") else { return Err("it has no list of `parts`".into()) };
    let info = info_of(info, session)?;
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        let Value::Object(part) = part else { return Err("a part is no object".into()) };
        match part_of(part, &info) {
            Ok(part) => kept.push(part),
            Err(kind) => *left_out.entry(kind).or_default() += 1,
        }
    }
    Ok(WithParts { info, parts: kept })
}

fn info_of(mut info: Object, session: &Session) -> Result<Message, String> {
    info.retain(|_, v| !v.is_null());
    id(&mut info, "id", |t| MessageId::parse(t).is_some(), || MessageId::new().to_string());
    info.insert("sessionID".into(), json!(session.id));
    fill(&mut info, "time", || json!({ "created": session.time.created }));
    let agent = info.get("mode").cloned().unwrap_or_else(|| json!(session.agent));
    fill(&mut info, "agent", || agent);
    match info.get("role").and_then(Value::as_str) {
        Some("user") => user(&mut info, session),
        Some("assistant") => assistant(&mut info, session),
        other => return Err(format!("its role is {other:?}")),
    }
    parsed(Value::Object(info))
}

fn user(info: &mut Object, session: &Session) {
    let said = info.get("model").map_or_else(|| json!(session.model), |m| model_of(Some(m)));
    info.insert("model".into(), said);
    // Elsewhere it is wrapped in its kind.
    match info.remove("format") {
        Some(Value::Object(mut format)) if format.get("type") == Some(&json!("json_schema")) => {
            info.extend(format.remove("schema").map(|schema| ("format".to_owned(), schema)));
        }
        Some(Value::Object(format)) if format.get("type") != Some(&json!("text")) => {
            info.insert("format".into(), Value::Object(format));
        }
        Some(_) | None => {}
    }
}

fn assistant(info: &mut Object, session: &Session) {
    let own = info["id"].clone();
    id(info, "parentID", |t| MessageId::parse(t).is_some(), || own.as_str().unwrap_or_default().to_owned());
    fill(info, "providerID", || json!(session.model.provider));
    fill(info, "modelID", || json!(session.model.model));
    fill(info, "path", || json!({ "cwd": session.directory, "root": session.worktree }));
    fill(info, "cost", || json!(0.0));
    tokens(info);
    reason(info, "finish");
    if let Some(said) = info.remove("error") {
        info.insert("error".into(), error_of(said));
    }
}

const REASONS: [&str; 7] = ["stop", "length", "tool-calls", "content-filter", "pause", "error", "unknown"];

fn reason(object: &mut Object, key: &str) {
    if let Some(said) = object.get_mut(key)
        && !said.as_str().is_some_and(|r| REASONS.contains(&r))
    {
        *said = json!("unknown");
    }
}

/// An error that we know stays; of another one its name and words are kept.
fn error_of(said: Value) -> Value {
    if parsed::<model::message::MessageError>(said.clone()).is_ok() {
        return said;
    }
    let text = |path: &str| said.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, message) = (text("/name"), text("/data/message"));
    if name == "APIError" {
        let retryable = said.pointer("/data/isRetryable").and_then(Value::as_bool).unwrap_or(false);
        return json!({ "name": name, "data": { "kind": "unknown", "message": message, "retryable": retryable } });
    }
    json!({ "name": "UnknownError", "data": { "message": format!("{name}: {message}") } })
}

/// The part, or the kind of one that can't be kept.
fn part_of(mut part: Object, message: &Message) -> Result<Part, String> {
    part.retain(|_, v| !v.is_null());
    id(&mut part, "id", |t| PartId::parse(t).is_some(), || PartId::new().to_string());
    part.insert("sessionID".into(), json!(message.session()));
    part.insert("messageID".into(), json!(message.id()));
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("without a type").to_owned();
    match kind.as_str() {
        "reasoning" => fill(&mut part, "time", || json!({ "start": 0 })),
        "tool" => state(&mut part),
        "step-finish" => {
            reason(&mut part, "reason");
            fill(&mut part, "reason", || json!("unknown"));
            fill(&mut part, "cost", || json!(0.0));
            tokens(&mut part);
        }
        "retry" => {
            let error = error_of(part.remove("error").unwrap_or_default());
            part.insert("error".into(), error);
        }
        // What lies on the disk of another machine can't be sent to a model.
        "file" if !part.get("url").and_then(Value::as_str).is_some_and(|u| u.starts_with("data:")) => {
            return Err("file (not in the export itself)".into());
        }
        _ => {}
    }
    parsed(Value::Object(part)).map_err(|_| kind)
}

fn state(part: &mut Object) {
    let Some(Value::Object(state)) = part.get_mut("state") else { return };
    state.retain(|_, v| !v.is_null());
    fill(state, "input", || json!({}));
    match state.get("status").and_then(Value::as_str) {
        Some("completed") => {
            fill(state, "title", || json!(""));
            fill(state, "output", || json!(""));
            fill(state, "metadata", || json!({}));
        }
        Some("error") => fill(state, "error", || json!("")),
        _ => {}
    }
    fill(state, "time", || json!({ "start": 0 }));
}
