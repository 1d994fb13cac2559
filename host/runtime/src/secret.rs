//! Secrets: values that are held, put into one header of a request whose destination was checked, and shown to nobody.

use crate::veil::{SHORTEST, Veil, Veiled};
use std::collections::BTreeMap;
use std::fmt;

/// The value of a secret. It has no text form.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Whether it would be found in what comes back.
    #[must_use]
    pub fn can_be_veiled(&self) -> bool {
        self.0.len() >= SHORTEST
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";

/// The secrets of one provider.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeMap<String, Secret>,
    veil: Veil,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.values).finish()
    }
}

/// A placeholder that cannot be filled.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("it needs the secret `{0}`, which is not set")]
    Unset(String),
    #[error("a placeholder for a secret is not closed")]
    Unclosed,
}

impl Secrets {
    #[must_use]
    pub fn new(values: BTreeMap<String, Secret>) -> Self {
        let veil = Veil::over(values.values().map(|s| s.0.as_str()));
        Self { values, veil }
    }

    /// Names of those that are set.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.values.iter().filter(|(_, s)| !s.0.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// The text with secrets in place of their placeholders, and whether there were any.
    ///
    /// # Errors
    /// A secret that is not set.
    pub fn fill(&self, text: &str) -> Result<(String, bool), SecretError> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (name, after) = after.split_once(CLOSE).ok_or(SecretError::Unclosed)?;
            let value = self.values.get(name).filter(|s| !s.0.is_empty());
            out.push_str(before);
            out.push_str(&value.ok_or_else(|| SecretError::Unset(name.into()))?.0);
            rest = after;
        }
        out.push_str(rest);
        Ok((out, rest.len() != text.len()))
    }

    /// Takes the values out of a text from outside, in every coding in which they are known to come back.
    #[must_use]
    pub fn blank(&self, text: String) -> String {
        // What was cut out of a text are whole characters.
        String::from_utf8(self.veil.blank(text.into_bytes()))
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }

    /// For an answer that comes piece by piece.
    #[must_use]
    pub fn veiled(&self) -> Veiled {
        Veiled::new(self.veil.clone())
    }
}

/// The names in the placeholders of a text; `None` where one is not closed.
#[must_use]
pub fn placeholders(text: &str) -> Option<Vec<&str>> {
    text.split(OPEN).skip(1).map(|after| after.split_once(CLOSE).map(|(name, _)| name)).collect()
}

/// Whether a text holds a placeholder.
#[must_use]
pub fn has_placeholder(text: &str) -> bool {
    text.contains(OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets::new(BTreeMap::from([("KEY".into(), Secret::new("v-123456")), ("EMPTY".into(), Secret::new(""))]))
    }

    #[test]
    fn placeholders() {
        for (text, want) in [
            ("plain", Ok(("plain".to_owned(), false))),
            ("Bearer {{secret:KEY}}", Ok(("Bearer v-123456".to_owned(), true))),
            ("{{secret:KEY}}{{secret:KEY}}", Ok(("v-123456v-123456".to_owned(), true))),
            ("{{secret:EMPTY}}", Err(SecretError::Unset("EMPTY".into()))),
            ("{{secret:NO}}", Err(SecretError::Unset("NO".into()))),
            ("{{secret:KEY", Err(SecretError::Unclosed)),
        ] {
            assert_eq!(secrets().fill(text), want, "{text}");
        }
        assert_eq!(secrets().names(), ["KEY"]);
    }

    #[test]
    fn a_value_is_never_shown() {
        assert_eq!(format!("{:?}", Secret::new("v-123456")), "***");
        assert!(!format!("{:?}", secrets()).contains("123456"));
        assert_eq!(secrets().blank("key v-123456 is wrong".into()), "key *** is wrong");
    }
}
