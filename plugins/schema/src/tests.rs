use super::*;
use serde_json::json;

fn check(rules: &Rules, table: &[(&str, Value, Value)]) {
    for (what, given, expected) in table {
        assert_eq!(reduce(given, rules), *expected, "{what}");
    }
}

/// The fields that Gemini's `Schema` has (ai.google.dev/api/caching#Schema), and what it says of them.
fn is_gemini(schema: &Value) {
    let node = schema.as_object().unwrap_or_else(|| panic!("{schema} is no object"));
    let Keywords::Only(known) = GEMINI.keywords else { panic!("Gemini knows a list") };
    node.keys().for_each(|key| assert!(known.contains(&key.as_str()), "{key} in {schema}"));
    if let Some(branches) = node.get("anyOf") {
        assert_eq!(node.len(), 1, "anyOf stands alone: {schema}");
        return branches.as_array().unwrap().iter().for_each(is_gemini);
    }
    assert!(node["type"].is_string(), "one type: {schema}");
    if let Some(choices) = node.get("enum") {
        assert!(node["type"] == "string" && choices.as_array().unwrap().iter().all(Value::is_string), "{schema}");
    }
    assert!(node["type"] != "array" || node.contains_key("items"), "a list says of what: {schema}");
    node.get("items").into_iter().for_each(is_gemini);
    let members = node.get("properties").and_then(Value::as_object);
    members.into_iter().flatten().for_each(|(_, member)| is_gemini(member));
    for name in node.get("required").and_then(Value::as_array).into_iter().flatten() {
        assert!(members.is_some_and(|m| m.contains_key(name.as_str().unwrap())), "{name} is required and not there");
    }
}

#[test]
fn for_gemini_what_is_not_known_is_said_otherwise() {
    let text = || json!({"type": "string"});
    let table = [
        (
            "null in a list of types",
            json!({"type": ["integer", "null"], "minimum": 1}),
            json!({"type": "integer", "minimum": 1, "nullable": true}),
        ),
        (
            "several types",
            json!({"type": ["string", "integer", "null"], "description": "d"}),
            json!({"anyOf": [{"description": "d", "type": "string", "nullable": true}, {"description": "d", "type": "integer", "nullable": true}]}),
        ),
        ("const", json!({"const": "fast"}), json!({"enum": ["fast"], "type": "string"})),
        ("a number as const", json!({"const": 3}), json!({"type": "integer", "description": "One of: 3."})),
        (
            "numbers to choose from stay numbers",
            json!({"type": "integer", "enum": [1, 2], "description": "Level."}),
            json!({"type": "integer", "description": "Level. One of: 1, 2."}),
        ),
        (
            "mixed choices",
            json!({"enum": ["a", 1, null]}),
            json!({"type": "string", "enum": ["a", "1"], "nullable": true}),
        ),
        (
            "a bound that excludes itself",
            json!({"type": "integer", "exclusiveMinimum": 0}),
            json!({"type": "integer", "minimum": 1}),
        ),
        (
            "and one of a fraction",
            json!({"type": "number", "exclusiveMaximum": 0.5}),
            json!({"type": "number", "maximum": 0.5}),
        ),
        (
            "oneOf",
            json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
            json!({"anyOf": [text(), {"type": "number"}]}),
        ),
        (
            "null as a branch",
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}),
            json!({"description": "d", "type": "string", "nullable": true}),
        ),
        (
            "allOf",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": text(), "b": text()}, "required": ["a", "b"]}),
        ),
        (
            "a tuple",
            json!({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
            json!({"type": "array", "items": {"anyOf": [text(), {"type": "number"}]}}),
        ),
        (
            "a tuple of one kind",
            json!({"prefixItems": [{"type": "string"}, {"type": "string"}], "items": false}),
            json!({"items": text(), "type": "array"}),
        ),
        ("a list of what?", json!({"type": "array"}), json!({"type": "array", "items": text()})),
        (
            "anything",
            json!({"type": "object", "properties": {"a": true, "b": {}, "c": false}}),
            json!({"type": "object", "properties": {"a": text(), "b": text()}}),
        ),
        (
            "required and not there",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "z"]}),
            json!({"type": "object", "properties": {"a": text()}, "required": ["a"]}),
        ),
        (
            "properties of a text",
            json!({"type": "string", "properties": {"a": {}}, "required": ["a"], "items": {}}),
            text(),
        ),
        ("a format it does not take", json!({"type": "string", "format": "uri"}), text()),
        (
            "a format it takes",
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "date-time"}),
        ),
        (
            "branches that only narrow",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": text()}}),
        ),
    ];
    check(&GEMINI, &table);
    table.iter().for_each(|(_, given, _)| is_gemini(&reduce(given, &GEMINI)));
}

