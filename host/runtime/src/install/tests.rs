use super::*;
use model::grant::Mode;

fn reads(path: &str) -> Grant {
    Grant { fs: [(path.to_owned(), Mode::ReadOnly)].into(), ..Grant::default() }
}

#[test]
fn nothing_is_given_beyond_what_is_asked_for() {
    let asks = reads("docs");
    for (asks, given, want) in [
        (Some(&asks), reads("docs/a"), Some(reads("docs/a"))),
        (Some(&asks), reads("docs"), Some(reads("docs"))),
        (Some(&asks), reads("."), None),
        (Some(&asks), reads("src"), None),
        (Some(&asks), Grant::default(), Some(Grant::default())),
        (None, reads("."), Some(reads("."))),
    ] {
        let got = narrowed("x", asks, &given);
        assert_eq!(got.as_ref().ok(), want.as_ref(), "{given:?}");
        assert!(got.is_ok() || got.unwrap_err().to_string().contains("may read files"));
    }
    let mut slow = reads("docs");
    slow.limits.cpu_ms = Some(60_000);
    assert_eq!(narrowed("x", Some(&asks), &slow), Ok(slow), "how long it may compute is the person's affair");
}

#[test]
fn versions_go_up() {
    for (before, now, fits) in [
        (Some("1.2.0"), Some("1.2.0"), true),
        (Some("1.2.0"), Some("1.10.0"), true),
        (Some("1.2.0"), Some("1.1.9"), false),
        (Some("1.2.0"), Some("1.2.0-rc.1"), false),
        (Some("1.2.0"), None, false),
        (Some("1.2.0"), Some("latest"), false),
        (None, Some("0.1.0"), true),
        (Some("spring"), Some("autumn"), true),
    ] {
        assert_eq!(not_older("x", before, now).is_ok(), fits, "{before:?} {now:?}");
    }
}

#[test]
fn a_publisher_stays() {
    for (before, now, fits) in [
        (None, None, true),
        (None, Some("ed25519:a"), true),
        (Some("ed25519:a"), Some("ed25519:a"), true),
        (Some("ed25519:a"), Some("ed25519:b"), false),
        (Some("ed25519:a"), None, false),
    ] {
        assert_eq!(same_publisher("x", before, now).is_ok(), fits, "{before:?} {now:?}");
    }
}

/// FIPS 180-2, appendix B.1.
#[test]
fn a_digest_as_registries_write_it() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
