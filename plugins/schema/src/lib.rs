//! Tool schemas in the part of JSON Schema that a server knows: what it does not know is said in another way where there is one, and left
//! out where there is none. A call's input is checked against the tool's own schema all the same, so a looser one costs a question, not
//! a wrong act.

mod refs;
mod root;
mod rules;
mod walk;

pub use rules::{
    ANTHROPIC, Consts, Enums, GEMINI, Keywords, MOONSHOT, OLLAMA, OPENAI, Refs, Root, Rules, Tuples, Types, Unions,
};

use serde_json::{Map, Value};

/// The parameters of a tool by these rules: always an object with properties.
///
/// # Errors
/// Says why the text is no schema of parameters.
pub fn parameters(schema: &str, rules: &Rules) -> Result<Map<String, Value>, String> {
    let given: Map<String, Value> = serde_json::from_str(schema).map_err(|e| format!("no JSON object: {e}"))?;
    let whole = root::plain(given, rules);
    Ok(root::object(reduce(&Value::Object(whole), rules)))
}

/// A schema by these rules. Bounded in depth and size, whatever it refers to.
#[must_use]
pub fn reduce(schema: &Value, rules: &Rules) -> Value {
    walk::Walk::new(schema, rules).whole()
}

#[cfg(test)]
mod tests;
