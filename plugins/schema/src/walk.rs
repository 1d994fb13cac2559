//! The way through a schema, node by node.

use crate::refs::{joined, merge, resolve};
use crate::rules::{Consts, Enums, Keywords, Refs, Rules, Tuples, Types, Unions};
use serde_json::{Map, Value, json};

/// Nodes of a schema after all references are in place: what refers to itself many times over must not grow without end.
const MOST: usize = 10_000;
/// Nodes inside each other.
const DEEPEST: usize = 32;
/// Formats that Gemini takes; any other is an error there.
const FORMATS: [&str; 6] = ["enum", "date-time", "float", "double", "int32", "int64"];

pub struct Walk<'a> {
    root: &'a Value,
    rules: &'a Rules,
    left: usize,
    /// References that are being followed.
    following: Vec<String>,
}

type Node = Map<String, Value>;

impl<'a> Walk<'a> {
    pub fn new(root: &'a Value, rules: &'a Rules) -> Self {
        Self { root, rules, left: MOST, following: Vec::new() }
    }

    pub fn whole(mut self) -> Value {
        self.schema(self.root, 0)
    }

    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > DEEPEST {
            return json!({"type": "object"});
        }
        match (schema, self.rules.types) {
            (Value::Object(node), _) => self.node(node.clone(), depth),
            (other, Types::AsGiven) => other.clone(),
            (_, Types::Inferred) => json!({"type": "string"}),
        }
    }

    fn node(&mut self, mut node: Node, depth: usize) -> Value {
        if let Some(Value::String(reference)) = node.get("$ref") {
            let reference = reference.clone();
            match self.rules.refs {
                Refs::Keep => {}
                Refs::Alone if depth > 0 => return json!({"$ref": reference}),
                Refs::Alone => {}
                Refs::Inline => return self.follow(&reference, &node, depth),
            }
        }
        self.combine(&mut node, depth);
        if self.rules.consts == Consts::Enum
            && let Some(only) = node.shift_remove("const")
        {
            node.entry("enum").or_insert_with(|| json!([only]));
        }
        let mut nullable = self.split_types(&mut node);
        nullable |= self.branches(&mut node, depth);
        nullable |= self.choices(&mut node);
        self.infer(&mut node);
        self.items(&mut node, depth);
        self.members(&mut node, depth);
        self.limit(&mut node);
        if nullable {
            set_nullable(&mut node);
        }
        Value::Object(node)
    }

    fn follow(&mut self, reference: &str, node: &Node, depth: usize) -> Value {
        let known = self.following.iter().any(|r| r == reference);
        let target = resolve(self.root, reference).filter(|_| !known);
        let mut all = target.map_or_else(|| joined(&json!({"type": "object"}), node), |target| joined(target, node));
        if target.is_none() || all.get("$ref").is_some_and(|r| *r == *reference) {
            all.shift_remove("$ref");
            return self.node(all, depth);
        }
        self.following.push(reference.into());
        let value = self.schema(&Value::Object(all), depth + 1);
        self.following.pop();
        value
    }

    /// `allOf` into the node itself, `oneOf` as `anyOf`.
    fn combine(&mut self, node: &mut Node, depth: usize) {
        if self.rules.unions == Unions::Keep {
            return;
        }
        if let Some(Value::Array(all)) = node.shift_remove("allOf") {
            for one in &all {
                if let Value::Object(one) = self.schema(one, depth + 1) {
                    merge(node, one);
                }
            }
        }
        if let Some(one) = node.shift_remove("oneOf") {
            node.entry("anyOf").or_insert(one);
        }
    }

    /// A list of types: one of them, or a branch for each. Says whether null was among them.
    fn split_types(&self, node: &mut Node) -> bool {
        if self.rules.unions != Unions::Nullable {
            return false;
        }
        let Some(Value::Array(types)) = node.get("type") else { return false };
        let (null, mut others): (Vec<Value>, Vec<Value>) = types.iter().cloned().partition(|t| t == "null");
        node.shift_remove("type");
        if others.len() == 1 {
            node.insert("type".into(), others.remove(0));
        } else if !others.is_empty() {
            let beside = node.clone();
            let branch =
                |kind: Value| Value::Object(beside.clone().into_iter().chain([("type".into(), kind)]).collect());
            let branches = others.into_iter().map(branch).collect();
            node.clear();
            node.insert("anyOf".into(), Value::Array(branches));
        }
        !null.is_empty()
    }

    /// The branches of a combination. Says whether null was one of them.
    fn branches(&mut self, node: &mut Node, depth: usize) -> bool {
        for key in ["anyOf", "oneOf", "allOf"] {
            let Some(Value::Array(given)) = node.shift_remove(key) else { continue };
            let (null, given): (Vec<Value>, Vec<Value>) =
                given.into_iter().partition(|b| self.rules.unions == Unions::Nullable && is_null(b));
            let branches: Vec<Value> = given.iter().map(|b| self.schema(b, depth + 1)).collect();
            if self.rules.unions != Unions::Nullable {
                node.insert(key.into(), branches.into());
                continue;
            }
            alone(node, branches);
            return !null.is_empty();
        }
        false
    }

    /// Says whether null is a choice.
    fn choices(&self, node: &mut Node) -> bool {
        if self.rules.enums == Enums::Keep {
            return false;
        }
        let Some(Value::Array(choices)) = node.shift_remove("enum") else { return false };
        let (null, choices): (Vec<Value>, Vec<Value>) = choices.into_iter().partition(Value::is_null);
        let texts = choices.iter().filter(|c| c.is_string()).count();
        if choices.is_empty() {
            return !null.is_empty();
        }
        if texts == 0 {
            node.entry("type").or_insert_with(|| type_of(&choices[0]).into());
            let all: Vec<String> = choices.iter().map(Value::to_string).collect();
            describe(node, &format!("One of: {}.", all.join(", ")));
        } else {
            node.insert("type".into(), "string".into());
            node.insert("enum".into(), choices.iter().map(as_text).collect());
        }
        !null.is_empty()
    }

    fn infer(&self, node: &mut Node) {
        let combined = ["anyOf", "oneOf", "allOf", "not", "$ref"].iter().any(|key| node.contains_key(*key));
        if self.rules.types == Types::AsGiven || combined || node.contains_key("type") {
            return;
        }
        let has = |keys: &[&str]| keys.iter().any(|key| node.contains_key(*key));
        let kind = match node.get("enum").and_then(|e| e.get(0)) {
            Some(choice) => type_of(choice),
            None if has(&["properties", "required", "additionalProperties", "patternProperties"]) => "object",
            None if has(&["items", "prefixItems", "minItems", "maxItems"]) => "array",
            None if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) => "number",
            None => "string",
        };
        node.insert("type".into(), kind.into());
    }

    fn items(&mut self, node: &mut Node, depth: usize) {
        let is_list = self.is(node, "array");
        let tuple = match (node.get("prefixItems"), node.get("items")) {
            (Some(Value::Array(places)), _) | (None, Some(Value::Array(places))) => Some(places.clone()),
            _ => None,
        };
        if let Some(places) = tuple.filter(|_| self.rules.tuples != Tuples::Keep) {
            node.shift_remove("prefixItems");
            node.insert("items".into(), self.places(places));
        }
        match node.get("items").cloned() {
            Some(Value::Array(places)) => {
                let places = places.iter().map(|p| self.schema(p, depth + 1)).collect();
                node.insert("items".into(), Value::Array(places));
            }
            Some(items) => {
                let items = self.schema(&items, depth + 1);
                node.insert("items".into(), items);
            }
            None if is_list && self.rules.types == Types::Inferred && !node.contains_key("prefixItems") => {
                node.insert("items".into(), json!({"type": "string"}));
            }
            None => {}
        }
    }

    fn places(&self, mut places: Vec<Value>) -> Value {
        places.dedup();
        match (self.rules.tuples, places.len()) {
            (_, 0) => json!({}),
            (Tuples::AnyOf, 2..) => json!({"anyOf": places}),
            _ => places.swap_remove(0),
        }
    }

    fn members(&mut self, node: &mut Node, depth: usize) {
        for key in ["properties", "$defs", "definitions"] {
            let Some(Value::Object(given)) = node.get(key) else { continue };
            if key != "properties" && self.rules.refs == Refs::Inline {
                node.shift_remove(key);
                continue;
            }
            let given = given.clone();
            let members = given.iter().filter(|(_, s)| **s != Value::Bool(false));
            let members: Node = members.map(|(name, s)| (name.clone(), self.schema(s, depth + 1))).collect();
            node.insert(key.into(), members.into());
        }
        if let Some(more @ Value::Object(_)) = node.get("additionalProperties").cloned() {
            let more = self.schema(&more, depth + 1);
            node.insert("additionalProperties".into(), more);
        }
    }

    /// Only what is known, and only where it belongs.
    fn limit(&self, node: &mut Node) {
        let Keywords::Only(known) = self.rules.keywords else { return };
        include_bounds(node);
        node.retain(|key, _| known.contains(&key.as_str()));
        if !node.get("format").is_none_or(|f| FORMATS.iter().any(|known| f == known)) {
            node.shift_remove("format");
        }
        let misplaced: &[(&str, &[&str])] = &[
            ("object", &["properties", "required", "minProperties", "maxProperties"]),
            ("array", &["items", "minItems", "maxItems"]),
        ];
        for (kind, keys) in misplaced {
            if !self.is(node, kind) {
                keys.iter().for_each(|key| drop(node.shift_remove(*key)));
            }
        }
        require_what_is_there(node);
    }

    fn is(&self, node: &Node, kind: &str) -> bool {
        match node.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|k| k == kind),
            given => given.is_some_and(|k| k == kind),
        }
    }
}

