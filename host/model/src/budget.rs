//! What a run may use, and what it has used.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Upper bounds of one run. `None` = no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub steps: Option<u32>,
    pub cost_usd: Option<Decimal>,
    pub wall: Option<Duration>,
}

/// How far sessions may come of one another in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offspring {
    /// Generations below the run's own session; 0 = no sub-agents at all.
    pub depth: u32,
    /// Children of one session that work at one time.
    pub at_once: usize,
    /// Of the whole run.
    pub total: usize,
}

impl Default for Offspring {
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 256 }
    }
}

/// Tokens of one request or the sum over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Fresh input, without cached tokens.
    pub input: u64,
    /// Output without reasoning.
    pub output: u64,
    pub reasoning: u64,
    pub cache: CacheTokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTokens {
    pub read: u64,
    pub write: u64,
}

impl Tokens {
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.input, self.output, self.reasoning, self.cache.read, self.cache.write]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, o: Self) {
        self.input = self.input.saturating_add(o.input);
        self.output = self.output.saturating_add(o.output);
        self.reasoning = self.reasoning.saturating_add(o.reasoning);
        self.cache.read = self.cache.read.saturating_add(o.cache.read);
        self.cache.write = self.cache.write.saturating_add(o.cache.write);
    }
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Steps,
    Cost,
    Wall,
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub steps: u32,
    pub cost_usd: Decimal,
    pub wall: Duration,
}

impl Limits {
    /// The bound that the next request would break, if any. Checked before a request is sent.
    #[must_use]
    pub fn reached(&self, used: &Used) -> Option<Limit> {
        let over = |hit: bool, limit| hit.then_some(limit);
        over(self.steps.is_some_and(|n| used.steps >= n), Limit::Steps)
            .or(over(self.cost_usd.is_some_and(|c| used.cost_usd >= c), Limit::Cost))
            .or(over(self.wall.is_some_and(|w| used.wall >= w), Limit::Wall))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dec(t: &str) -> Decimal {
        t.parse().unwrap()
    }

    #[test]
    fn a_limit_is_reached_not_passed() {
        let l = Limits { steps: Some(2), cost_usd: Some(dec("0.5")), wall: None };
        assert_eq!(l.reached(&Used { steps: 1, ..Used::default() }), None);
        assert_eq!(l.reached(&Used { steps: 2, ..Used::default() }), Some(Limit::Steps));
        assert_eq!(l.reached(&Used { cost_usd: dec("0.5"), ..Used::default() }), Some(Limit::Cost));
    }
}
