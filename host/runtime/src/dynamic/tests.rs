//! Tables of the conversion, and the law of the way there and back. What is expected stands in the conventions of bare components
//! (names, schemas, shapes of values), bettered where they lose something.

mod walk;

use super::docs::Docs;
use super::misfit::Misfit;
use super::name;
use super::output::{self, TooLarge};
use super::shape::{Int, Shape};
use super::{input, schema, tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use wasmtime::component::Val;

fn text(t: &str) -> String {
    t.to_owned()
}

fn option(of: Shape) -> Shape {
    Shape::Option(Box::new(of))
}

fn list(of: Shape) -> Shape {
    Shape::List(Box::new(of))
}

fn result(ok: Option<Shape>, err: Option<Shape>) -> Shape {
    Shape::Result(ok.map(Box::new), err.map(Box::new))
}

fn record() -> Shape {
    Shape::Record(vec![(text("x"), Shape::Int(Int::U8)), (text("label"), option(Shape::Text))])
}

fn variant() -> Shape {
    Shape::Variant(vec![(text("none"), None), (text("at"), Some(Shape::Int(Int::S32)))])
}

fn flags() -> Shape {
    Shape::Flags(vec![text("read"), text("write"), text("run")])
}

#[test]
fn what_fits_comes_back() {
    // Type, what is written, what is read: the same where nothing stands.
    for (shape, given, back) in [
        (Shape::Bool, json!(true), None),
        (Shape::Int(Int::U8), json!(255), None),
        (Shape::Int(Int::S8), json!(-128), None),
        (Shape::Int(Int::S16), json!(-32768), None),
        (Shape::Int(Int::U16), json!(65535), None),
        (Shape::Int(Int::U32), json!(3.0), Some(json!(3))),
        (Shape::Int(Int::S64), json!(i64::MIN), None),
        (Shape::Int(Int::U64), json!(u64::MAX), None),
        (Shape::Int(Int::U64), json!("18446744073709551615"), Some(json!(u64::MAX))),
        (Shape::Int(Int::S64), json!("-9007199254740993"), Some(json!(-9_007_199_254_740_993_i64))),
        (Shape::Float32, json!(0.1), None),
        (Shape::Float64, json!(0.1), None),
        (Shape::Float64, json!(3), Some(json!(3.0))),
        (Shape::Float64, json!("NaN"), None),
        (Shape::Float32, json!("-Infinity"), None),
        (Shape::Char, json!("ü"), None),
        (Shape::Text, json!("a\"b\u{0}"), None),
        (list(Shape::Int(Int::U8)), json!([0, 255]), None),
        (Shape::Array(Box::new(Shape::Bool), 2), json!([true, false]), None),
        (Shape::Map(Box::new(Shape::Text), Box::new(Shape::Bool)), json!([{"key": "a", "value": true}]), None),
        (record(), json!({"x": 1, "label": "B"}), None),
        (record(), json!({"x": 1}), Some(json!({"x": 1, "label": null}))),
        (Shape::Tuple(vec![Shape::Bool, Shape::Text]), json!([true, "a"]), None),
        (variant(), json!({"tag": "none"}), None),
        (variant(), json!({"tag": "at", "val": -7}), None),
        (Shape::Enum(vec![text("meter"), text("mile")]), json!("mile"), None),
        (option(Shape::Bool), json!(null), None),
        (option(Shape::Bool), json!(true), None),
        (option(option(Shape::Bool)), json!({"some": null}), None),
        (option(option(Shape::Bool)), json!({"some": true}), None),
        (option(option(Shape::Bool)), json!(null), None),
        (result(Some(Shape::Text), None), json!({"ok": "a"}), None),
        (result(Some(Shape::Text), None), json!({"err": null}), None),
        (flags(), json!(["run", "read", "run"]), Some(json!(["read", "run"]))),
        (flags(), json!({"read": false, "write": true}), Some(json!(["write"]))),
    ] {
        let val = input::value(&shape, &given).unwrap_or_else(|m| panic!("{shape:?} {given}: {m}"));
        assert_eq!(output::json(&val, 1000), Ok(back.unwrap_or(given)), "{shape:?}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let deep = list(Shape::Record(vec![(text("points"), list(record()))]));
    for (shape, given, part) in [
        (Shape::Bool, json!("true"), "true or false, not \"true\""),
        (Shape::Int(Int::U8), json!(256), "from 0 to 255, not 256"),
        (Shape::Int(Int::U8), json!(-1), "from 0 to 255"),
        (Shape::Int(Int::U8), json!("7"), "a whole number"),
        (Shape::Int(Int::S32), json!(1.5), "a whole number"),
        (Shape::Int(Int::U64), json!("18446744073709551616"), "a whole number from 0 to 18446744073709551615"),
        (Shape::Int(Int::S64), json!(1e19), "a whole number"),
        (Shape::Float32, json!(1e300), "32 bits"),
        (Shape::Float64, json!("fast"), "a number"),
        (Shape::Char, json!("ab"), "exactly one character"),
        (Shape::Char, json!(""), "exactly one character"),
        (Shape::Text, json!(null), "text, not null"),
        (list(Shape::Bool), json!({}), "a list"),
        (list(Shape::Bool), json!([true, 1]), "`[1]`: it must be true or false"),
        (Shape::Array(Box::new(Shape::Bool), 2), json!([true]), "2 places, not 1"),
        (Shape::Tuple(vec![Shape::Bool]), json!([true, true]), "1 places, not 2"),
        (record(), json!({}), "`x`: it is missing"),
        (record(), json!({"x": 1, "lable": "B"}), "`lable`: nothing of this name is known; there are: x, label"),
        (deep, json!([{"points": [{"x": 1}, {"x": 999}]}]), "`[0].points[1].x`: it must be a whole number"),
        (variant(), json!("none"), "an object"),
        (variant(), json!({"val": 1}), "`tag`"),
        (variant(), json!({"tag": "off"}), "`off` is none of none, at"),
        (variant(), json!({"tag": "none", "val": 1}), "`val`: the case `none` has no value"),
        (variant(), json!({"tag": "at"}), "`val`: it must be a whole number"),
        (Shape::Enum(vec![text("meter")]), json!("feet"), "`feet` is none of meter"),
        (option(option(Shape::Bool)), json!(true), "{some}"),
        (result(None, None), json!({}), "either `ok` or `err`"),
        (result(None, None), json!({"ok": 1}), "`ok`: it must be null"),
        (flags(), json!(["fly"]), "`[0]`: `fly` is none of read, write, run"),
        (flags(), json!({"read": 1}), "`read`: it must be true or false"),
        (flags(), json!(3), "a list of names or an object of booleans"),
    ] {
        let misfit = input::value(&shape, &given).map_err(|m: Misfit| m.to_string());
        let why = misfit.expect_err(&format!("{shape:?} {given}"));
        assert!(why.contains(part), "{shape:?} {given}: {why}");
    }
}

#[test]
fn arguments_come_in_the_order_of_the_parameters() {
    let parameters = [(text("b"), Shape::Bool), (text("a"), option(Shape::Text))];
    let all = input::arguments(&parameters, &json!({"a": "x", "b": true})).unwrap();
    assert_eq!(all, [Val::Bool(true), Val::Option(Some(Box::new(Val::String("x".into()))))]);
    assert_eq!(input::arguments(&parameters, &json!({"b": false})).unwrap(), [Val::Bool(false), Val::Option(None)]);
    assert_eq!(input::arguments(&[], &Value::Null).unwrap(), []);
    assert!(input::arguments(&[], &json!([])).is_err());
    assert!(input::arguments(&[], &json!({"x": 1})).unwrap_err().to_string().contains("there are none"));
}

#[test]
fn a_result_is_bounded_before_it_is_written() {
    let long = Val::List(vec![Val::String("x".repeat(100)); 100]);
    assert_eq!(output::json(&long, 5000), Err(TooLarge));
    assert!(output::json(&long, 20_000).is_ok());
    let small = tool::judged(vec![long], &[list(Shape::Text)], 5000);
    assert!(small["fault"].as_str().unwrap().contains("its result was larger"), "{small}");
    // Quotes and escapes count as they are written.
    let escaped = tool::judged(vec![Val::List(vec![Val::String("\u{1}".repeat(50))])], &[list(Shape::Text)], 100);
    assert!(escaped["fault"].is_string(), "{escaped}");
}

#[test]
fn results_of_calls() {
    let ok = |v: Option<Val>| Val::Result(Ok(v.map(Box::new)));
    let err = |v: Option<Val>| Val::Result(Err(v.map(Box::new)));
    let words = || Val::String("no such city".into());
    let unit = result(None, None);
    for (results, want) in [
        (vec![], json!({"text": "null", "metadata": {}})),
        (vec![words()], json!({"text": "no such city", "metadata": {}})),
        (vec![Val::U64(u64::MAX)], json!({"text": "18446744073709551615", "metadata": {"result": u64::MAX}})),
        (vec![ok(Some(words()))], json!({"text": "no such city", "metadata": {}})),
        (vec![ok(None)], json!({"text": "null", "metadata": {}})),
        (vec![err(Some(words()))], json!({"kind": "failed", "message": "no such city"})),
        (vec![err(None)], json!({"kind": "failed", "message": "The tool failed, and does not say why."})),
        (
            vec![err(Some(Val::Variant("code".into(), Some(Box::new(Val::U8(3))))))],
            json!({"kind": "failed", "message": "{\"tag\":\"code\",\"val\":3}"}),
        ),
        (
            vec![Val::Bool(true), words()],
            json!({
                "text": "{\"val0\":true,\"val1\":\"no such city\"}",
                "metadata": {"result": {"val0": true, "val1": "no such city"}}
            }),
        ),
    ] {
        let shapes = vec![unit.clone(); results.len()];
        assert_eq!(tool::judged(results, &shapes, 1000), want);
    }
}

#[test]
fn schemas() {
    for (shape, want) in [
        (Shape::Bool, json!({"type": "boolean"})),
        (Shape::Int(Int::U8), json!({"type": "integer", "minimum": 0, "maximum": 255})),
        (Shape::Int(Int::S64), json!({"type": ["integer", "string"], "pattern": "^-?[0-9]{1,20}$"})),
        (Shape::Text, json!({"type": "string"})),
        (list(Shape::Text), json!({"type": "array", "items": {"type": "string"}})),
        (
            Shape::Tuple(vec![Shape::Bool, Shape::Text]),
            json!({
                "type": "array", "prefixItems": [{"type": "boolean"}, {"type": "string"}], "minItems": 2, "maxItems": 2
            }),
        ),
        (
            variant(),
            json!({"oneOf": [
                {"type": "object", "properties": {"tag": {"const": "none"}}, "required": ["tag"], "additionalProperties": false},
                {
                    "type": "object",
                    "properties": {
                        "tag": {"const": "at"},
                        "val": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}
                    },
                    "required": ["tag", "val"], "additionalProperties": false
                },
            ]}),
        ),
        (Shape::Enum(vec![text("a")]), json!({"type": "string", "enum": ["a"]})),
        (option(Shape::Bool), json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]})),
    ] {
        let whole = schema::of_parameters(&[(text("v"), shape.clone())]);
        assert_eq!(whole["properties"]["v"], want, "{shape:?}");
        assert_eq!(whole["required"] == json!(["v"]), !shape.is_option(), "{shape:?}");
    }
}

