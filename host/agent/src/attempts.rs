//! Several attempts at one task: what each may use, and which one stands. Pure.

use model::budget::{Limit, Limits, Used};
use model::event::RunOutcome;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::time::Duration;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// It ended with an answer.
    pub ended_well: bool,
    /// From 0 to 100; `None` = the look at it came to no end.
    pub score: Option<u8>,
    /// How much was found to be wrong.
    pub problems: usize,
}

impl Tried {
    /// Whether no further attempt can be better.
    #[must_use]
    pub fn is_flawless(&self) -> bool {
        self.ended_well && self.score.is_some() && self.problems == 0
    }
}

/// The attempt that stands: of those that ended well the one with the best score, then with the fewest problems, then the earliest.
#[must_use]
pub fn best(tried: &[Tried]) -> Option<usize> {
    let good = tried.iter().enumerate().filter(|(_, t)| t.ended_well);
    good.max_by_key(|(at, t)| (t.score, Reverse(t.problems), Reverse(*at))).map(|(at, _)| at)
}

/// What a run has used of its limits, in this time.
#[must_use]
pub fn used_by(outcome: &RunOutcome, wall: Duration) -> Used {
    let tokens = outcome.tokens;
    Used {
        steps: outcome.steps,
        cost_usd: outcome.cost,
        wall,
        tokens: tokens.total(),
        output_tokens: tokens.output.saturating_add(tokens.reasoning),
        output_bytes: outcome.text.len() as u64,
    }
}

/// What the next of `left` attempts may use: an equal share of what is left of the limits of all.
///
/// # Errors
/// The limit that leaves nothing.
pub fn share(all: &Limits, used: &Used, left: u32) -> Result<Limits, Limit> {
    if let Some(limit) = all.reached(used) {
        return Err(limit);
    }
    let left = left.max(1);
    let part = |bound: Option<u64>, used: u64| bound.map(|b| (b.saturating_sub(used) / u64::from(left)).max(1));
    Ok(Limits {
        steps: all.steps.map(|n| (n.saturating_sub(used.steps) / left).max(1)),
        cost_usd: all.cost_usd.map(|c| (c - used.cost_usd) / Decimal::from(left)),
        wall: all.wall.map(|w| w.saturating_sub(used.wall) / left),
        tokens: part(all.tokens, used.tokens),
        output_tokens: part(all.output_tokens, used.output_tokens),
        output_bytes: part(all.output_bytes, used.output_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_attempt_stands() {
        let good = |score, problems| Tried { ended_well: true, score, problems };
        let bad = Tried { ended_well: false, score: Some(100), problems: 0 };
        let check = |tried: &[Tried], expected| assert_eq!(best(tried), expected, "{tried:?}");
        check(&[], None);
        check(&[bad, bad], None);
        check(&[bad, good(Some(10), 3), bad], Some(1));
        check(&[good(Some(50), 2), good(Some(90), 3), good(Some(70), 1)], Some(1));
        check(&[good(Some(50), 2), good(Some(50), 1)], Some(1));
        check(&[good(Some(50), 1), good(Some(50), 1)], Some(0));
        check(&[good(None, 0), good(Some(0), 9)], Some(1));
    }

    #[test]
    fn only_what_was_looked_at_is_flawless() {
        let tried = |ended_well, score, problems| Tried { ended_well, score, problems }.is_flawless();
        assert!(tried(true, Some(80), 0));
        assert!(!tried(true, Some(100), 1) && !tried(true, None, 0) && !tried(false, Some(100), 0));
    }

    #[test]
    fn what_is_left_is_shared_equally() {
        let all = Limits {
            steps: Some(10),
            cost_usd: Some(Decimal::from(3)),
            wall: Some(Duration::from_secs(60)),
            tokens: Some(1000),
            ..Limits::default()
        };
        let first = share(&all, &Used::default(), 3).unwrap();
        assert_eq!((first.steps, first.cost_usd, first.tokens), (Some(3), Some(Decimal::from(1)), Some(333)));
        assert_eq!((first.wall, first.output_tokens), (Some(Duration::from_secs(20)), None));
        let used = Used { steps: 8, cost_usd: Decimal::from(1), tokens: 999, ..Used::default() };
        let last = share(&all, &used, 1).unwrap();
        assert_eq!((last.steps, last.cost_usd, last.tokens), (Some(2), Some(Decimal::from(2)), Some(1)));
        assert_eq!(share(&all, &used, 9).unwrap().steps, Some(1), "nobody starts with nothing");
        assert_eq!(share(&all, &Used { cost_usd: Decimal::from(3), ..used }, 2), Err(Limit::Cost));
    }
}
