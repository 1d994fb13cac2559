//! Components in five languages that know nothing of this host; what they are is told in `tests/guests/third-party`.

use crate::guests::{guest, stranger};
use crate::stage::{Answer, Stage};
use model::fault::FailureKind;
use model::tool::{ToolFailure, ToolOutput};
use serde_json::{Value, json};

fn stage() -> Stage {
    Stage::new(&[
        ("words", stranger("c/words.wasm")),
        ("statistics", stranger("cpp/statistics.wasm")),
        ("cipher", stranger("assemblyscript/cipher.wasm")),
        ("dates", stranger("wat/dates.wat")),
        ("lister", guest("lister")),
    ])
}

async fn call(stage: &Stage, tool: &str, input: &Value) -> Result<ToolOutput, ToolFailure> {
    stage.run_with(tool, input.clone(), Answer::Yes).await
}

const COUNT: &str = "local_words_count_count";

#[tokio::test(flavor = "multi_thread")]
async fn each_language_answers() {
    let stage = stage();
    for (tool, input, want) in [
        (COUNT, json!({"text": "one  three é"}), json!({"words": 3, "letters": 9, "longest": "three"})),
        (COUNT, json!({"text": ""}), json!({"words": 0, "letters": 0, "longest": null})),
        (
            "summarise",
            json!({"numbers": [1, 2.5, -4]}),
            json!({"count": 3, "mean": -0.5 / 3.0, "least": -4.0, "greatest": 2.5}),
        ),
        ("arrange", json!({"numbers": [3, 1, 3], "wanted": ["sorted", "distinct"]}), json!([1.0, 3.0])),
        ("arrange", json!({"numbers": [3, 1, 3], "wanted": {"distinct": true}}), json!([3.0, 1.0])),
        ("local_dates_years_0_1_0_is-leap", json!({"year": 1900}), json!(false)),
        ("local_dates_years_0_1_0_is-leap", json!({"year": 2000}), json!(true)),
        ("local_dates_years_0_1_0_days-before", json!({"year": 2001}), json!(730_485)),
    ] {
        let out = call(&stage, tool, &input).await.unwrap_or_else(|e| panic!("{tool} {input}: {e}"));
        assert_eq!(out.metadata["result"], want, "{tool} {input}");
    }
    let there = json!({"text": "Xyz, ü!", "places": 3, "direction": "there"});
    assert_eq!(call(&stage, "shift", &there).await.unwrap().text, "Abc, ü!");
    let back = json!({"text": "Abc, ü!", "places": 3, "direction": "back"});
    assert_eq!(call(&stage, "shift", &back).await.unwrap().text, "Xyz, ü!");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_language_fails_in_words() {
    let stage = stage();
    for (tool, input, kind, part) in [
        ("summarise", json!({"numbers": []}), FailureKind::Failed, r#"{"tag":"empty"}"#),
        ("summarise", json!({"numbers": [1, "NaN"]}), FailureKind::Failed, r#"{"tag":"not-finite","val":1}"#),
        ("summarise", json!({"numbers": [1, "two"]}), FailureKind::InvalidInput, "`numbers[1]`"),
        ("shift", json!({"text": "a", "places": 300, "direction": "there"}), FailureKind::InvalidInput, "0 to 255"),
        ("shift", json!({"text": "a", "places": 3, "direction": "up"}), FailureKind::InvalidInput, "there, back"),
        // Nothing was granted to it, so there is no folder that it could see.
        ("list-directory", json!({"path": "."}), FailureKind::Failed, "cannot list ."),
    ] {
        let failure = call(&stage, tool, &input).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{tool} {input}: {failure}");
        assert!(failure.message.contains(part), "{tool} {input}: {failure}");
    }
}

#[test]
fn its_policy_is_understood() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests/third-party/rust/policy.yaml");
    let policy = runtime::policy::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(policy.grant.fs.keys().collect::<Vec<_>>(), ["docs"]);
    assert!(policy.grant.except.contains("docs/private"));
    assert_eq!(policy.grant.limits.memory, Some(32 << 20));
}
