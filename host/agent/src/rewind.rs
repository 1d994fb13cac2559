//! The model goes back: it marks places of its work, and returns to one of them with a word to itself. Off unless a rule allows
//! `rewind`.

use crate::builtin::{HostTool, read};
use crate::transcript::is_prompt;
use async_trait::async_trait;
use model::fault::FailureKind;
use model::id::MessageId;
use model::message::{Part, PartBody, WithParts};
use model::tool::{Annotations, ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use model::tool_state::ToolState;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The permission of both tools, and the name of the one.
pub(crate) const REWIND: &str = "rewind";
const CHECKPOINT: &str = "checkpoint";
/// How often one run may go back: a model that begins anew without end gets nowhere.
const MOST: u32 = 8;

/// Where to, and with what.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Return {
    /// Name of a checkpoint; `None` = where the task was given.
    pub checkpoint: Option<String>,
    pub message: String,
    #[serde(default)]
    pub files: bool,
}

/// What the model asked for in the step that is under way.
#[derive(Default)]
pub(crate) struct Wish(Mutex<Wished>);

#[derive(Default)]
struct Wished {
    now: Option<Return>,
    times: u32,
}

impl Wish {
    fn state(&self) -> MutexGuard<'_, Wished> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False where the run has gone back as often as it may.
    fn make(&self, wish: Return) -> bool {
        let mut state = self.state();
        let may = state.times < MOST;
        if may {
            state.times += 1;
            state.now = Some(wish);
        }
        may
    }

    pub(crate) fn take(&self) -> Option<Return> {
        self.state().now.take()
    }
}

/// The first message that leaves the talk. No word of a person ever does.
///
/// # Errors
/// Why there is none, as the model reads it.
pub(crate) fn first_to_go(history: &[WithParts], checkpoint: Option<&str>) -> Result<MessageId, String> {
    let prompt = history.iter().rposition(is_prompt).ok_or("nobody has given a task")?;
    let work = &history[prompt + 1..];
    let kept = match checkpoint {
        None => 0,
        Some(name) => {
            let at = work.iter().rposition(|m| m.parts.iter().any(|p| is_mark(p, name)));
            at.ok_or_else(|| format!("there is no checkpoint {name:?} since the person's newest words"))? + 1
        }
    };
    work.get(kept).map(|m| m.info.id().clone()).ok_or_else(|| "nothing has come since".to_owned())
}

fn is_mark(part: &Part, name: &str) -> bool {
    match &part.body {
        PartBody::Tool(call) if call.tool == CHECKPOINT && !part.body.is_dropped() => match &call.state {
            ToolState::Completed { input, .. } => input.get("name").and_then(Value::as_str) == Some(name),
            ToolState::Pending { .. } | ToolState::Running { .. } | ToolState::Error { .. } => false,
        },
        _ => false,
    }
}

/// What the model finds where it has gone back to.
pub(crate) fn letter(wish: &Return) -> String {
    let place = match &wish.checkpoint {
        Some(name) => format!("the checkpoint {name:?}"),
        None => "the beginning of the task".to_owned(),
    };
    let files = match wish.files {
        true => "What you had changed since was taken back too: read a file again before you rely on it.",
        false => "What you changed on the disk since is still there.",
    };
    format!("You were further on and came back to {place}. {files} This is what you told yourself:\n{}", wish.message)
}

fn spec(name: &str, description: &str, input_schema: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema,
        annotations: Annotations::default(),
        scopes: vec![],
    })
}

/// `checkpoint`: marks a place. The call itself is the mark.
pub(crate) struct Checkpoint;

#[derive(Deserialize)]
struct Mark {
    name: String,
}

#[async_trait]
impl HostTool for Checkpoint {
    fn spec(&self) -> Arc<ToolSpec> {
        let description = "Marks this place of your work under a name, so that you can come back to it with the tool rewind: before \
                           a way that may be wrong, or before reading much of which little will matter.";
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 60, "description": "A name of its own"}},
            "required": ["name"]
        });
        spec(CHECKPOINT, description, schema)
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let Mark { name } = read(call.input)?;
        Ok(ToolOutput { text: format!("Marked as {name:?}."), title: name, ..ToolOutput::default() })
    }
}

/// `rewind`: goes back once the calls of the step are done.
pub(crate) struct Rewind(pub Arc<Wish>);

#[async_trait]
impl HostTool for Rewind {
    fn spec(&self) -> Arc<ToolSpec> {
        let description = "Goes back to a checkpoint that you marked, or to the beginning of the task: everything that was said and \
                           read since leaves the conversation, and you go on from there with the message that you give yourself. Use it where a \
                           way was wrong, or where much was read for little. What you learnt is lost, but for that message.";
        let schema = json!({
            "type": "object",
            "properties": {
                "checkpoint": {"type": "string", "description": "Name of the checkpoint; without it, the beginning of the task"},
                "message": {"type": "string", "minLength": 1, "description": "What you have to know then: what was tried, what was found, what to do instead"},
                "files": {"type": "boolean", "description": "Take back what you changed on the disk since, too"}
            },
            "required": ["message"]
        });
        spec(REWIND, description, schema)
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        if !self.0.make(read(call.input)?) {
            let text = format!("You went back {MOST} times in this run, which is all that it may. Go on from here.");
            return Err(ToolFailure::new(FailureKind::Limit, text));
        }
        // It is read only where it did not come to that.
        let text =
            "The talk goes back when the calls of this answer are done. It has not, as long as you can read this.";
        Ok(ToolOutput { title: "Going back".into(), text: text.into(), ..ToolOutput::default() })
    }
}

#[cfg(test)]
mod tests;
