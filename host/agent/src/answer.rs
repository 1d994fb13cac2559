//! Whether the answer fits the schema that it was asked to fit.

use crate::error::AgentError;
use crate::toolset::{compile, violations};
use jsonschema::Validator;
use model::provider::{FailureKind, ProviderFailure};
use serde_json::Value;

/// How often the model may try again where nothing else is said (agent-core, section 1.2).
const RETRIES: u32 = 2;

/// The check of a run's answer. Without a schema every answer is good.
pub(crate) struct AnswerCheck {
    validator: Option<Validator>,
    /// How often the model may try again, and how often it has.
    most: u32,
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
    /// `retries`: how often the model may try again.
    pub(crate) fn new(schema: Option<&Value>, retries: Option<u32>) -> Result<Self, AgentError> {
        let validator = schema.map(compile).transpose().map_err(AgentError::Schema)?;
        Ok(Self { validator, most: retries.unwrap_or(RETRIES), retries: 0 })
    }

    pub(crate) fn judge(&mut self, text: &str) -> Verdict {
        let Some(validator) = &self.validator else { return Verdict::Good };
        let Err(problem) = fits(validator, text) else { return Verdict::Good };
        if self.retries >= self.most {
            return Verdict::Bad(malformed(&problem, self.most));
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

fn malformed(problem: &str, tries: u32) -> ProviderFailure {
    ProviderFailure {
        kind: FailureKind::Unknown,
        message: format!("the model's answer does not fit the schema after {tries} further tries:\n{problem}"),
        retryable: false,
        retry_after: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check_of(schema: &Value, retries: Option<u32>) -> AnswerCheck {
        AnswerCheck::new(Some(schema), retries).unwrap()
    }

    #[test]
    fn an_answer_has_three_tries() {
        let mut check = check_of(&json!({"type": "object", "required": ["a"]}), None);
        assert!(matches!(check.judge("no"), Verdict::Again(t) if t.contains("not JSON")));
        assert!(matches!(check.judge("{}"), Verdict::Again(t) if t.contains("\"a\" is a required property")));
        assert!(matches!(check.judge("{}"), Verdict::Bad(_)));
        assert_eq!(check.judge("\n{\"a\": 1}\n"), Verdict::Good);
    }

    #[test]
    fn as_many_tries_as_are_asked_for() {
        for retries in [0, 1, 4] {
            let mut check = check_of(&json!({"type": "object"}), Some(retries));
            let again = (0..9).take_while(|_| matches!(check.judge("no"), Verdict::Again(_))).count();
            assert_eq!(again, retries as usize);
        }
    }

    #[test]
    fn without_a_schema_every_answer_is_good() {
        assert_eq!(AnswerCheck::new(None, None).unwrap().judge("no"), Verdict::Good);
        assert!(matches!(AnswerCheck::new(Some(&json!({"type": 3})), None), Err(AgentError::Schema(_))));
    }
}
