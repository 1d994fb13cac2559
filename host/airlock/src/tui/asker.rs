//! Whoever answers the gate's questions: a person at the terminal, `--yes`, or nobody.

use super::Screen;
use super::clean::{bounded, clean};
use super::diff;
use super::input::Input;
use super::inquiry;
use crate::cli::{Yes, say_styled};
use async_trait::async_trait;
use model::permission::{Ask, Asker, ESCALATE, Reply};
use model::question::{Answers, Inquiry};
use serde_json::Value;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Nobody is there.
pub struct Nobody;

#[async_trait]
impl Asker for Nobody {
    async fn ask(&self, _: &Ask, _: &CancellationToken) -> Option<Reply> {
        None
    }
}

/// `--yes`: the same answer to every question.
pub struct Ready(pub Yes);

#[async_trait]
impl Asker for Ready {
    async fn ask(&self, _: &Ask, _: &CancellationToken) -> Option<Reply> {
        Some(match self.0 {
            Yes::Once => Reply::Once,
            Yes::Always => Reply::Always,
        })
    }
}

/// A person who reads stderr and writes to stdin. One question at a time.
pub struct Person {
    screen: Arc<Screen>,
    /// Where a shell line runs that names no other place.
    directory: PathBuf,
    input: Mutex<Input>,
}

impl Person {
    #[must_use]
    pub fn new(screen: Arc<Screen>, directory: PathBuf) -> Self {
        Self { screen, directory, input: Mutex::default() }
    }

    /// A question can be seen and answered.
    #[must_use]
    pub fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

#[async_trait]
impl Asker for Person {
    async fn ask(&self, ask: &Ask, cancel: &CancellationToken) -> Option<Reply> {
        let mut input = self.input.lock().await;
        let _hold = self.screen.hold();
        // Whoever typed ahead has not seen the question.
        input.forget().await;
        say_styled(&question(ask, &self.directory));
        loop {
            prompt(ask);
            let line = tokio::select! {
                () = cancel.cancelled() => return None,
                line = input.line() => line?,
            };
            match understand(&line) {
                Some(Reply::Always) if ask.always.is_empty() => say_styled("  Always is not to be had for this."),
                Some(reply) => return Some(reply),
                None => {}
            }
        }
    }