#[test]
fn names() {
    let of = |path: &[&str]| name::of_tool(&path.iter().map(|p| text(p)).collect::<Vec<_>>());
    for (path, want) in [
        (&["fetch"][..], "fetch"),
        (&["local:time-server/time", "get-current-time"], "local_time-server_time_get-current-time"),
        (&["a:b/c@1.0.0-rc.1", "Get-URL"], "a_b_c_1_0_0-rc_1_get-url"),
        (&["outer", "inner", "f"], "outer_inner_f"),
    ] {
        assert_eq!(of(path).as_deref(), Ok(want));
    }
    let (long, longest) = ("a".repeat(100), "b".repeat(129));
    let short = of(&[&long]).unwrap();
    assert!(short.len() == 64 && short.ends_with("aaaa") && short != of(&[&"a".repeat(101)]).unwrap(), "{short}");
    assert!(of(&[&longest]).is_err() && of(&["ü".repeat(300).as_str()]).is_err());

    for (interface, function, toolchains) in [
        (None, "init", true),
        (None, "initialise-all", false),
        (Some("exports"), "x", true),
        (Some("wasi:cli/run@0.2.6"), "run", true),
        (Some("a:b/c"), "init", false),
    ] {
        assert_eq!(name::is_toolchains(interface, function), toolchains, "{interface:?} {function}");
    }
}

