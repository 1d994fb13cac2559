//! Why a guest did not give a usable answer, found out from what is left of the call.

use crate::bounds::{ATTACHMENTS, Bounds, Cap, Short};
use crate::engine::TABLE_MAX;
use crate::hostcalls::Stop;
use crate::share::Crowd;
use crate::state::CallState;
use model::fault::FailureKind;
use std::fmt;
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;

/// The guest's own failure to run, as opposed to a failure that it reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What the trap was, and what the guest printed last.
    Trap {
        what: String,
        printed: String,
    },
    Memory {
        limit: usize,
    },
    /// All that its owner runs together.
    OwnersMemory {
        limit: usize,
    },
    Tables,
    /// More resources of the host than one call may hold.
    Handles {
        limit: usize,
    },
    /// More calls into the host.
    Calls {
        limit: u64,
    },
    /// What it was granted was taken back while it ran.
    Lapsed,
    /// No place was to be had in time.
    Waited(Crowd),
    Cpu(Bounds),
    Wall(Bounds),
    Cancelled,
    /// No place in the pool, beyond the places that calls wait for: a component of very many parts.
    Crowded,
    /// More than a result may hold.
    Flood {
        limit: usize,
    },
    /// An answer that the contract does not allow.
    Lie(String),
}

/// Raised at an epoch by a call that has used its computing time.
#[derive(Debug, thiserror::Error)]
#[error("the computing time is used up")]
pub struct CpuSpent;

impl Fault {
    /// From what a call raised.
    #[must_use]
    pub fn of(error: &wasmtime::Error, state: &CallState, bounds: &Bounds) -> Self {
        tracing::debug!(error = ?error, "a component failed");
        if let Some(short) = Self::short(&state.cap, bounds) {
            return short;
        }
        if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
            return Self::Handles { limit: bounds.handles };
        }
        Self::raised(error, state.log.tail(), bounds)
    }

    /// What a store was not given more of.
    #[must_use]
    pub fn short(cap: &Cap, bounds: &Bounds) -> Option<Self> {
        cap.refused.map(|short| match short {
            Short::Memory => Self::Memory { limit: bounds.memory },
            Short::OwnersMemory(limit) => Self::OwnersMemory { limit },
            Short::Tables => Self::Tables,
        })
    }

    /// As [`Fault::of`], for a store without such a state.
    #[must_use]
    pub fn raised(error: &wasmtime::Error, printed: String, bounds: &Bounds) -> Self {
        match error.downcast_ref::<Stop>() {
            Some(Stop::Calls) => return Self::Calls { limit: bounds.calls },
            Some(Stop::Lapsed) => return Self::Lapsed,
            None => {}
        }
        if error.is::<CpuSpent>() || error.downcast_ref() == Some(&Trap::Interrupt) {
            return Self::Cpu(*bounds);
        }
        if error.is::<wasmtime::PoolConcurrencyLimitError>() {
            return Self::Crowded;
        }
        let root = error.root_cause().to_string();
        if root.contains("hostcall") && root.contains("fuel") {
            return Self::Flood { limit: bounds.output };
        }
        let what = match (error.downcast_ref::<I32Exit>(), error.downcast_ref::<Trap>()) {
            (Some(exit), _) => format!("it ended itself with exit code {}", exit.0),
            (_, Some(trap)) => trap.to_string(),
            _ => root,
        };
        Self::Trap { what, printed }
    }

    /// The name of the limit in a manifest or a grant, where it has one: there more can be asked for and given.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Memory { .. } => Some("memory"),
            Self::Cpu(_) => Some("cpu"),
            Self::Wall(_) => Some("wall"),
            Self::Flood { limit } if *limit != ATTACHMENTS => Some("output"),
            Self::Handles { .. } => Some("handles"),
            Self::Calls { .. } => Some("calls"),
            Self::Flood { .. }
            | Self::Trap { .. }
            | Self::OwnersMemory { .. }
            | Self::Tables
            | Self::Lapsed
            | Self::Waited(_)
            | Self::Cancelled
            | Self::Crowded
            | Self::Lie(_) => None,
        }
    }

    #[must_use]
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Trap { .. } | Self::Lie(_) => FailureKind::Trap,
            Self::Memory { .. }
            | Self::OwnersMemory { .. }
            | Self::Tables
            | Self::Handles { .. }
            | Self::Calls { .. }
            | Self::Flood { .. }
            | Self::Waited(_)
            | Self::Crowded => FailureKind::Limit,
            Self::Lapsed => FailureKind::Denied,
            Self::Cpu(_) | Self::Wall(_) => FailureKind::TimedOut,
            Self::Cancelled => FailureKind::Interrupted,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap { what, printed } if printed.is_empty() => write!(f, "it crashed ({what})"),
            Self::Trap { what, printed } => write!(f, "it crashed ({what}); it printed: {printed}"),
            Self::Memory { limit } => write!(f, "it needed more than its {} MiB of memory", limit >> 20),
            Self::Tables => write!(f, "it needed more than {TABLE_MAX} places in its tables, which no component gets"),
            Self::OwnersMemory { limit } => write!(
                f,
                "all components together needed more than {} MiB of memory; `memory` under `[components]` of the config gives them more",
                limit >> 20
            ),
            Self::Handles { limit } => write!(f, "it held more than {limit} handles at once"),
            Self::Calls { limit } => write!(f, "it made more than {limit} calls into the host"),
            Self::Lapsed => f.write_str("what it was granted was changed while it ran"),
            Self::Waited(crowd) => crowd.fmt(f),
            Self::Cpu(b) => write!(f, "it was stopped after {:?} of computing", b.cpu),
            Self::Wall(b) => write!(f, "it was stopped after {:?}", b.wall),
            Self::Crowded => f.write_str("too many components run at once; try again when others have ended"),
            Self::Cancelled => f.write_str("it was interrupted"),
            Self::Flood { limit } => write!(f, "its result was larger than {} KiB", limit >> 10),
            Self::Lie(what) => write!(f, "its answer breaks the contract: {what}"),
        }
    }
}
