//! The tool `bash`: shell lines in the sandbox.

mod output;

use airlock::host::{Beyond, Child, Command, Event, Exit, SpawnError};
use airlock::{CallContext, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec};
use output::Tail;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// An hour, for a line in the background.
const DEFAULT_BACKGROUND_MS: u64 = 3_600_000;
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
    #[serde(default)]
    pub background: bool,
    pub escalate: Option<Escalate>,
}

/// What a line is to be let do beyond the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Escalate {
    pub network: bool,
    pub write: Vec<String>,
    pub no_sandbox: bool,
}

impl Escalate {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Tool for Bash {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The shell line" },
                "timeout": { "type": "integer", "minimum": 1, "description": "Milliseconds after which it is ended; 120000 if absent, in the background an hour" },
                "workdir": { "type": "string", "description": "Folder to run it in; the workspace if absent" },
                "background": { "type": "boolean", "description": "Come back at once with an id for bash_output and bash_stop, and leave it running: for servers and watchers. It ends with your final answer" },
                "escalate": {
                    "type": "object",
                    "description": "Only where the sandbox has refused what this line needs: the person is asked for it each time",
                    "properties": {
                        "network": { "type": "boolean", "description": "Reach the network" },
                        "write": { "type": "array", "items": { "type": "string" }, "description": "Folders or files outside the workspace to change" },
                        "no_sandbox": { "type": "boolean", "description": "Run without the sandbox: the last resort" },
                    },
                    "additionalProperties": false,
                },
            },
            "required": ["command"],
        });
        let description = "Runs a shell line and returns what it prints (stdout and stderr together) and its exit code if that is not 0. \
            Each call is a fresh shell in the workspace: cd and variables do not last to the next call; use workdir, or join commands with &&. \
            There is no standard input, and what a line starts with & is ended when the line ends. \
            Lines run in a sandbox: no network, and only the workspace can be changed. \
            Of long output the last 2000 lines or 50 KiB are returned. \
            For files use read, write, edit, glob and grep.";
        ToolSpec::new("bash", description, schema).destructive().open_world().scope("command", ScopeKind::Command)
    }

    fn call(_: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        let title: String = input.command.lines().next().unwrap_or_default().chars().take(MAX_TITLE).collect();
        let default = if input.background { DEFAULT_BACKGROUND_MS } else { DEFAULT_TIMEOUT_MS };
        let timeout_ms = input.timeout.unwrap_or(default).clamp(1, MAX_TIMEOUT_MS);
        let (background, escalate) = (input.background, input.escalate.clone().unwrap_or_default());
        let is_held = escalate.is_nothing();
        let mut child = start(command(input, timeout_ms), escalate).map_err(not_started)?;
        if background {
            return child.leave().map(|id| left(&id, timeout_ms).titled(title)).map_err(ToolFailure::Failed);
        }
        // The first output is told at once: a line that is interrupted soon after has shown what it printed.
        let mut last: Option<Instant> = None;
        let (tail, exit) = run(&mut child, |tail| {
            if last.is_none_or(|at| at.elapsed() >= PROGRESS_EVERY) {
                last = Some(Instant::now());
                host::progress(None, Some(&json!({ "output": tail.recent() })));
            }
        });
        let output = report(&tail, exit, timeout_ms, child.kept());
        Ok(if is_held { hinted(output, exit) } else { output }.titled(title))
    }
}

fn start(command: Command, escalate: Escalate) -> Result<host::Running, SpawnError> {
    if escalate.is_nothing() {
        return host::spawn(command);
    }
    let Escalate { network, write, no_sandbox } = escalate;
    host::spawn_beyond(command, Beyond { network, writable: write, unconfined: no_sandbox })
}

/// What is said of a line that runs on.
fn left(id: &str, timeout_ms: u64) -> ToolOutput {
    let text = format!(
        "It runs in the background as {id}. bash_output shows what it prints, bash_stop ends it; you are told when it has ended. It \
         ends with your final answer, or after {timeout_ms} ms. Undo does not take back what it changes."
    );
    ToolOutput::text(text).with("background", id)
}

/// How programs say that the sandbox has refused them something.
const REFUSALS: [&str; 8] = [
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Read-only file system",
    "Operation not permitted",
    "Permission denied",
    "Address family not supported",
];

/// A line that failed as one does that the sandbox stops: the way on is named.
fn hinted(mut output: ToolOutput, exit: Exit) -> ToolOutput {
    let failed = matches!(exit, Exit::Code(code) if code != 0);
    if failed && REFUSALS.iter().any(|refusal| output.text.contains(refusal)) {
        output.text += "\n<shell_metadata>\nThe sandbox may be why. If the line needs what it refuses, run it again with escalate: the \
                        person is asked.\n</shell_metadata>";
    }
    output
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
