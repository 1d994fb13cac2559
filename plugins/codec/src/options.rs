//! What a user's config has for a provider: members that go into the body as they are.

use crate::catalogue;
use airlock::provider::Request;
use serde_json::{Map, Value};

/// The options of a request. `reserved`: members that are the encoder's own.
///
/// # Errors
/// They are no JSON object, or set what is reserved.
pub fn of(request: &Request, reserved: &[&str]) -> Result<Map<String, Value>, String> {
    let Some(text) = &request.options else { return Ok(Map::new()) };
    let options: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("The provider's options are no JSON object: {e}"))?;
    match reserved.iter().find(|name| options.contains_key(**name)) {
        Some(name) => Err(format!("The provider's options must not set `{name}`")),
        None => Ok(options),
    }
}

/// Says in the provider's words how much the model thinks, where the person chose it (`reasoning_effort`): by the catalogue's variants of the
/// model, or for a model that it does not know by `unknown`.
///
/// # Errors
/// The model is known and does not think so.
pub fn vary(
    options: &mut Map<String, Value>,
    catalogue: &str,
    model: &str,
    unknown: impl FnOnce(&str) -> Value,
) -> Result<(), String> {
    let Some(Value::String(word)) = options.get("reasoning_effort").cloned() else { return Ok(()) };
    options.shift_remove("reasoning_effort");
    let said = match catalogue::variants(catalogue, model) {
        None => unknown(&word),
        Some(variants) => variants.get(&word).cloned().ok_or_else(|| {
            let known: Vec<&str> = variants.keys().map(String::as_str).collect();
            format!("The model {model} has no variant `{word}`; it has {}", known.join(", "))
        })?,
    };
    if let Value::Object(said) = said {
        said.into_iter().for_each(|(name, value)| merge(options, name, value));
    }
    Ok(())
}

/// Members of one object stand beside each other; what is new wins.
fn merge(options: &mut Map<String, Value>, name: String, value: Value) {
    match (options.get_mut(&name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
        (_, value) => drop(options.insert(name, value)),
    }
}

/// A body that keeps settings of the model in a member of their own.
pub struct Nested<'a> {
    /// The member of the settings.
    pub name: &'a str,
    /// Options that stand in the body itself. All others are settings.
    pub of_body: &'a [&'a str],
}

impl Nested<'_> {
    /// Options as a flat list: what a config says under the member's name is meant for the same place as what it says beside it.
    ///
    /// # Errors
    /// As [`of`], or the member is no object.
    pub fn of(&self, request: &Request, reserved: &[&str]) -> Result<Map<String, Value>, String> {
        let mut options = of(request, reserved)?;
        match options.shift_remove(self.name) {
            Some(Value::Object(more)) => options.extend(more),
            Some(_) => return Err(format!("options.{} is no object", self.name)),
            None => {}
        }
        Ok(options)
    }

    /// Puts each option in its place; null takes a member away. What is said of the model comes last.
    pub fn put(&self, options: Map<String, Value>, body: &mut Map<String, Value>, mut settings: Map<String, Value>) {
        for (name, value) in options {
            let place = if self.of_body.contains(&name.as_str()) { &mut *body } else { &mut settings };
            if value.is_null() { drop(place.shift_remove(&name)) } else { drop(place.insert(name, value)) }
        }
        if !settings.is_empty() {
            body.insert(self.name.into(), settings.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MODELS: &str = r#"{"models":[{"id":"a","variants":{"low":{"r":{"e":1}},"high":{"r":{"e":9}}}},{"id":"b"}]}"#;

    fn varied(model: &str, given: Value) -> Result<Value, String> {
        let Value::Object(mut options) = given else { return Err("no object".into()) };
        vary(&mut options, MODELS, model, |word| json!({"unknown": word}))?;
        Ok(options.into())
    }

    #[test]
    fn a_variant_is_said_in_the_providers_words() {
        for (model, given, expected) in [
            ("a", json!({"x": 1}), json!({"x": 1})),
            ("a", json!({"reasoning_effort": "low"}), json!({"r": {"e": 1}})),
            ("a", json!({"r": {"s": 2, "e": 3}, "reasoning_effort": "high"}), json!({"r": {"s": 2, "e": 9}})),
            ("b", json!({"reasoning_effort": "low"}), json!({"unknown": "low"})),
            ("c", json!({"reasoning_effort": "low"}), json!({"unknown": "low"})),
        ] {
            assert_eq!(varied(model, given.clone()), Ok(expected), "{model} {given}");
        }
        assert!(varied("a", json!({"reasoning_effort": "max"})).unwrap_err().contains("it has low, high"));
    }
}
