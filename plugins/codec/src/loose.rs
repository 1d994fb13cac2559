//! Values of any type where one was promised.

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A string, or whatever stands in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loose<'a> {
    #[default]
    Missing,
    Text(Cow<'a, str>),
    Json(Value),
}

impl<'a> Loose<'a> {
    /// Empty unless it is a string.
    #[must_use]
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// As [`Self::text`].
    #[must_use]
    pub fn into_text(self) -> Cow<'a, str> {
        if let Self::Text(text) = self { text } else { Cow::Borrowed("") }
    }

    /// A whole number, also where it is text.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Missing => None,
            Self::Text(text) => text.parse().ok(),
            Self::Json(value) => value.as_u64(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text.into())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Missing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Loose::Json(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Loose::Json(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Loose::Json(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Loose::Json(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(Loose::Json)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Loose::Json)
    }
}

/// A count, for `#[serde(default, deserialize_with = "codec::count")]`: tolerates null, fractions and text; what is no count is none.
///
/// # Errors
/// Only where the text is no JSON.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Loose::deserialize(deserializer)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; a negative count is none")]
    let fraction = |v: &Value| v.as_f64().map(|f| f as u64);
    let given = value.number().or_else(|| if let Loose::Json(v) = &value { fraction(v) } else { None });
    Ok(given.unwrap_or(0))
}
