//! The shapes of well-known keys.

const MASK: &str = "[redacted]";
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "PRIVATE KEY-----";

/// A key that starts with a word of its issuer: at least `least` characters follow that may stand in a key.
struct Shape {
    start: &'static str,
    least: usize,
    chars: Chars,
}

#[derive(Clone, Copy)]
enum Chars {
    /// Letters, digits, `_` and `-`.
    Word,
    /// Capital letters and digits.
    Capital,
}

const fn word(start: &'static str, least: usize) -> Shape {
    Shape { start, least, chars: Chars::Word }
}

/// Lengths from the issuers' documents, where they say one; else short enough for what is seen.
const SHAPES: [Shape; 31] = [
    word("sk-", 20),
    word("sk_live_", 16),
    word("sk_test_", 16),
    word("rk_live_", 16),
    word("pk_live_", 16),
    word("whsec_", 24),
    word("ghp_", 36),
    word("gho_", 36),
    word("ghu_", 36),
    word("ghs_", 36),
    word("ghr_", 36),
    word("github_pat_", 36),
    word("glpat-", 20),
    word("xoxb-", 20),
    word("xoxp-", 20),
    word("xoxa-", 20),
    word("xoxs-", 20),
    word("xapp-", 20),
    word("AIza", 35),
    word("ya29.", 20),
    word("gsk_", 40),
    word("xai-", 40),
    word("hf_", 30),
    word("npm_", 36),
    word("pypi-", 50),
    word("dop_v1_", 60),
    word("SG.", 40),
    word("r8_", 37),
    word("tvly-", 20),
    Shape { start: "AKIA", least: 16, chars: Chars::Capital },
    Shape { start: "ASIA", least: 16, chars: Chars::Capital },
];

impl Shape {
    /// Length of the key at the start of a text.
    fn len_at(&self, text: &str) -> Option<usize> {
        let rest = text.strip_prefix(self.start)?;
        let len = rest.bytes().take_while(|b| self.chars.hold(*b)).count();
        (len >= self.least).then_some(self.start.len() + len)
    }
}

impl Chars {
    fn hold(self, byte: u8) -> bool {
        match self {
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

/// The text with a mask in the place of each key.
pub(crate) fn masked(text: String) -> String {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let len = if starts_a_word(&text, at) { key_len(&text[at..]) } else { None };
        if let Some(len) = len {
            out.push_str(&text[copied..at]);
            out.push_str(MASK);
            copied = at + len;
        }
        at += len.unwrap_or(c.len_utf8());
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}

/// Inside a longer word the start of a key is chance.
fn starts_a_word(text: &str, at: usize) -> bool {
    text[..at].bytes().next_back().is_none_or(|b| !b.is_ascii_alphanumeric())
}

fn key_len(text: &str) -> Option<usize> {
    SHAPES.iter().find_map(|shape| shape.len_at(text)).or_else(|| web_token(text)).or_else(|| private_key(text))
}

/// A JSON Web Token: three parts of base64url, of which the first two are objects.
fn web_token(text: &str) -> Option<usize> {
    let len = text.bytes().take_while(|b| Chars::Word.hold(*b) || *b == b'.').count();
    let token = text[..len].trim_end_matches('.');
    let parts: Vec<&str> = token.split('.').collect();
    let is_token = matches!(parts[..], [head, body, sign] if head.starts_with("eyJ") && body.starts_with("eyJ") && sign.len() >= 20);
    is_token.then_some(token.len())
}

/// A block of PEM; one without its end is taken to the end of the text.
fn private_key(text: &str) -> Option<usize> {
    let first_line = text.strip_prefix(KEY_BEGIN)?.lines().next()?;
    if !first_line.trim_end().split("\\n").next()?.ends_with(KEY_END) {
        return None;
    }
    let body = KEY_BEGIN.len() + first_line.find(KEY_END)? + KEY_END.len();
    Some(text[body..].find(KEY_END).map_or(text.len(), |end| body + end + KEY_END.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(masked(text.to_owned()), expected);
    }

    #[test]
    fn keys_are_masked() {
        for shape in SHAPES {
            let key = format!("{}{}", shape.start, "A1".repeat(shape.least));
            check(&key, MASK);
            check(&format!("\u{e9} KEY=\"{key}\", x"), "\u{e9} KEY=\"[redacted]\", x");
        }
        let key = format!("sk-ant-api03-{}", "aB3_".repeat(20));
        check(&format!("{key} and {key}"), "[redacted] and [redacted]");
        let token = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}", "x".repeat(43));
        check(&format!("Bearer {token}."), "Bearer [redacted].");
    }

    #[test]
    fn private_keys_are_masked_whole() {
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{pem}\nb"), "a\n[redacted]\nb");
        check("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]");
        check(&format!("\"{}\"", pem.replace('\n', "\\n")), "\"[redacted]\"");
        let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
        check(public, public);
    }

    #[test]
    fn other_words_are_left() {
        for text in [
            "",
            "sk-short",
            "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "AKIAsmall0000000000000",
            "the hf_ prefix",
            "a.b.c eyJx.y.z",
            "\u{1F600} emoji",
        ] {
            check(text, text);
        }
    }
}
