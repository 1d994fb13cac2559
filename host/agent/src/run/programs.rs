//! Programs in the background, as far as the loop has to do with them: their ends are told to the model, and they end with the run.

use super::Run;
use crate::builtin::HostTool;
use crate::builtin::background::{ENDED, ID, tools};
use model::message::{PartBody, WithParts};
use model::tool_state::ToolState;
use std::sync::Arc;

/// How the host's word of an end begins: by it a later run knows that it was said.
const OVER: &str = "In the background has ended";

impl Run<'_> {
    /// Tells the model of programs that have ended. It lands with the next transaction. False = there are none.
    pub(super) fn tell_ended(&mut self) -> bool {
        let Some(programs) = self.ports.background.clone() else { return false };
        let ended = programs.ended(&self.bus.session().id);
        for one in &ended {
            self.note(format!(
                "{OVER} {}: {}. What it printed is there to be read with bash_output. Its line: {}",
                one.id, one.end, one.line
            ));
        }
        !ended.is_empty()
    }

    /// Tells the model of programs of an earlier run, which ended with that.
    pub(super) fn tell_lost(&mut self) {
        let lost = left_open(self.bus.transcript().messages());
        if !lost.is_empty() {
            self.note(format!("{OVER} {}: the run that had started it is over.", lost.join(", ")));
        }
    }

    /// The tools to look after them.
    pub(super) fn keepers(&self) -> Vec<Arc<dyn HostTool>> {
        self.ports.background.iter().flat_map(tools).collect()
    }

    pub(super) async fn end_programs(&self) {
        if let Some(programs) = &self.ports.background {
            programs.close(&self.bus.session().id).await;
        }
    }
}

/// Programs whose end stands nowhere in the history.
fn left_open(history: &[WithParts]) -> Vec<String> {
    let mut open: Vec<String> = vec![];
    for part in history.iter().flat_map(|m| &m.parts) {
        match &part.body {
            PartBody::Tool(tool) => {
                let ToolState::Completed { metadata, .. } = &tool.state else { continue };
                let Some(id) = metadata.get(ID).and_then(|id| id.as_str()) else { continue };
                match metadata.get(ENDED).and_then(serde_json::Value::as_bool) {
                    None => open.push(id.to_owned()),
                    Some(true) => open.retain(|o| o != id),
                    Some(false) => {}
                }
            }
            PartBody::Text(text) if text.text.starts_with(OVER) => open.retain(|o| !text.text.contains(o.as_str())),
            _ => {}
        }
    }
    open
}
