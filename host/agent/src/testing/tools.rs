//! Tools that note when they began and ended.

use async_trait::async_trait;
use model::fault::FailureKind;
use model::tool::{
    Annotations, Progress, ProgressSink, Scope, ScopeKind, ToolCall, ToolFailure, ToolOutput, ToolSpec, Tools,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(crate) fn spec(name: &str, read_only: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("The tool {name}."),
        input_schema: json!({"type": "object"}),
        annotations: Annotations { read_only, ..Annotations::default() },
        scopes: vec![],
    }
}

fn scoped(name: &str, read_only: bool, argument: &str, kind: ScopeKind) -> ToolSpec {
    let mut made = spec(name, read_only);
    made.scopes.push(Scope { argument: argument.into(), kind, default: None });
    made
}

/// `read {path}`, `write {path}`, `bash {command}`. What a call does is in its arguments: `ms` to take, and one of `fail`,
/// `panic`, `hang` (until cancelled), `size` of output, `leaves` (a program in the background), `words` of progress, `cut` (says that it cut its output).
#[derive(Default)]
pub(crate) struct Fakes {
    seen: Mutex<Vec<String>>,
    calls: Mutex<Vec<ToolCall>>,
}

impl Fakes {
    /// `+name:path` at a call's begin, `-name:path` at its end, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        self.calls.lock().unwrap().clone()
    }

    fn note(&self, mark: char, call: &ToolCall) {
        let subject = call.input.get("path").or(call.input.get("command")).and_then(Value::as_str).unwrap_or("");
        self.seen.lock().unwrap().push(format!("{mark}{}:{subject}", call.tool));
    }
}

#[async_trait]
impl Tools for Fakes {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let mut read = scoped("read", true, "path", ScopeKind::FsRead);
        read.input_schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let specs = [
            scoped("write", false, "path", ScopeKind::FsWrite),
            read,
            scoped("bash", false, "command", ScopeKind::Command),
        ];
        specs.into_iter().map(Arc::new).collect()
    }

    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        self.note('+', &call);
        self.calls.lock().unwrap().push(call.clone());
        let number = |key: &str| call.input.get(key).and_then(Value::as_u64);
        assert!(call.input.get("panic").is_none(), "asked to");
        if call.input.get("hang").is_some() {
            cancel.cancelled().await;
            self.note('!', &call);
            return Err(ToolFailure::new(FailureKind::Failed, "killed"));
        }
        if call.input.get("stuck").is_some() {
            std::future::pending::<()>().await;
        }
        for n in 0..number("words").unwrap_or(0) {
            progress.update(Progress { title: Some(format!("{n}")), metadata: None });
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(number("ms").unwrap_or(0))).await;
        self.note('-', &call);
        if let Some(why) = call.input.get("fail").and_then(Value::as_str) {
            return Err(ToolFailure::new(FailureKind::NotFound, why));
        }
        if let Some(why) = call.input.get("denied").and_then(Value::as_str) {
            return Err(ToolFailure::new(FailureKind::Denied, why));
        }
        let text = number("size").map_or_else(|| format!("did {}", call.tool), |n| "x".repeat(n as usize));
        let left = call.input.get("leaves").map(|id| ("background".to_owned(), id.clone()));
        Ok(ToolOutput { text, metadata: left.into_iter().collect(), ..ToolOutput::default() })
    }
}
