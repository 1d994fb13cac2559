use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn of(written: Value) -> Result<Requests, String> {
    serde_json::from_value(written).map_err(|e| e.to_string())
}

/// As the interface writes it: `host`, `host:port`, `scheme://host:port`, and tables of methods and paths.
#[test]
fn what_is_granted_is_what_is_matched() {
    let rule = |host: &str, methods: &[&str], paths: &[&str]| json!({"rule": [{"host": host, "methods": methods, "paths": paths}]});
    for (grant, method, url, want) in [
        (json!({"hosts": ["api.example.com"]}), "GET", "https://api.example.com/x?y", true),
        (json!({"hosts": ["api.example.com"]}), "DELETE", "https://API.EXAMPLE.COM/", true),
        (json!({"hosts": ["api.example.com"]}), "GET", "http://api.example.com/", false),
        (json!({"hosts": ["api.example.com"]}), "GET", "https://api.example.com:8443/", false),
        (json!({"hosts": ["api.example.com"]}), "GET", "https://example.com/", false),
        (json!({"hosts": ["api.example.com"]}), "GET", "https://api.example.com.evil.org/", false),
        (json!({"hosts": ["api.example.com"]}), "GET", "https://xapi.example.com/", false),
        (json!({"hosts": ["api.example.com"]}), "GET", "https://evil.org/api.example.com", false),
        (json!({"hosts": ["bücher.example"]}), "GET", "https://xn--bcher-kva.example/", true),
        (json!({"hosts": ["example.com"]}), "GET", "https://xn--xample-9uf.com/", false),
        (json!({"hosts": ["*.example.com"]}), "GET", "https://a.b.example.com/", true),
        (json!({"hosts": ["*.example.com"]}), "GET", "https://example.com/", false),
        (json!({"hosts": ["*.example.com"]}), "GET", "https://aexample.com/", false),
        (json!({"hosts": ["*"]}), "GET", "https://anything.org/", true),
        (json!({"hosts": ["*"]}), "GET", "http://anything.org/", false),
        (json!({"hosts": ["*"]}), "GET", "https://anything.org:8443/", false),
        (json!({"hosts": ["https://*:*"]}), "GET", "https://anything.org:8443/", true),
        (json!({"hosts": ["api.example.com:8443"]}), "GET", "https://api.example.com:8443/", true),
        (json!({"hosts": ["http://127.0.0.1:8080"]}), "GET", "http://127.0.0.1:8080/", true),
        (json!({"hosts": ["http://127.0.0.1:8080"]}), "GET", "http://127.0.0.1:8081/", false),
        (json!({"hosts": ["http://127.0.0.1:8080"]}), "GET", "http://localhost:8080/", false),
        (json!({"hosts": ["https://[2606:4700::1]"]}), "GET", "https://[2606:4700:0::1]/", true),
        (rule("api.example.com", &["GET", "HEAD"], &["/v1"]), "HEAD", "https://api.example.com/v1/a", true),
        (rule("api.example.com", &["GET"], &["/v1"]), "GET", "https://api.example.com/v1", true),
        (rule("api.example.com", &["GET"], &["/v1/"]), "GET", "https://api.example.com/v1?x", true),
        (rule("api.example.com", &["GET"], &["/v1"]), "POST", "https://api.example.com/v1", false),
        (rule("api.example.com", &["GET"], &["/v1"]), "get", "https://api.example.com/v1", false),
        (rule("api.example.com", &[], &["/v1"]), "GET", "https://api.example.com/v1beta", false),
        (rule("api.example.com", &[], &["/v1"]), "GET", "https://api.example.com/v1/../admin", false),
        (rule("api.example.com", &[], &["/v1"]), "GET", "https://api.example.com/v1/..%2fadmin", false),
        (rule("api.example.com", &[], &["/v1"]), "GET", "https://api.example.com/v1/%2E%2E/admin", false),
        (rule("api.example.com", &[], &["/v1"]), "GET", "https://api.example.com/v1//x", false),
        (rule("api.example.com", &[], &["/"]), "GET", "https://api.example.com//x%2fy", true),
        (json!({}), "GET", "https://api.example.com/", false),
    ] {
        let target = Target::parse(url).unwrap();
        assert_eq!(of(grant.clone()).unwrap().allow(method, &target), want, "{grant}: {method} {url}");
    }
}

