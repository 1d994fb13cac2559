use super::*;
use model::grant::LimitsAsked;
use std::collections::BTreeMap;

fn fs(folders: &[(&str, Mode)]) -> BTreeMap<String, Mode> {
    folders.iter().map(|(f, m)| ((*f).to_owned(), *m)).collect()
}

fn permissions(text: &str) -> Result<Policy, PolicyError> {
    let indented: String = text.lines().map(|l| format!("  {l}\n")).collect();
    parse(&format!("version: \"1.0\"\npermissions:\n{indented}"))
}

const ALL: &str = r#"
version: "1.0"
description: "Looks up the weather"
permissions:
  storage:
    allow:
    - uri: "fs://data/**"
      access: ["read", "write"]
    - uri: "fs:///etc/weather"
      access: [read]
    deny:
    - uri: "fs://data/private/**"
      access: ["read", "write"]
  network:
    allow:
    - host: "api.weather.example"
    - host: "https://*.tiles.example"
    - cidr: "10.0.0.0/8"
    deny:
    - host: "*"
    - cidr: "0.0.0.0/0"
  environment:
    allow:
    - key: "LANG"
  runtime:
    docker:
      security: {privileged: false}
  resources:
    limits: {cpu: "500m", memory: "128Mi"}
"#;

#[test]
fn a_whole_policy() {
    let policy = parse(ALL).unwrap();
    assert_eq!(policy.description.as_deref(), Some("Looks up the weather"));
    let want = Grant {
        fs: fs(&[("data", Mode::ReadWrite), ("/etc/weather", Mode::ReadOnly)]),
        except: ["data/private".to_owned()].into(),
        http: Requests::to(["api.weather.example", "https://*.tiles.example"]).unwrap(),
        env: model::grant::AllowList { allow: ["LANG".to_owned()].into() },
        limits: LimitsAsked { memory: Some(128 << 20), ..LimitsAsked::default() },
        ..Grant::default()
    };
    assert_eq!(policy.grant, want);
    for word in ["10.0.0.0/8", "`permissions.runtime`", "`cpu`", "workspace"] {
        assert!(policy.notes.iter().any(|n| n.contains(word)), "{word}: {:?}", policy.notes);
    }
}

#[test]
fn what_is_denied_is_not_granted() {
    for (allow, deny, want, except) in [
        ("fs://a/**|read, write", "fs://a/b|read", fs(&[("a", Mode::ReadWrite)]), &["a/b"][..]),
        ("fs://a/b|read", "fs://a/**|read", fs(&[]), &[]),
        ("fs://a/b|write", "fs://a|write", fs(&[("a/b", Mode::ReadOnly)]), &[]),
        ("fs://a|write", "fs://a/b|write", fs(&[("a", Mode::ReadOnly)]), &[]),
        ("fs://a|read", "fs://b|read", fs(&[("a", Mode::ReadOnly)]), &[]),
        ("fs://**|read", "fs://x|read", fs(&[(".", Mode::ReadOnly)]), &["x"]),
        ("fs:///**|read", "fs:///etc|read", fs(&[("/", Mode::ReadOnly)]), &["/etc"]),
        // One folder, written otherwise.
        ("fs://docs|read", "fs://./docs/private|read", fs(&[("docs", Mode::ReadOnly)]), &["docs/private"]),
        ("fs://./docs|read", "fs://docs//private/./|read", fs(&[("docs", Mode::ReadOnly)]), &["docs/private"]),
        ("fs://./**|read", "fs://./x|read", fs(&[(".", Mode::ReadOnly)]), &["x"]),
        ("fs:///./srv|read", "fs:////srv/a|read", fs(&[("/srv", Mode::ReadOnly)]), &["/srv/a"]),
    ] {
        let entry = |e: &str| {
            let (uri, access) = e.split_once('|').unwrap();
            format!("[{{uri: \"{uri}\", access: [{access}]}}]")
        };
        let policy = permissions(&format!("storage: {{allow: {}, deny: {}}}", entry(allow), entry(deny))).unwrap();
        assert_eq!(policy.grant.fs, want, "{allow} without {deny}");
        assert_eq!(
            policy.grant.except.iter().map(String::as_str).collect::<Vec<_>>(),
            except,
            "{allow} without {deny}"
        );
    }
    for (allow, deny, want) in [
        ("a.example", "a.example", &[][..]),
        ("A.example", "*.example", &[]),
        ("a.example", "b.example", &["a.example"]),
        ("https://a.b.example", "*.b.example", &[]),
        // A part of a pattern cannot be taken out of it.
        ("*.example", "bad.example", &[]),
        // One host, written otherwise, on another port or by another scheme.
        ("a.example", "a.example:443", &[]),
        ("a.example", "A.example.", &[]),
        ("a.example:8443", "http://a.example", &[]),
        ("a.example", "https://a.example:*", &[]),
        ("http://127.0.0.1:8080", "127.0.0.1", &[]),
        ("http://[::1]:8080", "[::1]", &[]),
        ("a.example", "https://*", &["a.example"]),
    ] {
        let policy = permissions(&format!("network: {{allow: [{{host: \"{allow}\"}}], deny: [{{host: \"{deny}\"}}]}}"));
        assert_eq!(policy.unwrap().grant.http, Requests::to(want).unwrap(), "{allow} without {deny}");
    }
    let variables = permissions("environment: {allow: [{key: A}, {key: B}], deny: [{key: B}]}").unwrap();
    assert_eq!(variables.grant.env.allow, ["A".to_owned()].into());
}

