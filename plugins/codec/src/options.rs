//! What a user's config has for a provider: members that go into the body as they are.

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
