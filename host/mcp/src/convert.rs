//! From a tool as a server declares it (Model Context Protocol, `tools/list`) to a spec.

use model::tool::{Annotations, ToolSpec};
use serde_json::{Value, json};

/// Longest description that is passed on: it is sent with every request.
const MAX_DESCRIPTION: usize = 8 << 10;

/// Why a declaration is of no use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    #[error("a tool without a name was declared; ask the server's author")]
    NoName,
    #[error("the input schema of the tool `{0}` is no JSON Schema of an object; ask the server's author")]
    Schema(String),
}

/// Turns one entry of `tools/list` into a spec under `name`. It has no scopes: nothing is known of what it touches, so every call
/// is judged under the tool's own name.
///
/// # Errors
/// A declaration without a name, or with a schema that describes no object.
pub fn tool_spec(name: &str, declared: &Value) -> Result<ToolSpec, ConvertError> {
    let original = text(declared, "name").ok_or(ConvertError::NoName)?;
    Ok(ToolSpec {
        name: name.into(),
        description: description(declared, original),
        input_schema: schema(declared).ok_or_else(|| ConvertError::Schema(original.into()))?,
        annotations: annotations(declared),
        scopes: Vec::new(),
    })
}

fn text<'a>(declared: &'a Value, key: &str) -> Option<&'a str> {
    declared.get(key).and_then(Value::as_str).filter(|t| !t.trim().is_empty())
}

fn description(declared: &Value, original: &str) -> String {
    let told = text(declared, "description").or_else(|| text(declared, "title")).unwrap_or(original);
    told[..told.floor_char_boundary(MAX_DESCRIPTION)].to_owned()
}

/// A tool without a schema takes nothing. `type` may be left out where the rest speaks of an object.
fn schema(declared: &Value) -> Option<Value> {
    let mut schema = match declared.get("inputSchema") {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(map)) => Value::Object(map.clone()),
        Some(_) => return None,
    };
    let kind = schema.get("type").cloned().unwrap_or_else(|| json!("object"));
    schema["type"] = kind.clone();
    (kind == json!("object")).then_some(schema)
}

/// The protocol's defaults where nothing is said: it may destroy and reach out. Hints of a server, never a right.
fn annotations(declared: &Value) -> Annotations {
    let hint = |key: &str, default| {
        let said = declared.get("annotations").and_then(|a| a.get(key));
        said.and_then(Value::as_bool).unwrap_or(default)
    };
    let read_only = hint("readOnlyHint", false);
    Annotations {
        read_only,
        destructive: !read_only && hint("destructiveHint", true),
        idempotent: read_only || hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_becomes_a_spec() {
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
        let spec =
            tool_spec("s_find", &json!({"name": "find", "description": "Finds.", "inputSchema": schema})).unwrap();
        assert_eq!((spec.name.as_str(), spec.description.as_str()), ("s_find", "Finds."));
        assert_eq!(spec.input_schema, schema);
        assert_eq!(spec.permissions(), ["s_find"]);
    }

    #[test]
    fn hints_have_the_defaults_of_the_protocol() {
        let hints =
            |annotations: Value| tool_spec("t", &json!({"name": "t", "annotations": annotations})).unwrap().annotations;
        let all = |read_only, destructive, idempotent, open_world| Annotations {
            read_only,
            destructive,
            idempotent,
            open_world,
        };
        for (said, want) in [
            (json!(null), all(false, true, false, true)),
            (json!({"readOnlyHint": true}), all(true, false, true, true)),
            (json!({"readOnlyHint": true, "destructiveHint": true}), all(true, false, true, true)),
            (
                json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
                all(false, false, true, false),
            ),
            (json!({"readOnlyHint": "yes"}), all(false, true, false, true)),
        ] {
            assert_eq!(hints(said.clone()), want, "{said}");
        }
    }

    #[test]
    fn a_schema_describes_an_object() {
        let schema = |s: Value| tool_spec("t", &json!({"name": "t", "inputSchema": s})).map(|t| t.input_schema);
        let wrong = || Err(ConvertError::Schema("t".into()));
        for (given, want) in [
            (json!(null), Ok(json!({"type": "object"}))),
            (json!({"properties": {}}), Ok(json!({"properties": {}, "type": "object"}))),
            (json!({"type": "string"}), wrong()),
            (json!("object"), wrong()),
        ] {
            assert_eq!(schema(given.clone()), want, "{given}");
        }
    }

    #[test]
    fn what_has_no_name_is_no_tool() {
        for declared in [json!({}), json!({"name": ""}), json!({"name": 3})] {
            assert_eq!(tool_spec("t", &declared), Err(ConvertError::NoName));
        }
    }

    #[test]
    fn a_description_is_bounded_and_never_empty() {
        let told = |d: Value| tool_spec("t", &d).unwrap().description;
        assert_eq!(told(json!({"name": "a", "title": "A"})), "A");
        assert_eq!(told(json!({"name": "a"})), "a");
        assert_eq!(told(json!({"name": "a", "description": "é".repeat(MAX_DESCRIPTION)})).len(), MAX_DESCRIPTION);
    }
}
