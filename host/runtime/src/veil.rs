//! What comes back from a server may hold the key that was sent to it: as it is, or in another coding. All forms that are known
//! are taken out before a component, a log or the ledger sees them.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// A shorter value is not looked for: it would be found everywhere.
pub const SHORTEST: usize = 6;
/// Takes the place of what was found.
const MARK: &[u8] = b"***";

/// Finds the forms of some values. Without values it costs nothing.
#[derive(Clone, Default)]
pub struct Veil(Option<Arc<Forms>>);

struct Forms {
    finder: AhoCorasick,
    all: Vec<Vec<u8>>,
}

impl Veil {
    #[must_use]
    pub fn over<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let forms: BTreeSet<Vec<u8>> = values.filter(|v| v.len() >= SHORTEST).flat_map(forms).collect();
        let all: Vec<_> = forms.into_iter().filter(|f| f.len() >= SHORTEST).collect();
        if all.is_empty() {
            return Self(None);
        }
        let built =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(true).build(&all);
        #[expect(clippy::expect_used, reason = "fails only beyond 2^31 bytes of patterns; a key has 64 KiB at most")]
        let finder = built.expect("a finder for a few short patterns");
        Self(Some(Arc::new(Forms { finder, all })))
    }

    /// The bytes with a mark in place of each form.
    #[must_use]
    pub fn blank(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.0 {
            Some(forms) if forms.finder.is_match(&bytes) => {
                forms.finder.replace_all_bytes(&bytes, &vec![MARK; forms.all.len()])
            }
            _ => bytes,
        }
    }

    /// Bytes at the end that may be the beginning of a form.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let Some(forms) = &self.0 else { return 0 };
        let of = |form: &Vec<u8>| {
            let longest = (form.len() - 1).min(bytes.len());
            (1..=longest).rev().find(|&n| bytes[bytes.len() - n..].eq_ignore_ascii_case(&form[..n]))
        };
        forms.all.iter().filter_map(of).max().unwrap_or(0)
    }
}

/// A stream under a veil: a form is found wherever the reads cut it. What may be the beginning of one waits for the next bytes.
#[derive(Default)]
pub struct Veiled {
    veil: Veil,
    held: Vec<u8>,
}

impl Veiled {
    #[must_use]
    pub fn new(veil: Veil) -> Self {
        Self { veil, held: Vec::new() }
    }

    /// What can be handed on; it may be empty.
    pub fn push(&mut self, bytes: Bytes) -> Bytes {
        if self.veil.0.is_none() {
            return bytes;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(&bytes);
        let mut clean = self.veil.blank(all);
        self.held = clean.split_off(clean.len() - self.veil.open_end(&clean));
        clean.into()
    }

    /// What was held back, at the end.
    pub fn end(&mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }
}

/// As it is, in JSON text, in hex, in percent coding, in base64 at each of the three places where it can begin.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_matches('"').to_owned();
    let mut all = vec![value.to_owned(), json.replace('/', "\\/"), json, hex(value)];
    all.extend([
        percent(value, is_unreserved),
        percent(value, |b| b.is_ascii_alphanumeric()),
        percent(value, |_| false),
    ]);
    all.extend((0..3).flat_map(|skip| base64_inside(value, skip)));
    all.into_iter().map(String::into_bytes).collect()
}

fn hex(value: &str) -> String {
    value.bytes().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// RFC 3986, section 2.3. Some encoders take letters and digits only, some nothing at all.
fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-._~".contains(&b)
}

fn percent(value: &str, is_plain: impl Fn(u8) -> bool) -> String {
    value.bytes().fold(String::new(), |mut out, b| {
        let _ = if is_plain(b) { write!(out, "{}", char::from(b)) } else { write!(out, "%{b:02X}") };
        out
    })
}

/// The characters of a base64 text that depend on the value alone, where `before` bytes stand in front of it in its group.
fn base64_inside(value: &str, before: usize) -> [String; 2] {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let from = (before * 8).div_ceil(6);
    let to = bytes.len() * 8 / 6;
    let cut = |text: String| text.get(from..to).unwrap_or_default().to_owned();
    [cut(STANDARD_NO_PAD.encode(&bytes)), cut(URL_SAFE_NO_PAD.encode(&bytes))]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123/456+789";

    fn veil() -> Veil {
        Veil::over([KEY, "short"].into_iter())
    }

    fn forms_in_text() -> Vec<String> {
        use base64::engine::general_purpose::STANDARD;
        let mut all = vec![
            format!("key {KEY} is wrong"),
            format!("{{\"authorization\":\"Bearer {}\"}}", KEY.replace('/', "\\/")),
            KEY.to_uppercase(),
            "x=sk-0123%2F456%2B789&y".into(),
            "x=sk-0123%2f456%2b789&y".into(),
            percent(KEY, |b| b.is_ascii_alphanumeric()),
            percent(KEY, |_| false),
            format!("hex {} and {}", hex(KEY), hex(KEY).to_uppercase()),
        ];
        for before in ["", "a", "ab", "Bearer ", "user:"] {
            all.push(STANDARD.encode(format!("{before}{KEY}")));
            all.push(STANDARD.encode(format!("{before}{KEY} and more")));
        }
        all
    }

    /// Taken apart by a test of its own: what must not be readable in any coding.
    fn shows(bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        let coded: [String; 3] =
            [percent(KEY, is_unreserved), percent(KEY, |b| b.is_ascii_alphanumeric()), percent(KEY, |_| false)];
        let plain = [KEY.to_owned(), hex(KEY), KEY.replace('/', "\\/")].into_iter().chain(coded);
        let mut coded = plain.into_iter().any(|p| text.contains(&p.to_lowercase()));
        for word in String::from_utf8_lossy(bytes).split(|c: char| !c.is_ascii_alphanumeric() && !"+/=_-".contains(c)) {
            let decoded = STANDARD_NO_PAD.decode(word.trim_end_matches('=')).unwrap_or_default();
            coded |= String::from_utf8_lossy(&decoded).contains(KEY);
        }
        coded
    }

    #[test]
    fn every_form_is_found() {
        for text in forms_in_text() {
            assert!(shows(text.as_bytes()) || text == KEY.to_uppercase(), "the test looks for nothing in {text}");
            let clean = veil().blank(text.clone().into_bytes());
            assert!(!shows(&clean), "{text} → {}", String::from_utf8_lossy(&clean));
        }
    }

    #[test]
    fn wherever_a_stream_is_cut() {
        for text in forms_in_text() {
            for cut in 0..text.len() {
                let mut veiled = Veiled::new(veil());
                let (a, b) = text.as_bytes().split_at(cut);
                let mut out = veiled.push(Bytes::copy_from_slice(a)).to_vec();
                out.extend_from_slice(&veiled.push(Bytes::copy_from_slice(b)));
                out.extend_from_slice(&veiled.end());
                assert_eq!(out, veil().blank(text.clone().into_bytes()), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_holds_no_secret_is_handed_on_as_it_is_and_at_once() {
        let event = b"data: {\"content\":\"short words\"}\n\n";
        let mut veiled = Veiled::new(veil());
        assert_eq!(veiled.push(Bytes::from_static(event)), &event[..]);
        assert_eq!(veil().blank(b"\xff\xfe".to_vec()), b"\xff\xfe");
        assert_eq!(Veil::default().blank(KEY.into()), KEY.as_bytes());
    }
}
