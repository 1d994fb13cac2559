//! The Gemini API. Sources: ai.google.dev/api/generate-content, /api/caching (Content, Part, FunctionDeclaration, Schema), and
//! /gemini-api/docs (function calling, thought signatures).

use serde_json::Value;
use std::collections::HashSet;

type Checked = Result<(), String>;

const BODY: [&str; 8] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
];
const DATA: [&str; 6] =
    ["text", "inlineData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"];
const SCHEMA: [&str; 19] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "items",
    "minimum",
    "maximum",
];

/// Why the server would answer this body with 400.
///
/// # Errors
/// The first rule that is broken.
pub fn gemini_request(body: &Value) -> Checked {
    let members = body.as_object().ok_or("the body is no object")?;
    members.keys().try_for_each(|k| rule(BODY.contains(&k.as_str()), || format!("unknown field {k}")))?;
    if let Some(system) = body.get("systemInstruction") {
        parts(system, "systemInstruction")?;
    }
    tools(body)?;
    let contents = list(&body["contents"]);
    rule(!contents.is_empty(), || "contents is not specified".into())?;
    for (at, content) in contents.iter().enumerate() {
        parts(content, &format!("contents.{at}"))?;
    }
    turns(contents)?;
    pairs(contents)
}

fn rule(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Letters, digits and a few marks, not longer than 64, and no digit first.
fn is_name(value: &Value) -> bool {
    let name = value.as_str().unwrap_or("");
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    (1..=64).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_')
}

fn parts(content: &Value, place: &str) -> Checked {
    let parts = list(&content["parts"]);
    rule(!parts.is_empty(), || format!("{place}: no parts"))?;
    parts.iter().try_for_each(|part| self::part(part).map_err(|why| format!("{place}: {why}: {part}")))
}

fn part(part: &Value) -> Checked {
    let data: Vec<&str> = DATA.into_iter().filter(|name| part.get(*name).is_some()).collect();
    let [kind] = data.as_slice() else { return Err("a part has exactly one kind of data".into()) };
    let signature = part.get("thoughtSignature");
    rule(signature.is_none_or(|s| s.as_str().is_some_and(|s| !s.is_empty())), || "an empty signature".into())?;
    match *kind {
        "text" => {
            let text = part["text"].as_str().ok_or("text is a string")?;
            rule(!text.is_empty() || signature.is_some(), || "an empty part".into())
        }
        "inlineData" => blob(&part["inlineData"]),
        "functionCall" => {
            let call = &part["functionCall"];
            rule(is_name(&call["name"]), || "a call without a proper name".into())?;
            rule(call["args"].is_object(), || "args is an object".into())
        }
        "functionResponse" => {
            let response = &part["functionResponse"];
            rule(is_name(&response["name"]), || "a response without a proper name".into())?;
            rule(response["response"].is_object(), || "a response is an object".into())?;
            list(&response["parts"]).iter().try_for_each(|p| blob(&p["inlineData"]))
        }
        _ => Ok(()),
    }
}

fn blob(data: &Value) -> Checked {
    let filled = |name: &str| data[name].as_str().is_some_and(|t| !t.is_empty());
    rule(filled("mimeType") && filled("data"), || "data without a type, or none".into())
}

fn turns(contents: &[Value]) -> Checked {
    let roles: Vec<&str> = contents.iter().map(|c| c["role"].as_str().unwrap_or("")).collect();
    let known = roles.iter().all(|r| ["user", "model"].contains(r));
    rule(known, || "a role is `user` or `model`".into())?;
    rule(roles.windows(2).all(|two| two[0] != two[1]), || "the roles take turns".into())?;
    rule(roles.first() == Some(&"user") && roles.last() == Some(&"user"), || "a user begins and ends".into())
}

/// The number, names, order and ids of a turn's responses are those of the calls of the turn before, and they come first.
fn pairs(contents: &[Value]) -> Checked {
    let mut calls: Vec<&Value> = Vec::new();
    for content in contents {
        let of = |kind: &'static str| list(&content["parts"]).iter().filter_map(move |p| p.get(kind));
        let responses: Vec<&Value> = of("functionResponse").collect();
        let first = list(&content["parts"]).iter().take(responses.len());
        rule(first.clone().all(|p| p.get("functionResponse").is_some()), || {
            "a response comes after other parts".into()
        })?;
        rule(calls.len() == responses.len(), || format!("{} calls and {} responses", calls.len(), responses.len()))?;
        for (call, response) in calls.iter().zip(&responses) {
            let same = |key: &str| call.get(key) == response.get(key);
            rule(same("name") && same("id"), || format!("{response} answers {call}"))?;
        }
        calls = of("functionCall").collect();
        rule(calls.is_empty() || content["role"] == "model", || "a user calls".into())?;
    }
    rule(calls.is_empty(), || "a call without its response".into())
}

fn tools(body: &Value) -> Checked {
    let mut names = HashSet::new();
    let declarations = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    for declaration in declarations {
        let name = &declaration["name"];
        rule(is_name(name), || format!("{name} is no name of a function"))?;
        rule(names.insert(name.as_str()), || format!("{name} is declared twice"))?;
        if let Some(parameters) = declaration.get("parameters") {
            rule(parameters["type"] == "object", || format!("{name}: parameters are an object"))?;
            rule(parameters["properties"].as_object().is_some_and(|p| !p.is_empty()), || {
                format!("{name}: properties: should be non-empty for OBJECT type")
            })?;
            schema(parameters).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    for name in list(&body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"]) {
        rule(names.contains(&name.as_str()), || format!("{name} is allowed and not declared"))?;
    }
    body["generationConfig"].get("responseSchema").map_or(Ok(()), schema)
}

fn schema(node: &Value) -> Checked {
    let members = node.as_object().ok_or_else(|| format!("{node} is no schema"))?;
    members.keys().try_for_each(|k| rule(SCHEMA.contains(&k.as_str()), || format!("unknown name {k} in a schema")))?;
    if let Some(branches) = members.get("anyOf") {
        rule(members.len() == 1, || "anyOf must be the only field set".into())?;
        return list(branches).iter().try_for_each(schema);
    }
    let kind = node["type"].as_str().ok_or_else(|| format!("{node} has no type"))?;
    let texts = node.get("enum").is_none_or(|e| kind == "string" && list(e).iter().all(Value::is_string));
    rule(texts, || "enum is for texts only".into())?;
    rule(kind != "array" || node.get("items").is_some(), || "items: missing field".into())?;
    node.get("items").map_or(Ok(()), schema)?;
    let properties = node["properties"].as_object();
    properties.into_iter().flatten().try_for_each(|(_, member)| schema(member))?;
    list(&node["required"]).iter().try_for_each(|name| {
        let there = name.as_str().is_some_and(|n| properties.is_some_and(|p| p.contains_key(n)));
        rule(there, || format!("required: {name} is not defined"))
    })
}