/// Nothing may stand beside the branches: a single one is the node itself, and a description goes into each. Of a node that says itself what
/// it is, the branches only narrow it, and go.
fn alone(node: &mut Node, mut branches: Vec<Value>) {
    if ["properties", "items", "enum"].iter().any(|key| node.contains_key(*key)) {
        return;
    }
    if branches.len() == 1
        && let Value::Object(only) = branches.remove(0)
    {
        merge(node, only);
        return;
    }
    let description = node.get("description").cloned();
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(text) = &description {
            branch.entry("description").or_insert_with(|| text.clone());
        }
    }
    if !branches.is_empty() {
        node.clear();
        node.insert("anyOf".into(), branches.into());
    }
}

fn set_nullable(node: &mut Node) {
    match node.get_mut("anyOf") {
        Some(Value::Array(branches)) => {
            branches.iter_mut().filter_map(Value::as_object_mut).for_each(set_nullable);
        }
        _ => drop(node.insert("nullable".into(), true.into())),
    }
}

fn is_null(branch: &Value) -> bool {
    branch["type"] == "null" || branch.get("const").is_some_and(Value::is_null) || branch["enum"] == json!([null])
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::String(_) | Value::Null => "string",
    }
}

fn as_text(value: &Value) -> Value {
    if value.is_string() { value.clone() } else { value.to_string().into() }
}

fn describe(node: &mut Node, more: &str) {
    let text = match node.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} {more}"),
        _ => more.to_owned(),
    };
    node.insert("description".into(), text.into());
}

/// `exclusiveMinimum: 0` of whole numbers is `minimum: 1`; of others the bound itself is let in.
fn include_bounds(node: &mut Node) {
    let whole = node.get("type").is_some_and(|t| t == "integer");
    for (exclusive, inclusive, step) in [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)] {
        let Some(bound @ Value::Number(_)) = node.shift_remove(exclusive) else { continue };
        let next = bound.as_i64().filter(|_| whole).and_then(|n| n.checked_add(step)).map(Value::from);
        node.entry(inclusive).or_insert(next.unwrap_or(bound));
    }
}

/// A name that is required and not described is an error for Gemini.
fn require_what_is_there(node: &mut Node) {
    let Some(Value::Array(names)) = node.get("required").cloned() else { return };
    let there = |name: &Value| node.get("properties").and_then(|p| p.get(name.as_str()?)).is_some();
    let names: Vec<Value> = names.into_iter().filter(there).collect();
    node.shift_remove("required");
    if !names.is_empty() {
        node.insert("required".into(), names.into());
    }
}
