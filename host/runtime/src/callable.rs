//! A loaded component that offers tools: of the contract, or any other.

use crate::dynamic;
use crate::fault::Fault;
use crate::state::CallState;
use crate::v0_1;
use model::tool::{ToolCall, ToolFailure, ToolOutput};
use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store};

#[derive(Clone)]
pub enum Callable {
    V0_1(v0_1::Tool),
    /// By reflection.
    Bare(dynamic::Tool),
}

/// A result that nobody has looked at yet.
pub enum Answer {
    V0_1(v0_1::RawOutput),
    Bare(dynamic::Returned),
}

impl Callable {
    /// # Errors
    /// When an export of the contract is not of the contract's type.
    pub fn new(pre: &InstancePre<CallState>, of_contract: bool) -> wasmtime::Result<Self> {
        if of_contract { v0_1::Tool::new(pre).map(Self::V0_1) } else { Ok(Self::Bare(dynamic::Tool::new(pre))) }
    }

    pub fn engine(&self) -> &Engine {
        match self {
            Self::V0_1(tool) => tool.engine(),
            Self::Bare(tool) => tool.engine(),
        }
    }

    /// # Errors
    /// What the guest or the engine raised. A failure that the guest reports is none.
    pub async fn call(
        &self,
        store: &mut Store<CallState>,
        call: &ToolCall,
    ) -> wasmtime::Result<Result<Answer, ToolFailure>> {
        Ok(match self {
            Self::V0_1(tool) => tool.call(store, call).await?.map(Answer::V0_1),
            Self::Bare(tool) => tool.call(store, call).await?.map(Answer::Bare),
        })
    }
}

impl Answer {
    /// # Errors
    /// A result beyond the bounds (`limit`: bytes of text), or one that the contract does not allow.
    pub fn check(self, limit: usize) -> Result<ToolOutput, Fault> {
        match self {
            Self::V0_1(raw) => raw.check(limit),
            Self::Bare(returned) => returned.check(limit),
        }
    }
}
