//! What hooks make of acts that no rule denies. They can make the answer stricter; looser only where the person granted it, and
//! only in place of a question.

use super::needs::Need;
use super::{Gatekeeper, Verdict};
use model::hook::{Opinion, PermissionView};
use model::permission::{Action, Actor, Denial};
use tokio_util::sync::CancellationToken;

/// What is to be done once rules and hooks have spoken.
pub(super) enum Course {
    Pass,
    Refuse(Denial),
    /// The rules leave it open.
    Ask,
    /// The rules would let it pass: a hook wants a person to look at it.
    Insist,
}

impl Gatekeeper {
    pub(super) async fn course(
        &self,
        actor: &Actor,
        needs: &[Need],
        verdict: Verdict,
        cancel: &CancellationToken,
    ) -> Course {
        let by_rules = match verdict {
            Verdict::Denied(rule) => return Course::Refuse(Denial::Rule(rule)),
            Verdict::Allowed => Action::Allow,
            Verdict::Open(_) => Action::Ask,
        };
        let view = view(actor, needs, by_rules);
        let opinion = tokio::select! {
            biased;
            () = cancel.cancelled() => return Course::Refuse(Denial::Cancelled),
            opinion = self.hooks.permission(&view) => opinion,
        };
        match (by_rules, opinion) {
            (_, Opinion::Deny(denial)) => Course::Refuse(Denial::Hook(denial)),
            (Action::Allow, Opinion::Ask) => Course::Insist,
            (Action::Allow, _) | (_, Opinion::Allow) => Course::Pass,
            (_, Opinion::None | Opinion::Ask) => Course::Ask,
        }
    }
}

fn view(actor: &Actor, needs: &[Need], by_rules: Action) -> PermissionView {
    PermissionView {
        session: actor.session.clone(),
        call: actor.call.clone(),
        agent: actor.agent.clone(),
        tool: actor.tool.clone(),
        needs: needs.iter().map(|n| (n.permission.clone(), n.pattern.clone())).collect(),
        by_rules,
    }
}