#[test]
fn what_is_no_grant_is_named() {
    for (grant, part) in [
        (json!({"hosts": ["https://api.example.com/v1"]}), "https://api.example.com/v1"),
        (json!({"hosts": ["ftp://x.org"]}), "ftp://x.org"),
        (json!({"hosts": ["a@b.org"]}), "a@b.org"),
        (json!({"hosts": ["0x7f.1"]}), "0x7f.1"),
        (json!({"hosts": ["x*.org"]}), "x*.org"),
        (json!({"hosts": ["*x.org"]}), "*x.org"),
        (json!({"hosts": ["*.*.org"]}), "*.*.org"),
        (json!({"hosts": ["*.1.2.3.4"]}), "*.1.2.3.4"),
        (json!({"hosts": [""]}), "no host"),
        (json!({"hosts": ["x.org:y"]}), "x.org:y"),
        (json!({"rule": [{"host": "x.org", "methods": ["get"]}]}), "`get`"),
        (json!({"rule": [{"host": "x.org", "methods": ["GET /"]}]}), "`GET /`"),
        (json!({"rule": [{"host": "x.org", "paths": ["v1"]}]}), "`v1`"),
        (json!({"rule": [{"host": "x.org", "paths": ["/a/../b"]}]}), "`/a/../b`"),
        (json!({"rule": [{"host": "x.org", "paths": ["/a?b"]}]}), "`/a?b`"),
        (json!({"rule": [{"host": "x.org", "path": ["/a"]}]}), "path"),
        (json!({"host": ["x.org"]}), "host"),
        (json!({"hosts": (0..300).map(|n| format!("h{n}.org")).collect::<Vec<_>>()}), "more than 256"),
    ] {
        let error = of(grant.clone()).expect_err("no grant");
        assert!(error.contains(part), "{grant}: {error}");
    }
}

#[test]
fn only_a_name_of_its_own_names_a_host() {
    let here = Target::parse("http://127.0.0.1:8080/").unwrap();
    for (host, want) in [("http://127.0.0.1:8080", true), ("http://127.0.0.1:*", false), ("http://*:8080", false)] {
        assert_eq!(Requests::to([host]).unwrap().name("GET", &here), want, "{host}");
    }
}

#[test]
fn what_is_wider_is_named() {
    let (old, new) =
        (Requests::to(["a.org", "*.b.org"]).unwrap(), Requests::to(["a.org", "x.b.org", "c.org"]).unwrap());
    assert_eq!(new.beyond(&old).in_words(), ["https://c.org"]);
    assert!(old.meet(&new).beyond(&old).is_empty());
}

fn hosts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "*",
        "*.x.org",
        "*.a.x.org",
        "x.org",
        "a.x.org",
        "b.a.x.org",
        "http://*:*",
        "http://a.x.org:8080",
        "a.x.org:*",
    ])
}

fn rules() -> impl Strategy<Value = Value> {
    let methods = prop::sample::subsequence(vec!["GET", "POST"], 0..=2);
    let paths = prop::sample::subsequence(vec!["/", "/v1", "/v1/a", "/v2"], 0..=2);
    (hosts(), methods, paths)
        .prop_map(|(host, methods, paths)| json!({"host": host, "methods": methods, "paths": paths}))
}

fn grants() -> impl Strategy<Value = Requests> {
    prop::collection::vec(rules(), 0..4).prop_map(|rules| of(json!({ "rule": rules })).expect("a grant"))
}

fn requests() -> impl Strategy<Value = (&'static str, Target)> {
    let url = (
        "(https?)",
        prop::sample::select(vec!["x.org", "a.x.org", "b.a.x.org", "y.org"]),
        "(:8080)?",
        "(/v1|/v2|/v1/a|/v1a|/)",
    );
    (prop::sample::select(vec!["GET", "POST"]), url).prop_map(|(method, (scheme, host, port, path))| {
        (method, Target::parse(&format!("{scheme}://{host}{port}{path}")).expect("a URL"))
    })
}

proptest! {
    #[test]
    fn grants_are_a_lattice(a in grants(), b in grants(), c in grants()) {
        prop_assert_eq!(a.meet(&a), a.clone());
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.meet(&a.join(&b)), a.clone());
        prop_assert_eq!(a.join(&a.meet(&b)), a.clone());
        prop_assert!(a.meet(&b).beyond(&a).is_empty());
        prop_assert_eq!(a.beyond(&b).is_empty(), a.meet(&b) == a);
    }

    /// The meet allows exactly what both allow, the join what one allows, and nothing is lost in writing.
    #[test]
    fn the_meet_allows_what_both_allow(a in grants(), b in grants(), (method, target) in requests()) {
        let (x, y) = (a.allow(method, &target), b.allow(method, &target));
        prop_assert_eq!(a.meet(&b).allow(method, &target), x && y);
        prop_assert_eq!(a.join(&b).allow(method, &target), x || y);
        let again: Requests = serde_json::from_value(serde_json::to_value(&a).expect("JSON")).expect("a grant");
        prop_assert_eq!(again, a);
    }
}
