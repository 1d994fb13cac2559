//! Components, written by hand: which of their exports become tools. Nothing of them runs.

use super::super::{Docs, Reflected, reflect};
use serde_json::json;
use wasmtime::component::Component;
use wasmtime::{Config, Engine};

fn reflected(text: &str) -> Reflected {
    let mut config = Config::new();
    config.wasm_component_model_async(true);
    let engine = Engine::new(&config).unwrap();
    reflect(&Component::new(&engine, wat::parse_str(text).unwrap()).unwrap(), &engine)
}

fn names(found: &Reflected) -> Vec<&str> {
    found.functions.iter().map(|f| f.name.as_str()).collect()
}

/// A component around functions that do nothing, of these types.
fn lifted(types: &[(&str, &str)]) -> String {
    let each = |(name, ty): &(&str, &str)| format!("(func (export \"{name}\") {ty} (canon lift (core func $m \"f\")))");
    let functions: String = types.iter().map(each).collect();
    format!("(component (core module $c (func (export \"f\"))) (core instance $m (instantiate $c)) {functions})")
}

#[test]
fn functions_of_the_root_and_of_instances() {
    let text = r#"(component
        (core module $c (func (export "f")))
        (core instance $m (instantiate $c))
        (func $f (canon lift (core func $m "f")))
        (instance $inner (export "f" (func $f)))
        (instance $outer (export "g" (func $f)) (export "inner" (instance $inner)))
        (export "plain" (func $f))
        (export "init" (func $f))
        (export "local:time-server/time" (instance $outer))
        (export "exports" (instance $inner))
        (export "wasi:cli/run@0.2.0" (instance $inner)))"#;
    let found = reflected(text);
    assert_eq!(names(&found), ["plain", "local_time-server_time_g", "local_time-server_time_inner_f"]);
    assert_eq!(found.functions[2].path, ["local:time-server/time", "inner", "f"]);
    assert!(found.left_out.is_empty());
    let spec = found.functions[0].spec(&Docs::default());
    assert_eq!(spec.description, "Calls the function `plain`.");
    assert_eq!(
        spec.input_schema,
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
    );
    assert!(!spec.annotations.read_only && spec.scopes.is_empty());
}

#[test]
fn unusual_types_are_left_out_with_the_reason() {
    let text = r#"(component
        (core module $c (func (export "f") (param i32)) (func (export "g") (result i32) i32.const 0))
        (core instance $m (instantiate $c))
        (type $r (resource (rep i32)))
        (export $e "thing" (type $r))
        (func (export "takes") (param "t" (own $e)) (canon lift (core func $m "f")))
        (func (export "streams") (param "s" (stream u8)) (canon lift (core func $m "f")))
        (func (export "counts") (result u32) (canon lift (core func $m "g"))))"#;
    let found = reflected(text);
    assert_eq!(names(&found), ["counts"]);
    assert_eq!(
        found.left_out,
        ["takes: it takes or gives a resource", "streams: it takes or gives a stream or future"]
    );
}

#[test]
fn a_name_that_is_too_long_is_left_out() {
    let long = "a".repeat(200);
    let found = reflected(&lifted(&[(&long, ""), ("fine", "")]));
    assert_eq!(names(&found), ["fine"]);
    assert!(found.left_out[0].ends_with("longer than 128 characters"));
}

/// Sixteen types, each of two of the one before: written out, sixty thousand fields.
#[test]
fn types_that_grow_beyond_measure() {
    let doubled: String = (1..=16).map(|i| format!("(type $t{i} (tuple $t{} $t{}))", i - 1, i - 1)).collect();
    let text = format!(
        r#"(component
            (core module $c
                (memory (export "m") 1)
                (func (export "r") (param i32 i32 i32 i32) (result i32) i32.const 0)
                (func (export "f") (param i32 i32)))
            (core instance $m (instantiate $c))
            (type $t0 (list u8)) {doubled}
            (func (export "big") (param "t" (list $t16))
                (canon lift (core func $m "f") (memory (core memory $m "m")) (realloc (core func $m "r")))))"#
    );
    assert_eq!(reflected(&text).left_out, ["big: its types are too large"]);
}
