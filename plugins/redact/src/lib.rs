//! A hook that masks what looks like a key, in finished texts and in results of tools. Calls pass as they are: a masked argument would
//! do something else than the model meant.

mod shapes;

use airlock::{CallContext, TextComplete, TextContext, ToolAfter, ToolBefore, ToolView};
use serde_json::{Map, Value};
use shapes::masked;

/// Masks keys.
#[derive(Debug)]
pub struct Redact;

impl TextComplete for Redact {
    fn run(_: &TextContext, text: String) -> String {
        masked(text)
    }
}

impl ToolBefore for Redact {
    fn run(_: &CallContext, _: &str, input: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(input)
    }
}

impl ToolAfter for Redact {
    fn run(_: &CallContext, _: &str, _: &Map<String, Value>, output: ToolView) -> ToolView {
        ToolView { title: masked(output.title), text: masked(output.text), metadata: masked_map(output.metadata) }
    }
}

fn masked_map(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter().map(|(key, value)| (key, masked_value(value))).collect()
}

fn masked_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(masked(text)),
        Value::Array(items) => items.into_iter().map(masked_value).collect(),
        Value::Object(map) => Value::Object(masked_map(map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

airlock::hook_plugin! { guard: Redact }

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_masked_all_through() {
        let key = format!("ghp_{}", "a1".repeat(18));
        let metadata = json!({ "n": 1, "list": [{ "x": format!("k {key}") }] });
        let Value::Object(metadata) = metadata else { unreachable!() };
        let view = ToolView { title: key.clone(), text: format!("a {key} b"), metadata };
        let view = Redact::run_after(view);
        assert_eq!((view.title.as_str(), view.text.as_str()), ("[redacted]", "a [redacted] b"));
        assert_eq!(Value::Object(view.metadata), json!({ "n": 1, "list": [{ "x": "k [redacted]" }] }));
    }

    #[test]
    fn texts_are_masked_and_calls_are_not() {
        let key = format!("AKIA{}", "Z".repeat(16));
        assert_eq!(
            <Redact as TextComplete>::run(&TextContext::default(), format!("it is {key}.")),
            "it is [redacted]."
        );
        let Value::Object(input) = json!({ "content": key }) else { unreachable!() };
        assert_eq!(<Redact as ToolBefore>::run(&CallContext::default(), "write", input.clone()), Ok(input));
    }

    impl Redact {
        fn run_after(view: ToolView) -> ToolView {
            <Self as ToolAfter>::run(&CallContext::default(), "read", &Map::new(), view)
        }
    }
}
