//! The tool `bash`: shell lines in the sandbox.

mod output;

use airlock::host::{Child, Command, Event, Exit, SpawnError};
use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use output::Tail;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// A day: what the manifest asks for.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
/// The person sees what is printed this often at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
const MAX_TITLE: usize = 80;

/// Runs a shell line.
#[derive(Debug)]
pub struct Bash;

/// Arguments of [`Bash`].
#[derive(Debug, Deserialize)]
pub struct Input {
    pub command: String,
    #[serde(default, deserialize_with = "airlock::whole")]
    pub timeout: Option<u64>,
    pub workdir: Option<String>,
}

impl Tool for Bash {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The shell line" },
                "timeout": { "type": "integer", "minimum": 1, "description": "Milliseconds after which it is ended; 120000 if absent" },
                "workdir": { "type": "string", "description": "Folder to run it in; the workspace if absent" },
            },
            "required": ["command"],
        });
        let description = "Runs a shell line and returns what it prints (stdout and stderr together) and its exit code if that is not 0. \
            Each call is a fresh shell in the workspace: cd and variables do not last to the next call; use workdir, or join commands with &&. \
            There is no standard input, and what runs in the background is ended when the line ends. \
            Of long output the last 2000 lines or 50 KiB are returned. \
            For files use read, write, edit, glob and grep.";
        ToolSpec::new("bash", description, schema).destructive().open_world().scope("command", ScopeKind::Command)
    }

    fn call(_: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let title: String = input.command.lines().next().unwrap_or_default().chars().take(MAX_TITLE).collect();
        let timeout_ms = input.timeout.unwrap_or(DEFAULT_TIMEOUT_MS).clamp(1, MAX_TIMEOUT_MS);
        let mut child = host::spawn(command(input, timeout_ms)).map_err(not_started)?;
        // The first output is told at once: a line that is interrupted soon after has shown what it printed.
        let mut last: Option<Instant> = None;
        let (tail, exit) = run(&mut child, |tail| {
            if last.is_none_or(|at| at.elapsed() >= PROGRESS_EVERY) {
                last = Some(Instant::now());
                host::progress(None, Some(&json!({ "output": tail.recent() })));
            }
        });
        Ok(report(&tail, exit, timeout_ms, child.kept()).titled(title))
    }
}

fn command(input: Input, timeout_ms: u64) -> Command {
    let mut command = Command::shell(input.command);
    command.cwd = input.workdir;
    command.timeout = Some(Duration::from_millis(timeout_ms));
    command.keep_over = Some(output::MAX_BYTES as u64);
    command
}

fn not_started(error: SpawnError) -> ToolFailure {
    match error {
        SpawnError::Denied(text) => ToolFailure::Denied(text),
        SpawnError::NotFound(text) => ToolFailure::NotFound(text),
        SpawnError::Failed(text) => ToolFailure::Failed(text),
    }
}

/// Reads a program to its end. One that stops without an end was killed.
fn run(child: &mut impl Child, mut printed: impl FnMut(&Tail)) -> (Tail, Exit) {
    let mut tail = Tail::default();
    loop {
        match child.next() {
            Some(Event::Output(_, data)) => {
                tail.push(&data);
                printed(&tail);
            }
            Some(Event::Exited(exit)) => return (tail, exit),
            None => return (tail, Exit::Killed),
        }
    }
}

/// What is said of an end that is not plain success; `None` = nothing.
fn note(exit: Exit, timeout_ms: u64) -> Option<String> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("exit code {code}")),
        Exit::Signal(signal) => Some(format!("ended by signal {signal} (exit code {})", 128 + signal)),
        Exit::TimedOut => Some(format!(
            "timed out: ended after {timeout_ms} ms, with all that it had started. If it needs longer, give a larger timeout."
        )),
        Exit::Killed => Some("aborted: it was ended, with all that it had started.".to_owned()),
    }
}

fn report(tail: &Tail, exit: Exit, timeout_ms: u64, kept: Option<String>) -> ToolOutput {
    let shown = tail.shown();
    let mut text = shown.header(kept.as_deref()) + if shown.text.is_empty() { "(no output)" } else { &shown.text };
    if let Some(note) = note(exit, timeout_ms) {
        text += &format!("\n\n<shell_metadata>\n{note}\n</shell_metadata>");
    }
    let output = ToolOutput::text(text)
        .with("output", tail.recent())
        .with("exit", code(exit))
        .with("truncated", shown.truncated);
    let output = match kept {
        Some(path) if shown.truncated => output.with("outputPath", path),
        _ => output,
    };
    match exit {
        Exit::TimedOut => output.with("timed_out", true),
        Exit::Killed => output.with("aborted", true),
        Exit::Code(_) | Exit::Signal(_) => output,
    }
}

/// As a shell gives it: 128 and the signal for a death by signal.
fn code(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => code.into(),
        Exit::Signal(signal) => (128 + signal).into(),
        Exit::TimedOut | Exit::Killed => Value::Null,
    }
}

airlock::tool_plugin! {
    Bash;
    "process": { "programs": ["*"] },
    "limits": { "wall_ms": 86400000, "cpu_ms": 60000, "output": 1048576 }
}

#[cfg(test)]
mod tests;
