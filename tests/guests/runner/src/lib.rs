//! Runs the shell line that is its whole input, and gives back what it printed and how it ended.

use airlock::plugin::process::{Command, Event, Target, spawn};

kit::tool!(
    |_, input| {
        let run = Target::Shell(input.trim_matches(|c| c == '{' || c == '}' || c == '"').replace("line\":\"", ""));
        let command = Command { run, cwd: None, env: vec![], stdin: None, timeout_ms: None, keep_over: None };
        let child = spawn(&command).map_err(|e| ToolFailure::Failed(format!("{e:?}")))?;
        let mut out = String::new();
        while let Some(event) = child.next() {
            match event {
                Event::Output(chunk) => out.push_str(&String::from_utf8_lossy(&chunk.data)),
                Event::Exited(exit) => out.push_str(&format!("{exit:?}")),
            }
        }
        text(out)
    },
    r#"{"fs":{".":"rw"},"process":{"programs":["*"]}}"#
);
