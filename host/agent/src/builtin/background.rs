//! `bash_output` and `bash_stop`: how the model looks after programs that it left in the background.

mod plain;

use super::{HostTool, read};
use async_trait::async_trait;
use model::background::{Background, Glance};
use model::fault::FailureKind;
use model::id::SessionId;
use model::tool::{Annotations, ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use model::tool_state::Metadata;
use plain::plain;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The tool that begins such programs; these two are of use beside it only.
pub(crate) const STARTER: &str = "bash";
pub(crate) const COMPANIONS: [&str; 2] = [OUTPUT, STOP];
const OUTPUT: &str = "bash_output";
const STOP: &str = "bash_stop";
/// Key of the program's id in the metadata of calls.
pub(crate) const ID: &str = "background";
/// Key of whether it had ended when a call looked at it.
pub(crate) const ENDED: &str = "ended";
/// Milliseconds that one look waits at most.
const LONGEST_WAIT: u64 = 120_000;

/// What the two have in common.
struct Desk {
    programs: Arc<dyn Background>,
    spec: Arc<ToolSpec>,
}

/// `bash_output`.
pub(crate) struct BashOutput(Desk);

/// `bash_stop`.
pub(crate) struct BashStop(Desk);

/// Both tools.
pub(crate) fn tools(programs: &Arc<dyn Background>) -> [Arc<dyn HostTool>; 2] {
    let desk = |spec: ToolSpec| Desk { programs: programs.clone(), spec: Arc::new(spec) };
    [Arc::new(BashOutput(desk(output_spec()))), Arc::new(BashStop(desk(stop_spec())))]
}

fn output_spec() -> ToolSpec {
    ToolSpec {
        name: OUTPUT.into(),
        description: "Returns what a program in the background (bash with background) printed since the last look, and whether it \
                      still runs. To wait for its end give wait_ms instead of looking again and again."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The program's id"},
                "wait_ms": {
                    "type": "integer", "minimum": 0, "maximum": LONGEST_WAIT,
                    "description": "Wait for its end this long at most"
                }
            },
            "required": ["id"]
        }),
        annotations: Annotations { read_only: true, ..Annotations::default() },
        scopes: vec![],
    }
}

fn stop_spec() -> ToolSpec {
    ToolSpec {
        name: STOP.into(),
        description: "Ends a program in the background, with all that it started.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {"id": {"type": "string", "description": "The program's id"}},
            "required": ["id"]
        }),
        annotations: Annotations::default(),
        scopes: vec![],
    }
}

#[derive(Deserialize)]
struct Input {
    id: String,
    wait_ms: Option<u64>,
}

#[async_trait]
impl HostTool for BashOutput {
    fn spec(&self) -> Arc<ToolSpec> {
        self.0.spec.clone()
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let Input { id, wait_ms } = read(call.input)?;
        let wait = Duration::from_millis(wait_ms.unwrap_or(0).min(LONGEST_WAIT));
        let glance = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolFailure::new(FailureKind::Interrupted, "Interrupted.")),
            glance = self.0.programs.look(&call.session, &id, wait) => glance,
        };
        glance.map(|g| told(&id, g)).ok_or_else(|| self.0.unknown(&call.session, &id))
    }
}

#[async_trait]
impl HostTool for BashStop {
    fn spec(&self) -> Arc<ToolSpec> {
        self.0.spec.clone()
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let Input { id, .. } = read(call.input)?;
        let glance = self.0.programs.stop(&call.session, &id).await;
        glance.map(|g| told(&id, g)).ok_or_else(|| self.0.unknown(&call.session, &id))
    }
}

impl Desk {
    fn unknown(&self, session: &SessionId, id: &str) -> ToolFailure {
        let known: Vec<String> =
            self.programs.list(session).into_iter().map(|(id, line)| format!("{id} (`{line}`)")).collect();
        let there = if known.is_empty() {
            "Nothing was started in the background in this run; what an earlier run had started ended with it."
                .to_owned()
        } else {
            format!("There are: {}.", known.join(", "))
        };
        ToolFailure::new(FailureKind::NotFound, format!("There is no program {id:?} in the background. {there}"))
    }
}

/// Lines of output in one result; with the words around them no more than any result may have.
const LINES: usize = 1900;

fn told(id: &str, glance: Glance) -> ToolOutput {
    let Glance { line, output, dropped, kept, age, end } = glance;
    let all = plain(&output);
    let printed = last_lines(&all);
    let dropped = dropped + (all.len() - printed.len()) as u64;
    let state = match &end {
        None => format!("running for {} s", age.as_secs()),
        Some(end) => format!("ended after {} s: {end}", age.as_secs()),
    };
    // First: of a long result the end is what may be cut off.
    let mut text = format!("<shell_metadata>\n{id}: {state}\n</shell_metadata>\n\n");
    text += &match (dropped, &kept) {
        (0, _) => String::new(),
        (n, Some(path)) => format!("(The {n} bytes before were not kept here. All is in {}.)\n\n", path.display()),
        (n, None) => format!("(The {n} bytes before were not kept.)\n\n"),
    };
    text += if printed.trim().is_empty() { "(no new output)" } else { printed.trim_end_matches('\n') };
    let mut metadata = Metadata::new();
    metadata.insert(ID.into(), Value::from(id));
    metadata.insert(ENDED.into(), Value::from(end.is_some()));
    metadata.insert("dropped".into(), Value::from(dropped));
    if let Some(path) = kept {
        metadata.insert("outputPath".into(), Value::from(path.to_string_lossy()));
    }
    ToolOutput { title: line, text, metadata, attachments: vec![] }
}

fn last_lines(text: &str) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.rmatch_indices('\n').nth(LINES - 1).map_or(text, |(at, _)| &text[at + 1..])
}

#[cfg(test)]
mod tests;
