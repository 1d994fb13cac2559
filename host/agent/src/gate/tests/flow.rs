//! What a session has read makes its further acts asked for, whatever is allowed.

use super::*;
use model::flow::{FlowRule, Label};

fn request() -> Act {
    Act::Request { method: "POST".into(), url: "https://example.com/".into() }
}

/// Everything is allowed by rule, and these flows are looked at.
fn flowing(flows: &[(&str, Action)], replies: &[Reply]) -> World {
    let mut w = world(&[], replies);
    let rules = vec![Rule::new("*", "*", Action::Allow), Rule::new("escalate", "*", Action::Allow)];
    let layers = vec![Layer { origin: "test".into(), reach: Reach::Full, rules }];
    let mut flow = Flow::default();
    flows.iter().for_each(|(text, action)| flow.set(FlowRule::parse(text, *action).unwrap()));
    let options = GateOptions { policy: Policy { layers }, flow, ..GateOptions::default() };
    w.gate = Gatekeeper::new(options, w.store.clone(), w.asker.clone(), w.record.clone());
    w
}

/// A page that says "send me your secrets": once one was read, nothing is sent unseen. Twice the same: no approval answers it.
#[tokio::test]
async fn a_secret_is_not_sent_unseen() {
    let w = flowing(&[], &[Reply::Always, Reply::Reject { message: Some("no".into()) }]);
    assert!(w.permit(request()).await.is_ok());
    assert!(w.asker.asked().is_empty(), "nothing secret was read yet");
    assert!(w.permit(Act::Read { path: "/w/.env".into() }).await.is_ok());
    assert_eq!(w.decide(&request()), Action::Ask);
    assert_eq!(w.gate.missing(&w.actor, &[request()]), None, "no rule would permit it");
    assert!(w.permit(request()).await.is_ok());
    assert_eq!(w.permit(request()).await, Err(Denial::Rejected(Some("no".into()))));
    let asked = w.asker.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].metadata["flow"].as_str().unwrap().contains("secret -> net"), "{:?}", asked[0].metadata);
}

/// A program with the network is a way out like any other; one that may write elsewhere is none.
#[tokio::test]
async fn a_secret_does_not_leave_by_a_program() {
    use model::beyond::Beyond;
    let escalate = |beyond| Act::Escalate { line: "curl x".into(), beyond };
    let network = || escalate(Beyond { network: true, ..Beyond::default() });
    let w = flowing(&[], &[Reply::Once, Reply::Once]);
    assert!(w.permit(network()).await.is_ok() && w.asker.asked().is_empty());
    assert!(w.permit(Act::Read { path: "/w/.env".into() }).await.is_ok());
    assert!(w.permit(escalate(Beyond { writable: vec!["/srv".into()], ..Beyond::default() })).await.is_ok());
    assert!(w.asker.asked().is_empty());
    assert!(w.permit(network()).await.is_ok());
    assert!(w.permit(escalate(Beyond { unconfined: true, ..Beyond::default() })).await.is_ok());
    assert!(w.asker.asked().iter().all(|a| a.metadata["flow"].as_str().unwrap().contains("secret -> net")));
    assert_eq!(w.asker.asked().len(), 2);
}

#[tokio::test]
async fn acts_bring_their_labels() {
    for (act, label) in [
        (request(), Some(Label::Web)),
        (Act::Read { path: "/w/src/a.rs".into() }, None),
        (Act::Read { path: "/w/tls.pem".into() }, Some(Label::Secret)),
        (Act::Shell { line: "cat '/w/.env'|base64".into(), cwd: "/w".into() }, Some(Label::Secret)),
        (Act::Shell { line: "ls".into(), cwd: "/w".into() }, None),
        (Act::Write { path: "/w/.env".into() }, None),
    ] {
        let w = flowing(&[("secret -> net", Action::Allow)], &[]);
        assert!(w.permit(act.clone()).await.is_ok(), "{act:?}");
        assert_eq!(w.gate.labels(&w.actor.session), label.into_iter().collect(), "{act:?}");
    }
}

/// What was not permitted brings nothing in; what a flow rule denies is denied without a question.
#[tokio::test]
async fn a_denied_flow() {
    let w = flowing(&[("web -> bash", Action::Deny)], &[]);
    let line = || Act::Shell { line: "ls".into(), cwd: "/w".into() };
    assert!(w.permit(line()).await.is_ok());
    assert!(w.permit(request()).await.is_ok());
    let denial = w.permit(line()).await.unwrap_err();
    assert!(matches!(&denial, Denial::Flow(_)) && denial.to_string().contains("web -> bash"), "{denial}");
    assert!(w.gate.blocked().is_none(), "a rule ends no run");
}

/// What a child has read its parent will be told, and the other way round.
#[tokio::test]
async fn a_family_shares_its_labels() {
    let w = flowing(&[], &[]);
    let child = Actor { session: SessionId::new(), ..w.actor.clone() };
    w.gate.enrol(&child.session, Standing { root: w.actor.session.clone(), policy: w.gate.policy().clone() });
    let read = [Act::Read { path: "/w/.env".into() }];
    w.gate.permit(&child, &read, Value::Null, &w.cancel).await.unwrap();
    w.gate.dismiss(&child.session);
    assert_eq!(w.decide(&request()), Action::Ask);
}

/// What one call reads and sends is judged together, before it begins.
#[tokio::test]
async fn a_call_that_reads_a_secret_and_sends_is_looked_at() {
    let w = flowing(&[("secret -> net", Action::Deny)], &[]);
    let acts = [Act::Read { path: "/w/.env".into() }, request()];
    let denial = w.gate.permit(&w.actor, &acts, Value::Null, &w.cancel).await.unwrap_err();
    assert!(matches!(denial, Denial::Flow(_)), "{denial}");
    assert!(w.permit(request()).await.is_ok(), "nothing was read");
}
