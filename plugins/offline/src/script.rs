//! Turns that somebody wrote down beforehand.

use crate::turn::Turn;
use airlock::provider::Request;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    turns: Vec<Turn>,
    #[serde(default)]
    repeat: Repeat,
}

/// What comes after the last turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Repeat {
    #[default]
    Never,
    Last,
    Cycle,
}

/// The script among the provider's options, if there is one.
pub fn of(request: &Request) -> Result<Option<Script>, String> {
    let Some(options) = &request.options else { return Ok(None) };
    let mut options: Map<String, Value> = serde_json::from_str(options)
        .map_err(|e| format!("The options of the offline stand-in are no JSON object: {e}"))?;
    let script = options.shift_remove("script").filter(|s| !s.is_null());
    script
        .map(serde_json::from_value)
        .transpose()
        .map_err(|e| format!("The script of the offline stand-in is not valid: {e}"))
}

impl Script {
    pub fn turn(&self, number: usize) -> Turn {
        let count = self.turns.len();
        let turn = match self.repeat {
            Repeat::Never => self.turns.get(number),
            Repeat::Last => self.turns.get(number).or(self.turns.last()),
            Repeat::Cycle => self.turns.get(number.checked_rem(count).unwrap_or(0)),
        };
        let ended = || {
            Turn::saying(format!(
                "The script has ended: it has {count} turns, and this would be number {}.",
                number + 1
            ))
        };
        turn.cloned().unwrap_or_else(ended).numbered(number)
    }
}