#[test]
fn descriptions() {
    let section = |version: u8, json: &Value| [&[version], json.to_string().as_bytes()].concat();
    let rich = json!({
        "worlds": {"w": {
            "docs": "a world",
            "func_exports": {"fetch": {"docs": " Gets a page. ", "stability": "unknown"}},
            "interface_exports": {"inline": {"funcs": {"f": {"docs": "Inline."}}}}
        }},
        "interfaces": {"time": {"docs": "i", "funcs": {"now": {"docs": "Tells the time."}, "silent": {}}}}
    });
    let plain = json!({"worlds": {"w": {"funcs": {"fetch": "Gets a page."}}}});
    for (section, interface, function, want) in [
        (section(1, &rich), None, "fetch", Some("Gets a page.")),
        (section(1, &rich), Some("local:t/time@1.2.3"), "now", Some("Tells the time.")),
        (section(1, &rich), Some("inline"), "f", Some("Inline.")),
        (section(1, &rich), Some("local:t/time"), "silent", None),
        (section(1, &rich), Some("local:t/time"), "absent", None),
        (section(0, &plain), None, "fetch", Some("Gets a page.")),
        (section(9, &rich), None, "fetch", None),
        (b"\x01{broken".to_vec(), None, "fetch", None),
        (vec![], None, "fetch", None),
    ] {
        assert_eq!(Docs::parse(&section).of(interface, function).as_deref(), want, "{interface:?} {function}");
    }
}

