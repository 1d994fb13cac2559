//! What the host tells after a summary, so that the work goes on: the task in the person's own words where they are not kept, and what the
//! model had still to do.

use crate::transcript::{is_prompt, visible_text};
use model::message::{Part, PartBody, WithParts};
use model::tool_state::ToolState;
use serde_json::Value;

/// Characters of a task that is told again.
const MAX_TASK: usize = 8000;
/// Entries of the list.
const MAX_TODOS: usize = 100;
const TODO_TOOL: &str = "todowrite";

/// `kept`: index of the first message that is kept as it is. `None` = there is nothing to tell.
pub(crate) fn bridge(history: &[WithParts], kept: Option<usize>) -> Option<String> {
    let prompt = history.iter().rposition(is_prompt);
    let task = prompt.filter(|at| kept.is_none_or(|from| *at < from)).and_then(|at| task(&history[at]));
    let todos = todos(history);
    if task.is_none() && todos.is_none() && kept.is_some() {
        return None;
    }
    let end = "Go on with the work. Where nothing is left to do, give the final answer.";
    let parts = [task, todos, Some(end.to_owned())];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

fn task(prompt: &WithParts) -> Option<String> {
    let said = visible_text(&prompt.parts);
    let text: String = said.chars().take(MAX_TASK).collect();
    let more = if text.len() < said.len() { "…" } else { "" };
    (!text.trim().is_empty()).then(|| format!("The task, as the person gave it:\n<task>\n{text}{more}\n</task>"))
}

/// The open entries of the newest list.
pub(crate) fn todos(history: &[WithParts]) -> Option<String> {
    let parts = history.iter().rev().flat_map(|m| m.parts.iter().rev());
    let list = parts.filter(|p| !p.body.is_dropped()).find_map(list)?;
    let open = list.iter().filter(|t| !matches!(t["status"].as_str(), Some("completed" | "cancelled")));
    let lines: Vec<String> = open.take(MAX_TODOS).map(line).collect();
    (!lines.is_empty()).then(|| format!("Your list of things to do, as far as they are open:\n{}", lines.join("\n")))
}

fn list(part: &Part) -> Option<&Vec<Value>> {
    match &part.body {
        PartBody::Tool(t) if t.tool == TODO_TOOL => match &t.state {
            ToolState::Completed { metadata, .. } => metadata.get("todos")?.as_array(),
            _ => None,
        },
        _ => None,
    }
}

fn line(todo: &Value) -> String {
    let text = |key: &str| todo[key].as_str().unwrap_or("").to_owned();
    format!("- [{}] {}", text("status"), text("content"))
}
