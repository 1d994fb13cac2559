//! Tools that the host is itself: what they touch (sessions, the person, the loop) no component may. To the model, the hooks and the
//! gate they are tools like any other, each under its own name.

pub(crate) mod background;
mod question;

pub(crate) use question::AskPerson;

use async_trait::async_trait;
use model::tool::{ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec, Tools};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One tool of the host's own.
#[async_trait]
pub trait HostTool: Send + Sync {
    /// The same for as long as a run lasts.
    fn spec(&self) -> Arc<ToolSpec>;

    /// As [`Tools::call`]: the call is permitted, its input fits the schema.
    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure>;
}

/// The tools of the components and those of the host as one set. The host's names stand: no component takes one.
pub(crate) struct Workbench {
    components: Arc<dyn Tools>,
    host: Vec<Arc<dyn HostTool>>,
}

impl Workbench {
    pub(crate) fn new(components: Arc<dyn Tools>, host: Vec<Arc<dyn HostTool>>) -> Self {
        Self { components, host }
    }

    fn own(&self, name: &str) -> Option<&Arc<dyn HostTool>> {
        self.host.iter().find(|t| t.spec().name == name)
    }
}

#[async_trait]
impl Tools for Workbench {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let others = self.components.specs().into_iter().filter(|s| self.own(&s.name).is_none());
        let mut specs: Vec<_> = others.chain(self.host.iter().map(|t| t.spec())).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs
    }

    async fn call(
        &self,
        call: ToolCall,
        progress: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        match self.own(&call.tool) {
            Some(own) => own.call(call, progress, cancel).await,
            None => self.components.call(call, progress, cancel).await,
        }
    }
}

/// Reads the input of a call into its type. The schema has seen to it that this goes well.
pub(crate) fn read<T: serde::de::DeserializeOwned>(input: Value) -> Result<T, ToolFailure> {
    use model::fault::FailureKind;
    serde_json::from_value(input)
        .map_err(|e| ToolFailure::new(FailureKind::InvalidInput, format!("The arguments cannot be used: {e}.")))
}

#[cfg(test)]
mod tests;