    async fn question(&self, inquiry: &Inquiry, cancel: &CancellationToken) -> Option<Answers> {
        let mut input = self.input.lock().await;
        let _hold = self.screen.hold();
        input.forget().await;
        let mut answers = Answers::new();
        for question in &inquiry.questions {
            say_styled(&inquiry::shown(question));
            inquiry::prompt();
            let line = tokio::select! {
                () = cancel.cancelled() => return None,
                line = input.line() => line?,
            };
            answers.push(inquiry::chosen(question, &line));
        }
        Some(answers)
    }
}

/// *Always* is offered where it would add something.
fn prompt(ask: &Ask) {
    let mut err = anstream::stderr().lock();
    let always = if ask.always.is_empty() { "" } else { ", [a]lways," };
    let _ = write!(err, "  [o]nce{always} or [r]eject (with a reason: r REASON): ").and_then(|()| err.flush());
}

/// Characters shown of a pattern or a shell line. No call is approved unseen: what is longer says so.
const MAX_SHOWN: usize = 4000;

/// Patterns shown.
const MAX_PATTERNS: usize = 50;

fn question(ask: &Ask, directory: &Path) -> String {
    let bold = anstyle::Style::new().bold();
    // Whose act it is, where it is not the run's own.
    let child =
        ask.metadata.get("agent").and_then(Value::as_str).map(|a| format!("{}: ", clean(a))).unwrap_or_default();
    let opens: Vec<&str> =
        ask.metadata.get("opens").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let title = if ask.permission == ESCALATE {
        format!("{bold}{child}{} asks to run a line with more than the sandbox lets it{bold:#}", clean(&ask.tool.name))
    } else {
        format!("{bold}{child}{} asks for {}{bold:#}", clean(&ask.tool.name), clean(&ask.permission))
    };
    let mut lines = vec![title];
    // In the host's words; what the line itself is stands below.
    match opens.is_empty() {
        true => lines.extend(list(&ask.patterns)),
        false => lines.extend(opens.into_iter().map(block)),
    }
    // Why the loop guard asks.
    lines.extend(
        ask.metadata.get("flow").and_then(Value::as_str).map(|rule| format!("  by the flow rule {}", clean(rule))),
    );
    lines.extend(ask.metadata.get("loop").and_then(Value::as_str).map(block));
    lines.extend(ask.metadata.get("input").map(|input| about(input, directory)).unwrap_or_default());
    if let Some(d) = ask.metadata.get("diff").and_then(Value::as_str) {
        lines.push(diff::coloured(d));
    }
    if !ask.always.is_empty() {
        lines.push("  always would allow, in this repository from now on:".into());
        lines.extend(list(&for_good(ask)));
    }
    lines.join("\n")
}

/// What *always* adds, each with its permission, in words that leave nothing to guess.
fn for_good(ask: &Ask) -> Vec<String> {
    let patterns = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let needs = ask.metadata.get("needs").and_then(Value::as_array);
    let mixed = needs.into_iter().flatten().flat_map(|need| {
        let permission = need["permission"].as_str().unwrap_or_default().to_owned();
        patterns(&need["always"]).into_iter().map(move |p| (permission.clone(), p))
    });
    let mut each: Vec<(String, String)> = mixed.collect();
    if each.is_empty() {
        each = ask.always.iter().map(|p| (ask.permission.clone(), p.clone())).collect();
    }
    let mut told: Vec<String> = each.iter().map(|(permission, pattern)| in_full(permission, pattern)).collect();
    told.dedup();
    told
}

/// `DIR/*` reaches every depth, which its look does not tell.
fn in_full(permission: &str, pattern: &str) -> String {
    match pattern.strip_suffix("/*").filter(|_| permission == "external_directory") {
        Some(folder) => format!("{permission} {pattern} (all that lies below {folder}, at any depth)"),
        None => format!("{permission} {pattern}"),
    }
}

fn list(patterns: &[String]) -> Vec<String> {
    let rest = patterns.len().saturating_sub(MAX_PATTERNS);
    let more = (rest > 0).then(|| format!("  … and {rest} more"));
    patterns.iter().take(MAX_PATTERNS).map(|p| block(p)).chain(more).collect()
}

/// A text of any number of lines, set in. The terminal wraps what is too wide.
fn block(text: &str) -> String {
    format!("  {}", bounded(text, MAX_SHOWN).replace('\n', "\n  "))
}

/// What the call is going to do, as far as its arguments tell: the whole shell line and its place, the change of a file.
fn about(input: &Value, directory: &Path) -> Vec<String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let named = |name, key| text(key).map(|t| format!("  {name}:\n{}", block(t)));
    let place =
        || text("workdir").map_or_else(|| directory.display().to_string(), |t| directory.join(t).display().to_string());
    let place = text("command").map(|_| format!("  in {}", bounded(&place(), MAX_SHOWN)));
    let change = match (text("oldString"), text("newString"), text("content")) {
        (None, None, None) => None,
        (old, new, content) => Some(diff::change(old.unwrap_or_default(), new.or(content).unwrap_or_default())),
    };
    let everywhere = input.get("replaceAll").and_then(Value::as_bool).unwrap_or(false);
    let everywhere = everywhere.then(|| "  in every place of the file".to_owned());
    [named("the line", "command"), place, change, everywhere].into_iter().flatten().collect()
}

