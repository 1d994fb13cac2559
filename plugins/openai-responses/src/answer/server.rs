//! Tools that the server ran itself. Their items have to go back as they came.

use serde_json::{Value, json};

/// Characters of a result that are shown. The whole goes back to the server in the item itself.
const SHOWN: usize = 2000;

/// Name, input and what is shown of the result.
pub fn read(item: &Value) -> (String, String, String) {
    let kind = item["type"].as_str().unwrap_or("");
    let name = item["name"].as_str().unwrap_or_else(|| kind.strip_suffix("_call").unwrap_or(kind));
    (name.into(), input(item), text(item).chars().take(SHOWN).collect())
}

pub fn opaque(item: &Value) -> String {
    json!({"item": item}).to_string()
}

fn input(item: &Value) -> String {
    if item["action"].is_object() {
        return item["action"].to_string();
    }
    if let Some(arguments) =
        item["arguments"].as_str().filter(|a| serde_json::from_str::<Value>(a).is_ok_and(|v| v.is_object()))
    {
        return arguments.into();
    }
    let mut given = json!({});
    for key in ["queries", "code"] {
        if !item[key].is_null() {
            given[key] = item[key].clone();
        }
    }
    given.to_string()
}

fn text(item: &Value) -> String {
    let said = ["output", "error", "status"].iter().find_map(|key| item[*key].as_str().filter(|t| !t.is_empty()));
    said.unwrap_or("done").into()
}
