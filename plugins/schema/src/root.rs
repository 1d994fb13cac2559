//! The schema of all parameters of a tool: an object, for every server.

use crate::refs::{joined, merge, resolve};
use crate::rules::{Root, Rules};
use serde_json::{Map, Value};

const COMBINATIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// A schema that is a reference is what it refers to; one that combines others is all of them. All branches of `allOf` have to hold. Of the
/// others any one may, so only what all of them require is required.
pub fn plain(given: Map<String, Value>, rules: &Rules) -> Map<String, Value> {
    if rules.root == Root::AsGiven {
        return given;
    }
    let whole = Value::Object(given.clone());
    let mut map = referred(&whole, given);
    for key in COMBINATIONS {
        let Some(Value::Array(branches)) = map.shift_remove(key) else { continue };
        let branches = branches.into_iter().filter_map(|b| if let Value::Object(b) = b { Some(b) } else { None });
        let mut branches: Vec<_> = branches.map(|branch| referred(&whole, branch)).collect();
        if key != "allOf" {
            require_what_all_do(&mut branches);
        }
        branches.into_iter().for_each(|branch| merge(&mut map, branch));
    }
    ["$ref", "not", "enum", "const", "nullable"].iter().for_each(|key| drop(map.shift_remove(*key)));
    map
}

fn referred(whole: &Value, given: Map<String, Value>) -> Map<String, Value> {
    let target = given.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(whole, reference));
    target.map_or_else(|| given.clone(), |target| joined(target, &given))
}

/// The type of parameters, whatever was said, and properties even where there are none.
pub fn object(schema: Value) -> Map<String, Value> {
    let given = if let Value::Object(map) = schema { map } else { Map::new() };
    let mut map = given;
    if map.get("type") != Some(&Value::from("object")) {
        let mut rest = std::mem::take(&mut map);
        rest.shift_remove("type");
        map.insert("type".into(), "object".into());
        map.extend(rest);
    }
    if !map.get("properties").is_some_and(Value::is_object) {
        map.insert("properties".into(), Value::Object(Map::new()));
    }
    map
}

fn require_what_all_do(branches: &mut [Map<String, Value>]) {
    let names = |b: &Map<String, Value>| b.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some((first, rest)) = branches.split_first() else { return };
    let shared: Vec<Value> = names(first).into_iter().filter(|n| rest.iter().all(|b| names(b).contains(n))).collect();
    for branch in branches {
        branch.shift_remove("required");
        if !shared.is_empty() {
            branch.insert("required".into(), shared.clone().into());
        }
    }
}