/// What a person wrote. `None` = to be asked again.
fn understand(line: &str) -> Option<Reply> {
    let line = line.trim();
    let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let reason = Some(reason.trim().to_owned()).filter(|r| !r.is_empty());
    match word.to_ascii_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Some(Reply::Once),
        "a" | "always" => Some(Reply::Always),
        "r" | "reject" | "n" | "no" => Some(Reply::Reject { message: reason }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::{AskId, CallId, MessageId, SessionId};
    use model::permission::AskTool;
    use serde_json::json;

    fn shown(patterns: &[&str], input: Value) -> String {
        let ask = Ask {
            id: AskId::new(),
            session_id: SessionId::new(),
            permission: "bash".into(),
            patterns: patterns.iter().map(|&p| p.to_owned()).collect(),
            always: vec!["always *".into()],
            metadata: json!({ "tool": "t", "input": input }),
            tool: AskTool { message_id: MessageId::new(), call_id: CallId::given("c"), name: "t".into() },
        };
        let text = question(&ask, Path::new("/home/w"));
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_circle_is_told_with_the_question() {
        let ask = Ask {
            id: AskId::new(),
            session_id: SessionId::new(),
            permission: model::permission::DOOM_LOOP.into(),
            patterns: vec!["grep".into()],
            always: vec!["grep".into()],
            metadata: json!({ "tool": "grep", "input": {}, "loop": "grep was called 3 times" }),
            tool: AskTool { message_id: MessageId::new(), call_id: CallId::given("c"), name: "grep".into() },
        };
        assert!(question(&ask, Path::new("/home/w")).contains("grep was called 3 times"));
    }

    #[test]
    fn what_is_opened_of_the_sandbox_is_said_in_words() {
        let ask = Ask {
            id: AskId::new(),
            session_id: SessionId::new(),
            permission: ESCALATE.into(),
            patterns: vec!["network: npm ci".into()],
            always: vec![],
            metadata: json!({ "tool": "bash", "input": { "command": "npm ci" }, "opens": ["with the network: any host"] }),
            tool: AskTool { message_id: MessageId::new(), call_id: CallId::given("c"), name: "bash".into() },
        };
        let text = anstream::adapter::strip_str(&question(&ask, Path::new("/home/w"))).to_string();
        for word in ["with more than the sandbox lets it", "  with the network: any host", "npm ci", "in /home/w"] {
            assert!(text.contains(word), "{word:?} should be in {text}");
        }
        assert!(!text.contains("always would allow"), "{text}");
    }

    #[test]
    fn a_question_hides_nothing_of_what_is_approved() {
        let long = format!("{}END", "x ".repeat(900));
        let too_long = format!("{}12345", "y".repeat(MAX_SHOWN));
        for (patterns, input, words) in [
            (vec!["a"], json!({}), vec!["t asks for bash", "  a\n", "always *"]),
            (vec![&*long], json!({}), vec!["x END"]),
            (vec!["ls"], json!({ "command": &long, "workdir": "/srv/x" }), vec!["x END", "in /srv/x"]),
            (vec!["ls"], json!({ "command": "ls" }), vec!["in /home/w"]),
            (vec!["ls"], json!({ "command": "ls", "workdir": "sub" }), vec!["in /home/w/sub"]),
            (vec!["ls"], json!({ "command": too_long }), vec!["y… and 5 more characters"]),
            (vec!["ls"], json!({ "command": "ls\n\u{1b}[2Jrm" }), vec!["  ls\n  [2Jrm"]),
            (vec!["f"], json!({ "filePath": "f", "oldString": "-- x", "newString": "y" }), vec!["  --- x\n  +y"]),
            (vec!["f"], json!({ "filePath": "f", "content": "a\n".repeat(70) }), vec!["  +a\n", "10 more lines"]),
            (vec!["f"], json!({ "oldString": "a", "newString": "", "replaceAll": true }), vec!["-a", "every place"]),
            (vec!["p"; 60], json!({}), vec!["… and 10 more"]),
        ] {
            let text = shown(&patterns, input);
            for word in words {
                assert!(text.contains(word), "{word:?} should be in {text}");
            }
        }
    }

    #[test]
    fn what_always_covers_is_told_exactly() {
        let needs = json!([
            { "permission": "external_directory", "pattern": "/srv/x/*", "always": ["/srv/x/*"] },
            { "permission": "bash", "pattern": "cat /srv/x/y", "always": ["cat *"] },
        ]);
        let ask = |permission: &str, metadata: Value| Ask {
            id: AskId::new(),
            session_id: SessionId::new(),
            permission: permission.into(),
            patterns: vec!["p".into()],
            always: vec!["/srv/x/*".into()],
            metadata,
            tool: AskTool { message_id: MessageId::new(), call_id: CallId::given("c"), name: "t".into() },
        };
        let below = "external_directory /srv/x/* (all that lies below /srv/x, at any depth)";
        for (ask, want) in [
            (ask("external_directory", Value::Null), vec![below]),
            (ask("read", Value::Null), vec!["read /srv/x/*"]),
            (ask("bash", json!({ "needs": needs })), vec![below, "bash cat *"]),
        ] {
            assert_eq!(for_good(&ask), want);
            let shown = question(&ask, Path::new("/w"));
            assert!(want.iter().all(|w| shown.contains(w)), "{shown}");
        }
    }

    #[test]
    fn answers() {
        let reject = |m: Option<&str>| Some(Reply::Reject { message: m.map(str::to_owned) });
        for (line, want) in [
            ("o\n", Some(Reply::Once)),
            (" YES ", Some(Reply::Once)),
            ("always", Some(Reply::Always)),
            ("r", reject(None)),
            ("r use the other file\n", reject(Some("use the other file"))),
            ("", None),
            ("what?", None),
        ] {
            assert_eq!(understand(line), want, "{line:?}");
        }
    }
}