#[test]
fn references_are_put_in_place_and_end() {
    let given = json!({
        "type": "object",
        "properties": {
            "t": {"$ref": "#/$defs/tag", "description": "mine"},
            "tree": {"$ref": "#/$defs/tree"},
            "far": {"$ref": "https://example.com/x.json"},
            "gone": {"$ref": "#/$defs/none"},
            "self": {"$ref": "#"},
        },
        "$defs": {
            "tag": {"type": "string", "minLength": 1, "description": "theirs"},
            "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}},
        },
    });
    let reduced = reduce(&given, &GEMINI);
    is_gemini(&reduced);
    let of = |name: &str| reduced["properties"][name].clone();
    assert_eq!(of("t"), json!({"type": "string", "minLength": 1, "description": "mine"}));
    assert_eq!(of("tree"), json!({"type": "object", "properties": {"left": {"type": "object"}}}));
    assert_eq!((of("far"), of("gone")), (json!({"type": "object"}), json!({"type": "object"})));
    assert_eq!(of("self")["properties"]["self"], json!({"type": "object"}));
    assert!(reduced.get("$defs").is_none());
}

#[test]
fn a_schema_that_doubles_at_each_step_is_bounded() {
    let mut defs = Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    let given = json!({"$ref": "#/$defs/d0", "$defs": defs});
    assert!(reduce(&given, &GEMINI).to_string().len() < 1 << 20);
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    is_gemini(&reduce(&circle, &GEMINI));
}

#[test]
fn the_field_report_passes() {
    let given = r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
        "properties":{"mode":{"const":"fast"},"n":{"type":["integer","null"],"exclusiveMinimum":0},"t":{"$ref":"#/$defs/tag"}},
        "required":["mode"],"$defs":{"tag":{"type":"string","minLength":1}}}"##;
    let expected = json!({
        "type": "object",
        "properties": {
            "mode": {"enum": ["fast"], "type": "string"},
            "n": {"type": "integer", "minimum": 1, "nullable": true},
            "t": {"type": "string", "minLength": 1},
        },
        "required": ["mode"],
    });
    assert_eq!(Value::Object(parameters(given, &GEMINI).unwrap()), expected);
}

#[test]
fn openai_gets_types_and_lists_and_keeps_the_rest() {
    let plain =
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "x"}}, "$schema": "s"});
    let table = [
        ("what is fine stays", plain.clone(), plain),
        ("const", json!({"const": "a"}), json!({"enum": ["a"], "type": "string"})),
        (
            "a boolean",
            json!({"properties": {"a": true}}),
            json!({"properties": {"a": {"type": "string"}}, "type": "object"}),
        ),
        (
            "references stay",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1], "type": "integer"}}}),
        ),
        (
            "combinations stay",
            json!({"anyOf": [{"const": "a"}, {"type": "null"}]}),
            json!({"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]}),
        ),
    ];
    check(&OPENAI, &table);
}

#[test]
fn kimi_wants_references_alone_and_one_kind_of_item() {
    let table = [
        (
            "reference",
            json!({"properties": {"a": {"$ref": "#/$defs/a", "description": "d"}}}),
            json!({"properties": {"a": {"$ref": "#/$defs/a"}}}),
        ),
        ("tuple", json!({"items": [{"type": "string"}, {"type": "number"}]}), json!({"items": {"type": "string"}})),
        ("the rest stays", json!({"const": 1, "anyOf": [true]}), json!({"const": 1, "anyOf": [true]})),
    ];
    check(&MOONSHOT, &table);
}

#[test]
fn parameters_are_an_object_for_everybody() {
    let empty = json!({"type": "object", "properties": {}});
    for rules in [OPENAI, MOONSHOT, ANTHROPIC, GEMINI, OLLAMA] {
        for given in ["{}", r#"{"type":"object"}"#, r#"{"type":["object","null"],"properties":7}"#] {
            let made = parameters(given, &rules).unwrap();
            assert_eq!((&made["type"], &made["properties"]), (&empty["type"], &empty["properties"]), "{given}");
        }
        let choice = r#"{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a","c"]},{"properties":{"b":{"type":"string"}},"required":["b","c"]}],
            "properties":{"c":{"type":"string"}}}"#;
        let made = Value::Object(parameters(choice, &rules).unwrap());
        assert!(made.get("oneOf").is_none() && made.get("anyOf").is_none(), "{made}");
        assert_eq!(made["type"], "object");
        assert_eq!((made["properties"].as_object().unwrap().len(), &made["required"]), (3, &json!(["c"])), "{made}");
        let referred = r##"{"$ref":"#/definitions/P","definitions":{"P":{"type":"object","properties":{"a":{"type":"string"}}}}}"##;
        assert_eq!(parameters(referred, &rules).unwrap()["properties"], json!({"a": {"type": "string"}}));
        assert!(parameters("[]", &rules).is_err() && parameters("no", &rules).is_err());
    }
    let choice = r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a","c"]},{"properties":{"c":{"type":"string"}},"required":["c"]}]}"#;
    let made = Value::Object(parameters(choice, &ANTHROPIC).unwrap());
    assert_eq!(
        made,
        json!({"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["c"]})
    );
}
