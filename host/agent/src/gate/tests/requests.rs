//! Requests of components: asked under `net`, by URL.

use super::*;

fn fetch(url: &str) -> Act {
    Act::Request { method: "GET".into(), url: url.into() }
}

#[test]
fn a_request_asks_unless_a_rule_means_its_host() {
    use Action::{Allow, Ask, Deny};
    let rules = [("net", "https://*.example.com/*", Allow), ("net", "*secret*", Deny)];
    let w = world(&rules, &[]);
    for (url, want) in [
        ("https://a.example.com/x", Allow),
        ("https://a.example.com/*", Allow),
        ("https://a.example.com/secret", Deny),
        ("https://evil.org/.example.com/x", Ask),
        ("http://a.example.com/x", Ask),
        ("https://example.com/", Ask),
    ] {
        assert_eq!(w.decide(&fetch(url)), want, "{url}");
    }
    let by = |url: &str| w.gate.allowed_by(&w.actor, &fetch(url)).map(|r| r.pattern);
    assert_eq!(by("https://a.example.com/x").as_deref(), Some("https://*.example.com/*"));
    assert_eq!((by("https://a.example.com/secret"), by("https://evil.org/")), (None, None));
}

#[tokio::test]
async fn always_is_for_the_host_and_the_hint_for_the_url() {
    let w = world(&[], &[Reply::Always]);
    let missing = w.gate.missing(&w.actor, &[fetch("https://a.org/x")]);
    assert_eq!(missing, Some(vec![Rule::new("net", "https://a.org/x", Action::Allow)]));
    w.permit(fetch("https://a.org/x?q=1")).await.unwrap();
    let asked = &w.asker.asked()[0];
    assert_eq!(
        (asked.permission.as_str(), asked.patterns.as_slice()),
        ("net", &["https://a.org/x?q=1".to_owned()][..])
    );
    assert_eq!(asked.always, ["https://a.org/*"]);
    assert_eq!(w.decide(&fetch("https://a.org/y")), Action::Allow);
    assert_eq!(w.decide(&fetch("https://a.org.evil.org/y")), Action::Ask);
    assert_eq!(
        w.gate.allowed_by(&w.actor, &fetch("https://a.org/y")).map(|r| r.pattern).as_deref(),
        Some("https://a.org/*")
    );
}

/// A component does not call another's tool unless somebody said so.
#[tokio::test]
async fn a_tail_is_for_a_rule_to_allow() {
    let tail = Act::Other { permission: "tail".into(), patterns: vec!["read".into()], always: vec![] };
    assert_eq!(world(&[], &[]).decide(&tail), Action::Deny);
    let w = world(&[("tail", "read", Action::Allow)], &[]);
    assert_eq!(w.decide(&tail), Action::Allow);
}
