//! Whole numbers as JSON Schema has them: `10.0` is an `integer` there, and models write it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// For an optional whole number: `#[serde(default, deserialize_with = "airlock::whole")]`.
///
/// # Errors
/// Where the number has a fraction, is negative, or is no number.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    number
        .as_u64()
        .or_else(|| number.as_f64().and_then(exact))
        .map(Some)
        .ok_or_else(|| D::Error::custom("expected a whole number"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and without a fraction")]
fn exact(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        #[derive(Deserialize)]
        struct Input {
            #[serde(default, deserialize_with = "whole")]
            n: Option<u64>,
        }
        let read = |text: &str| serde_json::from_str::<Input>(text).map(|i| i.n).ok();
        assert_eq!(read("{}"), Some(None));
        assert_eq!(read(r#"{"n":null}"#), Some(None));
        assert_eq!(read(r#"{"n":10}"#), Some(Some(10)));
        assert_eq!(read(r#"{"n":10.0}"#), Some(Some(10)));
        assert_eq!(read(r#"{"n":10.5}"#), None);
        assert_eq!(read(r#"{"n":-1}"#), None);
        assert_eq!(read(r#"{"n":"x"}"#), None);
    }
}
