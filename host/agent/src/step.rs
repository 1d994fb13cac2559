//! What happens next in a session. Pure: the history and the bounds in, one [`Step`] out.

use model::budget::{Limit, Limits, Used};
use model::message::{AssistantMessage, Message, Part, PartBody, ToolPart, WithParts};

/// Key of the mark on a call that the provider ran itself.
pub(crate) const PROVIDER_EXECUTED: &str = "providerExecuted";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The newest prompt is answered.
    Finish,
    AskModel {
        /// No further request is allowed after this one.
        last: bool,
    },
    /// Work is left that the bound does not allow.
    Limit(Limit),
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
pub(crate) fn next(history: &[WithParts], bounds: &Bounds, used: &Used) -> Step {
    if is_answered(history) {
        return Step::Finish;
    }
    if let Some(limit) = bounds.reached(used) {
        return Step::Limit(limit);
    }
    Step::AskModel { last: bounds.steps().is_some_and(|n| used.steps.saturating_add(1) >= n) }
}

/// The exit test (agent-core, section 0): the newest message is an answer that came to its end and holds no client tool call.
/// What the provider gave as its reason does not count.
fn is_answered(history: &[WithParts]) -> bool {
    let Some(newest) = history.last() else { return true };
    let Message::Assistant(info) = &newest.info else { return false };
    ended_well(info) && !newest.parts.iter().any(wants_a_next_step)
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
mod tests {
    use super::*;
    use crate::testing::history::{assistant, completed, dropped, failed, interrupted, part, providers, text, user};
    use model::message::{FinishReason, MessageError};

    fn check(name: &str, history: &[WithParts], answered: bool) {
        let expected = if answered { Step::Finish } else { Step::AskModel { last: false } };
        assert_eq!(next(history, &Bounds::default(), &Used::default()), expected, "{name}");
    }

    fn answer(finish: FinishReason, parts: Vec<Part>) -> WithParts {
        let mut m = assistant(|m| m.finish = Some(finish));
        m.parts = parts;
        m
    }

    #[test]
    fn no_call_ends_the_turn_whatever_the_reason() {
        use FinishReason as F;
        for reason in [F::Stop, F::Length, F::ToolCalls, F::ContentFilter, F::Pause, F::Error, F::Unknown] {
            check("text", &[user("a"), answer(reason, vec![text("b", false)])], true);
            check("nothing at all", &[user("a"), answer(reason, vec![])], true);
            check("a call", &[user("a"), answer(reason, vec![completed("read", "x")])], false);
            check("a failed call", &[user("a"), answer(reason, vec![failed("read", "x")])], false);
        }
    }

    #[test]
    fn calls_that_are_not_ours_do_not_count() {
        check("provider's", &[user("a"), answer(FinishReason::ToolCalls, vec![providers("search")])], true);
        check("orphan", &[user("a"), answer(FinishReason::ToolCalls, vec![interrupted("read")])], true);
        let given_up = vec![dropped(completed("read", "x")), text("b", false)];
        check("of a given-up attempt", &[user("a"), answer(FinishReason::Stop, given_up)], true);
        let both = vec![providers("search"), completed("read", "x")];
        check("one of ours too", &[user("a"), answer(FinishReason::Stop, both)], false);
    }

    #[test]
    fn what_is_unanswered_goes_on() {
        check("a prompt", &[user("a")], false);
        check("a second prompt", &[user("a"), answer(FinishReason::Stop, vec![]), user("b")], false);
        let broken = assistant(|m| {
            m.finish = Some(FinishReason::ToolCalls);
            m.error = Some(MessageError::Aborted { message: "killed".into() });
        });
        check("a broken answer", &[user("a"), broken], false);
        check("an answer without an end", &[user("a"), assistant(|m| m.finish = None)], false);
        check("nothing to answer", &[], true);
    }

    fn limits(steps: Option<u32>, profile: Option<u32>, used: u32, history: &[WithParts]) -> Step {
        let bounds = Bounds { limits: Limits { steps, ..Limits::default() }, profile_steps: profile };
        next(history, &bounds, &Used { steps: used, ..Used::default() })
    }

    #[test]
    fn the_smaller_step_limit_counts() {
        let open = [user("a")];
        for (steps, profile) in [(Some(3), None), (None, Some(3)), (Some(3), Some(9)), (Some(9), Some(3))] {
            assert_eq!(limits(steps, profile, 1, &open), Step::AskModel { last: false });
            assert_eq!(limits(steps, profile, 2, &open), Step::AskModel { last: true });
            assert_eq!(limits(steps, profile, 3, &open), Step::Limit(Limit::Steps));
        }
        let done =
            [user("a"), answer(FinishReason::Stop, vec![part(PartBody::StepStart { metadata: Default::default() })])];
        assert_eq!(limits(Some(3), None, 3, &done), Step::Finish);
    }
}
