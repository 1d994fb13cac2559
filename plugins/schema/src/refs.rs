//! References within one schema.

use serde_json::{Map, Value};

/// What a local reference means; `None` for one that leads elsewhere or nowhere.
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let path = reference.strip_prefix('#')?;
    root.pointer(path)
}

/// The referred schema with what stood beside the reference, which wins.
pub fn joined(target: &Value, beside: &Map<String, Value>) -> Map<String, Value> {
    let mut all = target.as_object().cloned().unwrap_or_default();
    let own = beside.iter().filter(|(key, _)| *key != "$ref");
    all.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    all
}

/// One more schema that has to hold as well.
pub fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                more.into_iter().for_each(|(name, schema)| {
                    own.entry(name).or_insert(schema);
                });
            }
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|name| !own.contains(name)).collect();
                own.extend(new);
            }
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}
