//! Whether the answer fits the schema that it was asked to fit.

use crate::error::AgentError;
use crate::toolset::{compile, violations};
use jsonschema::Validator;
use model::provider::{FailureKind, ProviderFailure};
use serde_json::Value;

/// How often the model may try again.
const MAX_RETRIES: u32 = 2;

/// The check of a run's answer. Without a schema every answer is good.
pub(crate) struct AnswerCheck {
    validator: Option<Validator>,
    retries: u32,
}

/// What follows from an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Good,
    /// The model is told this and asked again.
    Again(String),
    Bad(ProviderFailure),
}

impl AnswerCheck {
    pub(crate) fn new(schema: Option<&Value>) -> Result<Self, AgentError> {
        let validator = schema.map(compile).transpose().map_err(AgentError::Schema)?;
        Ok(Self { validator, retries: 0 })
    }

    pub(crate) fn judge(&mut self, text: &str) -> Verdict {
        let Some(validator) = &self.validator else { return Verdict::Good };
        let Err(problem) = fits(validator, text) else { return Verdict::Good };
        if self.retries >= MAX_RETRIES {
            return Verdict::Bad(malformed(&problem));
        }
        self.retries += 1;
        Verdict::Again(format!(
            "Your answer does not fit the schema:\n{problem}\nAnswer again with one JSON value that fits it, without any other text."
        ))
    }
}

fn fits(validator: &Validator, text: &str) -> Result<(), String> {
    let value: Value = serde_json::from_str(text.trim()).map_err(|e| format!("- it is not JSON: {e}"))?;
    violations(validator, &value)
}

fn malformed(problem: &str) -> ProviderFailure {
    ProviderFailure {
        kind: FailureKind::Unknown,
        message: format!("the model's answer does not fit the schema after {MAX_RETRIES} further tries:\n{problem}"),
        retryable: false,
        retry_after: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_has_three_tries() {
        let mut check = AnswerCheck::new(Some(&json!({"type": "object", "required": ["a"]}))).unwrap();
        assert!(matches!(check.judge("no"), Verdict::Again(t) if t.contains("not JSON")));
        assert!(matches!(check.judge("{}"), Verdict::Again(t) if t.contains("\"a\" is a required property")));
        assert!(matches!(check.judge("{}"), Verdict::Bad(_)));
        assert_eq!(check.judge("\n{\"a\": 1}\n"), Verdict::Good);
    }

    #[test]
    fn without_a_schema_every_answer_is_good() {
        assert_eq!(AnswerCheck::new(None).unwrap().judge("no"), Verdict::Good);
        assert!(matches!(AnswerCheck::new(Some(&json!({"type": 3}))), Err(AgentError::Schema(_))));
    }
}
