use super::*;
use proptest::prelude::*;

fn check(text: &str, want: Option<&str>) {
    let got = Target::parse(text);
    assert_eq!(got.as_ref().ok().map(ToString::to_string).as_deref(), want, "{text}: {got:?}");
}

/// One spelling for what every program reads the same way (RFC 3986, section 6.2.2).
#[test]
fn a_url_has_one_spelling() {
    check("https://api.example.com", Some("https://api.example.com/"));
    check("HTTPS://API.Example.COM:443/a/../b?x=1#y", Some("https://api.example.com/b?x=1"));
    check("http://example.com:80", Some("http://example.com/"));
    check("http://example.com:8080/", Some("http://example.com:8080/"));
    check("https://example.com/a/%2e%2e/b", Some("https://example.com/b"));
    check("https://bücher.example/", Some("https://xn--bcher-kva.example/"));
    check("https://xn--bcher-kva.example/", Some("https://xn--bcher-kva.example/"));
    check("http://127.0.0.1:9/", Some("http://127.0.0.1:9/"));
    check("http://[::1]:9/", Some("http://[::1]:9/"));
    check("http://[0:0:0:0:0:0:0:1]/", Some("http://[::1]/"));
}

/// Attack 14: forms that two programs could read as two places.
#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    for text in [
        "api.example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:/example.com",
        "https:example.com",
        "https:///example.com",
        "https://",
        "https://a@b/",
        "https://a:b@example.com/",
        "https://@example.com/",
        "https://example.com@evil.org/",
        "https://example.com\\@evil.org/",
        "https://example.com./",
        "https://example..com/",
        "https://.example.com/",
        "https://-a.example.com/",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com\n.evil.org/",
        "https://example.com/\r\nHost: x",
        "https://exam\tple.com/",
        "https://ex%61mple.com/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.01/",
        "http://127.0.0.1./",
        "http://１２７.0.0.1/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:x/",
        "https://*.example.com/",
    ] {
        check(text, None);
    }
    check(&format!("https://example.com/{}", "a".repeat(LONGEST)), None);
    check(&format!("https://{}.com/", "a".repeat(64)), None);
}

#[test]
fn a_rule_means_hosts_not_texts() {
    for (pattern, url, want) in [
        ("*", "https://a.example.com/x", true),
        ("https://a.example.com/*", "https://a.example.com/x?y=/z", true),
        ("https://a.example.com/", "https://a.example.com/x", false),
        ("https://a.example.com", "https://a.example.com/", true),
        ("https://a.example.com*", "https://a.example.com.evil.org/", true),
        ("https://*.example.com/*", "https://a.example.com/x", true),
        ("https://*.example.com/*", "https://evil.org/.example.com/x", false),
        ("https://*.example.com/*", "https://evil.org/?.example.com/x", false),
        ("*.example.com/*", "https://evil.org/a.example.com/x", false),
        ("*://a.example.com/*", "http://a.example.com/x", true),
        ("https://*", "https://a.example.com/x", true),
        ("https://*", "http://a.example.com/x", false),
        ("http://127.0.0.1:*/*", "http://127.0.0.1:8080/x", true),
        ("http://127.0.0.1:*/*", "http://127.0.0.1/x", true),
        ("http://127.0.0.1:8080/*", "http://127.0.0.1:80801/x", false),
        ("https://a.example.com:443/*", "https://a.example.com/x", true),
    ] {
        let known = Target::parse(url);
        assert_eq!(known.is_ok_and(|t| t.fits(pattern)), want, "{pattern} for {url}");
    }
}

#[test]
fn a_host_is_named_letter_by_letter() {
    let here = Target::parse("http://127.0.0.1:8080/x").unwrap();
    for (pattern, want) in [
        ("http://127.0.0.1:8080/*", true),
        ("http://127.0.0.1:8080", true),
        ("http://127.0.0.1:8080/y", true),
        ("http://127.0.0.1:*/*", false),
        ("http://127.0.0.*:8080/*", false),
        ("http://*/*", false),
        ("http://127.0.0.1/*", false),
        ("https://127.0.0.1:8080/*", false),
        ("*", false),
    ] {
        assert_eq!(here.is_named_by(pattern), want, "{pattern}");
    }
}

proptest! {
    /// Whatever is accepted is in its one spelling already: no second reading leads elsewhere, and the client's parser agrees.
    #[test]
    fn reading_again_changes_nothing(text in "(https?|HTTP)://[a-zA-Z0-9.%@:\\[\\]\\\\_*-]{0,24}[/?#]?[a-z0-9/.%?#@:\\\\ -]{0,24}") {
        if let Ok(target) = Target::parse(&text) {
            let written = target.to_string();
            prop_assert_eq!(Target::parse(&written), Ok(target.clone()));
            let client = Url::parse(&written).expect("a URL");
            prop_assert_eq!(client.host_str(), Some(target.host.as_str()));
            prop_assert_eq!(client.port_or_known_default(), Some(target.port));
            prop_assert!(client.username().is_empty() && client.password().is_none());
        }
    }

    /// Odd forms of an address are refused or lead to the address that is written.
    #[test]
    fn an_address_is_what_is_written(text in "[0-9a-fx.]{1,18}") {
        if let Ok(target) = Target::parse(&format!("http://{text}/")) {
            prop_assert!(target.ip().is_none_or(|ip| ip.to_string() == text), "{} → {}", text, target);
        }
    }
}
