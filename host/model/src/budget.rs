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
    /// All tokens of all requests, read and written.
    pub tokens: Option<u64>,
    /// Tokens that the model writes, its thoughts included.
    pub output_tokens: Option<u64>,
    /// Bytes that the model writes: for providers that count no tokens.
    pub output_bytes: Option<u64>,
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
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    Steps,
    Cost,
    Wall,
    Tokens,
    OutputTokens,
    OutputBytes,
}

/// What a run has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub steps: u32,
    pub cost_usd: Decimal,
    pub wall: Duration,
    pub tokens: u64,
    pub output_tokens: u64,
    pub output_bytes: u64,
}

impl Limits {
    /// The bound that the next request would break, if any. Checked before a request is sent.
    #[must_use]
    pub fn reached(&self, used: &Used) -> Option<Limit> {
        fn hit<T: PartialOrd>(bound: Option<T>, used: T, limit: Limit) -> Option<Limit> {
            bound.is_some_and(|b| used >= b).then_some(limit)
        }
        hit(self.steps, used.steps, Limit::Steps)
            .or(hit(self.cost_usd, used.cost_usd, Limit::Cost))
            .or(hit(self.wall, used.wall, Limit::Wall))
            .or(hit(self.tokens, used.tokens, Limit::Tokens))
            .or(hit(self.output_tokens, used.output_tokens, Limit::OutputTokens))
            .or(hit(self.output_bytes, used.output_bytes, Limit::OutputBytes))
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
        let all = Limits {
            steps: Some(2),
            cost_usd: Some(dec("0.5")),
            wall: Some(Duration::from_secs(2)),
            tokens: Some(100),
            output_tokens: Some(10),
            output_bytes: Some(1000),
        };
        let check = |used: Used, expected| assert_eq!(all.reached(&used), expected, "{used:?}");
        let none = Used::default();
        check(Used { steps: 1, tokens: 99, output_tokens: 9, output_bytes: 999, ..none }, None);
        check(Used { steps: 2, ..none }, Some(Limit::Steps));
        check(Used { cost_usd: dec("0.5"), ..none }, Some(Limit::Cost));
        check(Used { wall: Duration::from_secs(2), ..none }, Some(Limit::Wall));
        check(Used { tokens: 100, ..none }, Some(Limit::Tokens));
        check(Used { output_tokens: 10, ..none }, Some(Limit::OutputTokens));
        check(Used { output_bytes: 1000, ..none }, Some(Limit::OutputBytes));
        assert_eq!(serde_json::to_value(Limit::OutputTokens).unwrap(), "output-tokens");
    }
}
