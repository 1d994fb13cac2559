//! What tokens cost: exact decimal arithmetic, with prices that rise beyond a size of the prompt.

use crate::budget::Tokens;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// USD per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: Decimal,
    pub output: Decimal,
    pub cache_read: Decimal,
    pub cache_write: Decimal,
    /// For larger prompts, in any order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
}

/// What holds where the prompt has more tokens than `above`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    pub above: u64,
    #[serde(flatten)]
    pub rates: Rates,
}

/// USD per million tokens, of one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub input: Decimal,
    pub output: Decimal,
    pub cache_read: Decimal,
    pub cache_write: Decimal,
}

impl Price {
    /// The rates of a request by the tokens of its whole prompt, cached ones included: of all tiers that it passes, the largest
    /// (agent-core, section 3.8).
    #[must_use]
    pub fn rates(&self, prompt: u64) -> Rates {
        let base = Rates {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        };
        self.tiers.iter().filter(|t| prompt > t.above).max_by_key(|t| t.above).map_or(base, |t| t.rates)
    }

    /// Cost of one request in USD, exact. Reasoning is billed at the output price (agent-core, section 3.8).
    #[must_use]
    pub fn cost(&self, t: &Tokens) -> Decimal {
        let prompt = t.input.saturating_add(t.cache.read).saturating_add(t.cache.write);
        let rates = self.rates(prompt);
        let sum = rates.input * Decimal::from(t.input)
            + rates.output * Decimal::from(t.output.saturating_add(t.reasoning))
            + rates.cache_read * Decimal::from(t.cache.read)
            + rates.cache_write * Decimal::from(t.cache.write);
        (sum / Decimal::from(1_000_000)).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::CacheTokens;

    fn dec(t: &str) -> Decimal {
        t.parse().unwrap()
    }

    fn tokens(input: u64, output: u64, reasoning: u64, read: u64, write: u64) -> Tokens {
        Tokens { input, output, reasoning, cache: CacheTokens { read, write } }
    }

    fn price(tiers: Vec<Tier>) -> Price {
        Price { input: dec("0.1"), output: dec("0.2"), cache_read: dec("0.01"), cache_write: dec("0.3"), tiers }
    }

    #[test]
    fn cost_is_exact_decimal_arithmetic() {
        // (0.1*3 + 0.2*2 + 0.01*10 + 0.3*1) / 1e6
        assert_eq!(price(vec![]).cost(&tokens(3, 1, 1, 10, 1)), dec("0.0000011"));
    }

    #[test]
    fn the_largest_tier_that_the_prompt_passes_holds_for_all_of_it() {
        let tier = |above, input: &str| Tier { above, rates: Rates { input: dec(input), ..Rates::default() } };
        let price = price(vec![tier(400, "9"), tier(200, "5")]);
        for (tokens, want) in [
            (tokens(200, 0, 0, 0, 0), "0.00002"),
            (tokens(201, 0, 0, 0, 0), "0.001005"),
            (tokens(101, 0, 0, 50, 50), "0.000505"),
            (tokens(400, 0, 0, 0, 0), "0.002"),
            (tokens(401, 0, 0, 0, 0), "0.003609"),
            // What is said does not count to the prompt.
            (tokens(100, 900, 0, 0, 0), "0.00019"),
        ] {
            assert_eq!(price.cost(&tokens), dec(want), "{tokens:?}");
        }
    }
}