#[test]
fn a_denial_that_takes_nothing_away_is_told_of() {
    for (text, word) in [
        ("storage: {allow: [{uri: fs://a, access: [read]}], deny: [{uri: fs:///w/a, access: [read]}]}", "`fs:///w/a`"),
        ("network: {allow: [{host: a.example}], deny: [{host: b.example}]}", "`b.example`"),
        ("environment: {allow: [{key: A}], deny: [{key: B}]}", "`B`"),
    ] {
        let notes = permissions(text).unwrap().notes;
        assert!(notes.iter().any(|n| n.contains(word) && n.contains("is denied")), "{text}: {notes:?}");
    }
    for text in [
        "storage: {allow: [{uri: fs://a, access: [read]}], deny: [{uri: fs://a/b, access: [read]}]}",
        "network: {allow: [{host: a.example}], deny: [{host: a.example}, {host: \"*\"}]}",
        "environment: {allow: [{key: A}], deny: [{key: A}]}",
    ] {
        let notes = permissions(text).unwrap().notes;
        assert!(!notes.iter().any(|n| n.contains("is denied")), "{text}: {notes:?}");
    }
}

#[test]
fn amounts_of_memory() {
    for (text, want) in [
        ("resources: {limits: {memory: \"512Mi\"}}", Some(512 << 20)),
        ("resources: {limits: {memory: 64M}}", Some(64_000_000)),
        ("resources: {limits: {memory: 4096}}", Some(4096)),
        ("resources: {memory: 64}", Some(64 << 20)),
        ("resources: {memory: 1Gi, cpu: 50, io: 10}", Some(1 << 30)),
        ("resources: {}", None),
    ] {
        assert_eq!(permissions(text).unwrap().grant.limits.memory, want, "{text}");
    }
    assert!(permissions("resources: {limits: {memory: 512Mi}}").unwrap().notes[0].contains("256 MiB"));
}

#[test]
fn a_policy_that_says_nothing_grants_nothing() {
    for text in ["version: \"1.0\"", "version: '1.0'\npermissions: {}", "version: \"1.0\"\npermissions: {storage: {}}"]
    {
        assert_eq!(parse(text).unwrap(), Policy::default(), "{text}");
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let huge = format!("version: \"1.0\"\ndescription: {}", "x".repeat(SIZE_MAX));
    for (text, part) in [
        ("", "version"),
        ("version: \"2.0\"", "`2.0`"),
        ("version: \"1.0\"\npermisions: {}", "permisions"),
        ("version: \"1.0\"\npermissions: {storrage: {}}", "storrage"),
        ("version: \"1.0\"\npermissions: {storage: {allow: [{uri: \"fs://a\", access: [execute]}]}}", "execute"),
        ("version: \"1.0\"\npermissions: {storage: {allow: [{uri: \"fs://a\", access: []}]}}", "`access` is empty"),
        ("version: \"1.0\"\npermissions: {storage: {allow: [{uri: \"http://a\", access: [read]}]}}", "fs://"),
        ("version: \"1.0\"\npermissions: {storage: {allow: [{uri: \"fs://../a\", access: [read]}]}}", "`..`"),
        ("version: \"1.0\"\npermissions: {storage: {allow: [{uri: \"fs://a/*/b\", access: [read]}]}}", "only a folder"),
        ("version: \"1.0\"\npermissions: {network: {allow: [{host: \"*\"}]}}", "every host"),
        ("version: \"1.0\"\npermissions: {network: {allow: [{host: \"a b\"}]}}", "is no host"),
        ("version: \"1.0\"\npermissions: {network: {allow: [{}]}}", "`host` or `cidr`"),
        ("version: \"1.0\"\npermissions: {environment: {allow: [{key: \"AWS_*\"}]}}", "one by one"),
        ("version: \"1.0\"\npermissions: {resources: {limits: {memory: lots}}}", "lots"),
        ("version: \"1.0\"\npermissions: {network: {deny: [{host: a.example/}]}}", "a.example/"),
        ("version: \"1.0\"\npermissions: {environment: {deny: [{key: \"AWS_*\"}]}}", "one by one"),
        ("version: \"1.0\"\npermissions: {storage: {deny: [{uri: \"fs://a\", access: []}]}}", "`access` is empty"),
        ("version: \"1.0\"\npermissions: {storage: {deny: [{uri: \"fs://a/x**\", access: [read]}]}}", "only a folder"),
        ("version: \"1.0\"\npermissions:\n  storage: {}\n  storage: {}", "line 4: the field `storage`"),
        ("version: \"1.0\"\npermissions: {storage: {deny: [], allow: [], deny: []}}", "`deny` stands there twice"),
        ("version: \"1.0\"\nx: &a [1]\ny: *a", "aliases"),
        ("version: \"1.0\"\n\tx: 1", "line 2"),
        (&huge, "more than"),
    ] {
        let why = parse(text).unwrap_err().to_string();
        assert!(why.contains(part), "{text:.80}: {why}");
    }
}
