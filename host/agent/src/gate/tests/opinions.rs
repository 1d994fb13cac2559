//! Hooks make an answer stricter; looser only in place of a question.

use super::*;
use model::hook::{HookDenial, Opinion, PermissionView};

/// Says the same to everything, and remembers what it was shown.
struct Says(Opinion, Mutex<Vec<PermissionView>>);

#[async_trait]
impl Hooks for Says {
    async fn permission(&self, view: &PermissionView) -> Opinion {
        self.1.lock().unwrap().push(view.clone());
        self.0.clone()
    }
}

fn deny() -> HookDenial {
    HookDenial { hook: "guard".into(), reason: "not today".into() }
}

async fn check(rule: Action, opinion: Opinion, replies: &[Reply], expected: Result<(), Denial>, asked: usize) {
    let mut w = world(&[("edit", "*", rule)], replies);
    let rules = vec![Rule::new("edit", "*", rule)];
    let layers = vec![Layer { origin: "test".into(), reach: Reach::Full, rules }];
    let options = GateOptions { policy: Policy { layers }, ..GateOptions::default() };
    let hooks = Arc::new(Says(opinion.clone(), Mutex::default()));
    w.gate = Gatekeeper::hooked(options, Arc::<Memory>::default(), w.asker.clone(), w.record.clone(), hooks.clone());
    let got = w.permit(Act::Write { path: "/w/a".into() }).await;
    assert_eq!(got.map_err(|d| d.to_string()), expected.map_err(|d| d.to_string()), "{rule:?} {opinion:?}");
    assert_eq!(w.asker.asked().len(), asked, "{rule:?} {opinion:?}");
    let seen = hooks.1.lock().unwrap().clone();
    assert_eq!(seen.len(), usize::from(rule != Action::Deny), "a deny is never shown to a hook");
    assert!(seen.iter().all(|v| v.by_rules == rule && v.needs[0] == ("edit".into(), "a".into())), "{seen:?}");
}

#[tokio::test]
async fn opinions_and_rules() {
    let no = Err(Denial::Hook(deny()));
    let rule = Err(Denial::Rule(Rule::new("edit", "*", Action::Deny)));
    for (rules, opinion, replies, expected, asked) in [
        (Action::Allow, Opinion::None, &[][..], Ok(()), 0),
        (Action::Allow, Opinion::Deny(deny()), &[], no.clone(), 0),
        (Action::Allow, Opinion::Ask, &[Reply::Once], Ok(()), 1),
        (Action::Allow, Opinion::Ask, &[], Err(Denial::Unanswered), 1),
        (Action::Ask, Opinion::Allow, &[], Ok(()), 0),
        (Action::Ask, Opinion::None, &[Reply::Once], Ok(()), 1),
        (Action::Ask, Opinion::Deny(deny()), &[], no, 0),
        (Action::Deny, Opinion::Allow, &[], rule, 0),
    ] {
        check(rules, opinion, replies, expected, asked).await;
    }
}

/// What a rule allows, a hook has looked at each time: an approval given once does not answer the hook.
#[tokio::test]
async fn always_does_not_answer_a_hook() {
    let mut w = world(&[], &[Reply::Always, Reply::Reject { message: Some("no".into()) }]);
    let rules = vec![Rule::new("edit", "*", Action::Allow)];
    let layers = vec![Layer { origin: "test".into(), reach: Reach::Full, rules }];
    let options = GateOptions { policy: Policy { layers }, ..GateOptions::default() };
    let hooks = Arc::new(Says(Opinion::Ask, Mutex::default()));
    w.gate = Gatekeeper::hooked(options, Arc::<Memory>::default(), w.asker.clone(), w.record.clone(), hooks);
    assert_eq!(w.permit(Act::Write { path: "/w/a".into() }).await, Ok(()));
    let second = w.permit(Act::Write { path: "/w/a".into() }).await;
    assert_eq!(second, Err(Denial::Rejected(Some("no".into()))));
}
