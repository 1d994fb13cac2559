//! What happens next in a session. Pure: the history and the bounds in, one [`Step`] out.

use crate::compaction::{self, MAX_TRIES, Window, estimate};
use crate::transcript::compaction as work_item;
use model::budget::{Limit, Limits, Used};
use model::message::{AssistantMessage, FinishReason, Message, Part, PartBody, ToolPart, WithParts};
use model::tool_state::ToolState;

/// Key of the mark on a call that the provider ran itself.
pub(crate) const PROVIDER_EXECUTED: &str = "providerExecuted";

/// Pauses in a row that are answered with a request to go on.
const MOST_PAUSES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The newest prompt is answered.
    Finish,
    AskModel {
        /// No further request is allowed after this one.
        last: bool,
    },
    /// A summary is asked for and not yet written.
    Compact,
    /// The next request would not fit: a summary has to be asked for.
    Crowded,
    /// Summaries did not make it fit.
    Unfit,
    /// Work is left that the bound does not allow.
    Limit(Limit),
}

/// How much of the window the conversation takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub window: Window,
    /// Tokens of the conversation, by its size: for providers that count nothing.
    pub estimate: u64,
    /// Whether the host may summarise by itself.
    pub auto: bool,
}

/// Bounds of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub limits: Limits,
    /// Requests that the agent's profile allows.
    pub profile_steps: Option<u32>,
}

impl Bounds {
    fn steps(&self) -> Option<u32> {
        self.limits.steps.into_iter().chain(self.profile_steps).min()
    }

    fn reached(&self, used: &Used) -> Option<Limit> {
        Limits { steps: self.steps(), ..self.limits.clone() }.reached(used)
    }
}

/// The next thing to do. A limit stops work that is left; it never turns an answered prompt into a failure.
pub(crate) fn next(history: &[WithParts], bounds: &Bounds, used: &Used, load: &Load) -> Step {
    if is_answered(history) {
        return Step::Finish;
    }
    if let Some(limit) = bounds.reached(used) {
        return Step::Limit(limit);
    }
    let is_asked = compaction::pending(history).is_some();
    if is_asked || (load.auto && is_crowded(history, load)) {
        let is_hopeless = compaction::tries(history, load.window) >= MAX_TRIES;
        return match (is_hopeless, is_asked) {
            (true, _) => Step::Unfit,
            (false, true) => Step::Compact,
            (false, false) => Step::Crowded,
        };
    }
    Step::AskModel { last: bounds.steps().is_some_and(|n| used.steps.saturating_add(1) >= n) }
}

/// The exit test (agent-core, section 0): the newest message is an answer that came to its end and holds no client tool call.
/// What the provider gave as its reason does not count, but for a pause.
fn is_answered(history: &[WithParts]) -> bool {
    let Some(newest) = history.last() else { return true };
    let Message::Assistant(info) = &newest.info else { return false };
    if info.summary {
        return ended_well(info) && !was_auto(history, info);
    }
    ended_well(info) && !newest.parts.iter().any(wants_a_next_step) && !may_go_on(history)
}

/// The provider paused in the middle of its own work and wants the answer sent back, to go on with it (Anthropic, "Handling stop reasons":
/// `pause_turn`). Somebody who only ever pauses is not asked for ever.
fn may_go_on(history: &[WithParts]) -> bool {
    let paused = |m: &&WithParts| matches!(&m.info, Message::Assistant(a) if a.finish == Some(FinishReason::Pause));
    (1..=MOST_PAUSES).contains(&history.iter().rev().take_while(paused).count())
}

/// A summary that a person asked for is all there was to do; one of the host's own lies in the middle of other work.
fn was_auto(history: &[WithParts], summary: &AssistantMessage) -> bool {
    let asked = history.iter().rev().find(|m| *m.info.id() == summary.parent_id);
    asked.and_then(work_item).is_some_and(|part| part.auto)
}

/// Whether the newest answer, with what has been added since, fills the window (agent-core, section 3.9). Looked at before every
/// request, also in the middle of a run. After a summary there is nothing to go by until the next answer.
fn is_crowded(history: &[WithParts], load: &Load) -> bool {
    let mut added = 0;
    for message in history.iter().rev() {
        match &message.info {
            Message::User(_) => added += message.parts.iter().map(said).sum::<u64>(),
            Message::Assistant(info) if info.summary && info.error.is_none() => return false,
            Message::Assistant(info) if !ended_well(info) => {}
            Message::Assistant(info) => {
                let results = message.parts.iter().map(given).sum::<u64>();
                let counted = info.tokens.total();
                let total = if counted == 0 { load.estimate } else { counted + results + added };
                return load.window.is_full(total);
            }
        }
    }
    load.window.is_full(load.estimate)
}

fn said(part: &Part) -> u64 {
    match &part.body {
        PartBody::Text(t) => estimate(&t.text),
        _ => 0,
    }
}

fn given(part: &Part) -> u64 {
    match &part.body {
        PartBody::Tool(t) if !part.body.is_dropped() && !is_providers(t) => match &t.state {
            ToolState::Completed { output, .. } => estimate(output),
            ToolState::Error { error, .. } => estimate(error),
            ToolState::Pending { .. } | ToolState::Running { .. } => 0,
        },
        _ => 0,
    }
}

fn ended_well(info: &AssistantMessage) -> bool {
    info.finish.is_some() && info.error.is_none()
}

fn wants_a_next_step(part: &Part) -> bool {
    match &part.body {
        PartBody::Tool(tool) => !part.body.is_dropped() && !is_providers(tool) && !tool.state.is_interrupted(),
        _ => false,
    }
}

/// Whether the provider ran this call itself.
pub(crate) fn is_providers(tool: &ToolPart) -> bool {
    tool.metadata.get(PROVIDER_EXECUTED).and_then(serde_json::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests;
