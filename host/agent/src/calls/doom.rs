//! What happens to a call that goes round in circles: it is asked for first. A no is for that call only; where nobody can be asked
//! the run ends.

use super::crew::Bench;
use super::stage::{Halt, Refused};
use crate::loop_guard::{CallMark, Circle, LoopGuard};
use model::fault::FailureKind;
use model::permission::{Act, Action, Actor, DOOM_LOOP, Denial};
use model::tool::ToolFailure;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// How often a person's *once* lets the same session go on. An *always* is not counted.
pub(crate) const MAX_PARDONS: u32 = 3;

/// The guard of one step.
#[derive(Default)]
pub(crate) struct Watch {
    guard: LoopGuard,
    pardons: u32,
    pardoned: AtomicBool,
}

impl Watch {
    /// `pardons` is how often the run was let go on already.
    pub(crate) fn new(guard: LoopGuard, pardons: u32) -> Self {
        Self { guard, pardons, pardoned: AtomicBool::new(false) }
    }

    pub(super) fn suspects(&self, ahead: &[CallMark], call: CallMark) -> Option<Circle> {
        self.guard.suspects(ahead, call)
    }

    /// Whether a person let a suspect call of this step happen.
    pub(crate) fn pardoned(&self) -> bool {
        self.pardoned.load(Ordering::Relaxed)
    }
}

/// Asks whether a suspect call may happen.
pub(super) async fn confirm(
    circle: Circle,
    actor: &Actor,
    input: &serde_json::Value,
    bench: &Bench,
    cancel: &CancellationToken,
) -> Result<(), Refused> {
    let tool = actor.tool.clone();
    let act = Act::Other { permission: DOOM_LOOP.into(), patterns: vec![tool.clone()], always: vec![tool.clone()] };
    if bench.gate.decide(actor, &act) == Action::Allow {
        return Ok(());
    }
    let told = circle.told(&tool);
    if bench.watch.pardons >= MAX_PARDONS {
        return Err(refused(&told, "It was let go on as often as may be.", Some(Halt::Looped(told.clone()))));
    }
    let metadata = json!({ "tool": tool, "input": input, "loop": told });
    match bench.gate.permit(actor, std::slice::from_ref(&act), metadata, cancel).await {
        Ok(()) => {
            bench.watch.pardoned.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(Denial::Cancelled) => Err(ToolFailure::new(FailureKind::Interrupted, "The run was interrupted.").into()),
        Err(Denial::Unanswered) => {
            Err(refused(&told, "Nobody is there to let it go on.", Some(Halt::Looped(told.clone()))))
        }
        Err(denial @ (Denial::Rule(_) | Denial::Hook(_) | Denial::Flow(_) | Denial::Rejected(_))) => {
            Err(refused(&told, &format!("{denial}."), None))
        }
    }
}

fn refused(told: &str, why: &str, halt: Option<Halt>) -> Refused {
    let text = format!("This call was not run: {told}. {why} Do something else, or answer with what you know.");
    Refused::halting(ToolFailure::new(FailureKind::Denied, text), halt)
}
