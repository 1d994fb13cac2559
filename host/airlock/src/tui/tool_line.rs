//! One line for one call: which tool, on what, how long, how it went.

use super::clean::one_line;
use anstyle::{AnsiColor, Style};
use model::message::ToolPart;
use model::tool_state::{Metadata, ToolState};
use serde_json::Value;

const WIDTH: usize = 100;

/// Arguments that name what a call is about, the most telling first.
const TELLING: &[&str] = &["filePath", "command", "pattern", "path", "url", "query", "description", "name"];

/// A call that is under way.
#[must_use]
pub fn running(tool: &ToolPart) -> String {
    let title = match &tool.state {
        ToolState::Running { title: Some(title), .. } => title.clone(),
        state => target(state.input()),
    };
    one_line(&format!("{} {title}", tool.tool), WIDTH)
}

/// A call that has ended.
#[must_use]
pub fn ended(tool: &ToolPart) -> String {
    let dim = Style::new().dimmed();
    match &tool.state {
        ToolState::Completed { input, title, time, metadata, .. } => {
            let about = if title.is_empty() { target(input) } else { title.clone() };
            let opened = opened(metadata);
            format!("{}  {dim}{}{dim:#}{opened}", name_and(&tool.tool, &about), took(time.start, time.end))
        }
        ToolState::Error { input, error, time, metadata } => {
            let red = AnsiColor::Red.on_default();
            let kind = metadata.get("kind").and_then(Value::as_str).unwrap_or("failed");
            let why = one_line(error, WIDTH);
            format!(
                "{}  {dim}{}{dim:#}  {red}{kind}{red:#}: {why}",
                name_and(&tool.tool, &target(input)),
                took(time.start, time.end)
            )
        }
        ToolState::Pending { .. } | ToolState::Running { .. } => running(tool),
    }
}

fn name_and(tool: &str, about: &str) -> String {
    let bold = Style::new().bold();
    format!("{bold}{}{bold:#} {}", one_line(tool, WIDTH), one_line(about, WIDTH))
}

/// What was opened of the sandbox for it.
fn opened(metadata: &Metadata) -> String {
    let list = metadata.get("sandbox").and_then(|s| s.get("opened")).and_then(Value::as_array);
    let names: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() {
        return String::new();
    }
    let yellow = AnsiColor::Yellow.on_default();
    format!("  {yellow}beyond the sandbox: {}{yellow:#}", one_line(&names.join(", "), WIDTH))
}

/// What a call is about, from its arguments.
fn target(input: &Value) -> String {
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    telling.map_or_else(String::new, str::to_owned)
}

fn took(start: u64, end: Option<u64>) -> String {
    length(end.unwrap_or(start).saturating_sub(start))
}

/// Milliseconds as a person says them.
#[must_use]
pub fn length(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fault::FailureKind;
    use model::id::CallId;
    use model::tool_state::Done;
    use serde_json::json;

    fn call(tool: &str, input: Value) -> ToolPart {
        let mut state = ToolState::pending();
        state.start(input, 1_000);
        ToolPart { call_id: CallId::given("c"), tool: tool.into(), state, metadata: Metadata::new() }
    }

    fn stripped(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_call_is_told_in_one_line() {
        let mut read = call("read", json!({"filePath": "src/a.rs", "limit": 3}));
        assert_eq!(running(&read), "read src/a.rs");
        read.state.complete(Done::default(), 1_012);
        assert_eq!(stripped(&ended(&read)), "read src/a.rs  12 ms");
        let mut bash = call("bash", json!({"command": "make\n  all"}));
        bash.state.fail(FailureKind::TimedOut, "it took\ntoo long".into(), Metadata::new(), 62_500);
        assert_eq!(stripped(&ended(&bash)), "bash make all  1 min 01 s  timed-out: it took too long");
    }

    #[test]
    fn what_was_opened_of_the_sandbox_is_told() {
        let mut bash = call("bash", json!({"command": "npm ci"}));
        let metadata = json!({"sandbox": {"level": "full", "opened": ["network", "write /srv\u{1b}[2J"]}});
        let Value::Object(metadata) = metadata else { panic!() };
        bash.state.complete(Done { metadata, ..Done::default() }, 1_012);
        assert_eq!(stripped(&ended(&bash)), "bash npm ci  12 ms  beyond the sandbox: network, write /srv[2J");
    }

    #[test]
    fn lengths() {
        for (ms, want) in [(0, "0 ms"), (999, "999 ms"), (1_250, "1.2 s"), (59_999, "59.9 s"), (125_000, "2 min 05 s")]
        {
            assert_eq!(length(ms), want);
        }
    }
}