/// Types with a value each, small.
fn typed() -> impl Strategy<Value = (Shape, Val)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|x| (Shape::Bool, Val::Bool(x))),
        any::<i8>().prop_map(|x| (Shape::Int(Int::S8), Val::S8(x))),
        any::<u16>().prop_map(|x| (Shape::Int(Int::U16), Val::U16(x))),
        any::<i32>().prop_map(|x| (Shape::Int(Int::S32), Val::S32(x))),
        any::<u64>().prop_map(|x| (Shape::Int(Int::U64), Val::U64(x))),
        any::<i64>().prop_map(|x| (Shape::Int(Int::S64), Val::S64(x))),
        any::<f32>().prop_map(|x| (Shape::Float32, Val::Float32(x))),
        any::<f64>().prop_map(|x| (Shape::Float64, Val::Float64(x))),
        any::<char>().prop_map(|x| (Shape::Char, Val::Char(x))),
        ".{0,8}".prop_map(|x| (Shape::Text, Val::String(x))),
        proptest::sample::subsequence(vec!["read", "write", "run"], 0..=3)
            .prop_map(|x| (flags(), Val::Flags(x.into_iter().map(text).collect()))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = |v: Val| Some(Box::new(v));
        prop_oneof![
            inner.clone().prop_map(|(s, v)| (list(s), Val::List(vec![v.clone(), v]))),
            inner.clone().prop_map(move |(s, v)| (option(s), Val::Option(boxed(v)))),
            inner.clone().prop_map(|(s, _)| (option(s), Val::Option(None))),
            inner.clone().prop_map(move |(s, v)| (result(Some(s), None), Val::Result(Ok(boxed(v))))),
            inner.clone().prop_map(move |(s, v)| (result(None, Some(s)), Val::Result(Err(boxed(v))))),
            inner.clone().prop_map(move |(s, v)| {
                (Shape::Variant(vec![(text("no"), None), (text("yes"), Some(s))]), Val::Variant(text("yes"), boxed(v)))
            }),
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|all| {
                let (shapes, vals): (Vec<_>, Vec<_>) = all.into_iter().unzip();
                (Shape::Tuple(shapes), Val::Tuple(vals))
            }),
            proptest::collection::vec(inner, 1..4).prop_map(|all| {
                let named = |i: usize| format!("f{i}");
                let (shapes, vals): (Vec<_>, Vec<_>) =
                    all.into_iter().enumerate().map(|(i, (s, v))| ((named(i), s), (named(i), v))).unzip();
                (Shape::Record(shapes), Val::Record(vals))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// A value written as JSON text and read again is the same value. (No value of a float that is no number equals itself:
    /// their JSON is compared.)
    #[test]
    fn there_and_back((shape, val) in typed()) {
        let written = output::json(&val, 1 << 20).unwrap();
        let read: Value = serde_json::from_str(&written.to_string()).unwrap();
        let back = input::value(&shape, &read).map_err(|m| TestCaseError::fail(format!("{shape:?} {read}: {m}")))?;
        prop_assert_eq!(output::json(&back, 1 << 20).unwrap(), written);
    }

    /// Whatever is given for whatever type, it is fitted or refused.
    #[test]
    fn a_value_of_another_type_is_no_accident((shape, _) in typed(), (_, other) in typed()) {
        let written = output::json(&other, 1 << 20).unwrap();
        if let Ok(val) = input::value(&shape, &written) {
            prop_assert!(output::json(&val, 1 << 20).is_ok());
        }
    }
}
