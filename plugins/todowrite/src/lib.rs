//! The tool `todowrite`: the model's list of things to do. The host keeps what stands in the metadata; the tool touches nothing.

use airlock::{CallContext, Tool, ToolFailure, ToolOutput, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Entries of a list.
const MAX_TODOS: usize = 500;

/// Replaces the list.
#[derive(Debug)]
pub struct TodoWrite;

/// Arguments of [`TodoWrite`].
#[derive(Debug, Deserialize)]
pub struct Input {
    pub todos: Vec<Todo>,
}

/// One thing to do. Status and priority are plain strings: a word of the model's own is kept, not refused.
#[derive(Debug, Deserialize, Serialize)]
pub struct Todo {
    pub content: String,
    pub status: String,
    pub priority: String,
}

impl Tool for TodoWrite {
    type Input = Input;

    fn spec() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": { "todos": {
                "type": "array",
                "description": "The whole list: it replaces the one before",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": { "type": "string", "description": "What is to be done, in a few words" },
                        "status": { "type": "string", "description": "pending, in_progress, completed or cancelled" },
                        "priority": { "type": "string", "description": "high, medium or low" },
                    },
                    "required": ["content", "status", "priority"],
                },
            } },
            "required": ["todos"],
        });
        let description = "Keeps your list of things to do, for work of three steps or more. Send the whole list each time. \
            Have one entry in_progress at a time and mark it completed as soon as it is done.";
        ToolSpec::new("todowrite", description, schema).read_only()
    }

    fn call(_: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
        if input.todos.len() > MAX_TODOS {
            return Err(ToolFailure::InvalidInput(format!("A list has at most {MAX_TODOS} entries")));
        }
        let open = input.todos.iter().filter(|todo| todo.status != "completed").count();
        let list = json!(input.todos);
        Ok(ToolOutput::text(format!("{list:#}")).titled(format!("{open} todos")).with("todos", list))
    }
}

airlock::tool_plugin! { TodoWrite }

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: &str) -> Result<ToolOutput, ToolFailure> {
        airlock::call_json::<TodoWrite>(&CallContext::default(), input)
    }

    #[test]
    fn the_list_comes_back_and_the_open_ones_are_counted() {
        let todo = |content: &str, status: &str| json!({ "content": content, "status": status, "priority": "low" });
        let todos = json!([todo("a", "completed"), todo("b", "pending"), todo("c", "cancelled")]);
        let output = call(&json!({ "todos": todos }).to_string()).unwrap();
        assert_eq!(output.title, "2 todos");
        assert_eq!(output.metadata["todos"], todos);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&output.text).unwrap(), todos);
        assert_eq!(call(r#"{"todos":[]}"#).unwrap().text, "[]");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(matches!(call(r#"{"todos":[{"content":"a"}]}"#), Err(ToolFailure::InvalidInput(_))));
    }
}
