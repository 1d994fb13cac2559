//! What version 0.1 offers to components: thin adapters to the capabilities.

use super::bindings::tool::airlock::plugin as wit;
use crate::guest_log::Level;
use crate::state::CallState;
use model::permission::{Act, Denial};
use model::tool::Progress;
use serde_json::{Map, Value};
use wasmtime::component::{HasSelf, Linker};

type Trappable<T> = wasmtime::Result<T>;

/// Patterns in one question.
const PATTERNS: usize = 64;
/// Bytes of a title, and of the metadata of progress or of a question. What is longer is not shown.
const TITLE: usize = 1 << 10;
const METADATA: usize = 256 << 10;

pub fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wit::types::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)?;
    wit::log::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)?;
    wit::progress::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)?;
    wit::ask::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)?;
    wit::secrets::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)?;
    wit::process::add_to_linker::<_, HasSelf<CallState>>(linker, CallState::counted)
}

impl wit::types::Host for CallState {}

impl wit::log::Host for CallState {
    fn write(&mut self, level: wit::log::Level, message: String) -> Trappable<()> {
        let level = match level {
            wit::log::Level::Debug => Level::Debug,
            wit::log::Level::Info => Level::Info,
            wit::log::Level::Warn => Level::Warn,
            wit::log::Level::Error => Level::Error,
        };
        self.log.write(level, &message);
        Ok(())
    }
}

impl wit::progress::Host for CallState {
    fn update(&mut self, title: Option<String>, metadata: Option<String>) -> Trappable<()> {
        let bytes = title.iter().chain(&metadata).map(String::len).sum();
        let title = title.filter(|t| t.len() <= TITLE);
        self.progress.tell(bytes, Progress { title, metadata: metadata.and_then(|m| object(&m)) });
        Ok(())
    }
}

impl wit::ask::Host for CallState {
    async fn permission(&mut self, request: wit::ask::Request) -> Trappable<Result<(), wit::ask::Denial>> {
        if request.patterns.is_empty() || request.patterns.len() > PATTERNS {
            let why = format!("a question must name between 1 and {PATTERNS} patterns");
            return Ok(Err(wit::ask::Denial::Rule(why)));
        }
        let metadata = request.metadata.and_then(|m| object(&m)).map_or(Value::Null, Value::Object);
        let (permission, patterns, always) = (request.permission, request.patterns, request.always);
        let verdict = self.funnel.ask(Act::Other { permission, patterns, always }, metadata).await;
        Ok(verdict.map_err(told))
    }
}

fn told(denial: Denial) -> wit::ask::Denial {
    match denial {
        Denial::Rule(rule) => wit::ask::Denial::Rule(rule.to_string()),
        denial @ (Denial::Hook(_) | Denial::Flow(_)) => wit::ask::Denial::Rule(denial.to_string()),
        Denial::Rejected(reason) => wit::ask::Denial::Rejected(reason),
        Denial::Unanswered => wit::ask::Denial::Unanswered,
        Denial::Cancelled => wit::ask::Denial::Cancelled,
    }
}

impl wit::secrets::Host for CallState {
    fn is_set(&mut self, name: String) -> Trappable<bool> {
        Ok(self.network.has_secret(&name))
    }
}

fn object(json: &str) -> Option<Map<String, Value>> {
    if json.len() > METADATA {
        return None;
    }
    serde_json::from_str(json).ok()
}
