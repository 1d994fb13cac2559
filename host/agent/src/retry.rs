//! Which failed request is tried again, and when (agent-core, section 0 and 3.7). Pure: no clock, no dice.

use model::provider::{FailureKind, ProviderFailure};
use std::time::Duration;

/// Bounds on trying again. A value, so that a test or an environment can shrink it.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts per request, the first included.
    pub attempts: u32,
    /// Wait before the second attempt; doubles with each further one.
    pub base: Duration,
    /// Longest wait of our own choosing.
    pub cap: Duration,
    /// Largest part of a wait that is added to it by chance, so that clients do not come back all at once.
    pub jitter: f64,
    /// Longest wait that a provider's `retry-after` can cause; a longer one is cut to this.
    pub retry_after_cap: Duration,
    /// From the start of the first attempt to the start of the last.
    pub total: Duration,
    /// Longest silence of a stream, and longest wait for its start.
    pub idle: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            base: Duration::from_secs(2),
            cap: Duration::from_secs(30),
            jitter: 0.25,
            retry_after_cap: Duration::from_secs(60),
            total: Duration::from_secs(600),
            idle: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after attempt number `attempt` (from 1) failed; `None` = give up. `spent` is the time since the first
    /// attempt began, `dice` a number from 0 to 1.
    #[must_use]
    pub fn wait(&self, attempt: u32, failure: &ProviderFailure, spent: Duration, dice: f64) -> Option<Duration> {
        if may_retry(failure) { self.delay(attempt, failure, spent, dice) } else { None }
    }

    /// As [`Self::wait`], where somebody else has decided that trying again may help.
    pub(crate) fn delay(
        &self,
        attempt: u32,
        failure: &ProviderFailure,
        spent: Duration,
        dice: f64,
    ) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let wait = match failure.retry_after {
            // Coming back earlier than asked would only be refused again: no jitter.
            Some(asked) => asked.min(self.retry_after_cap),
            None => self.backoff(attempt).mul_f64(1.0 + self.jitter.max(0.0) * dice.clamp(0.0, 1.0)),
        };
        (spent.saturating_add(wait) <= self.total).then_some(wait)
    }

    fn backoff(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }
}

/// A request that is too large, refused for its content or malformed stays so: the adapter's word is overruled for the first
/// two, which no wait can cure.
fn may_retry(failure: &ProviderFailure) -> bool {
    failure.retryable && !matches!(failure.kind, FailureKind::ContextOverflow | FailureKind::ContentFilter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: FailureKind, retryable: bool, retry_after: Option<u64>) -> ProviderFailure {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderFailure { kind, message: "no".into(), retryable, retry_after }
    }

    /// Seconds in, seconds out.
    fn check(attempt: u32, f: &ProviderFailure, spent: u64, dice: f64, expected: Option<f64>) {
        let wait = RetryPolicy::default().wait(attempt, f, Duration::from_secs(spent), dice);
        assert_eq!(wait.map(|w| w.as_secs_f64()), expected, "attempt {attempt}, {spent} s, {f:?}");
    }

    #[test]
    fn waits_double_from_two_seconds_to_thirty() {
        let f = failure(FailureKind::Server, true, None);
        for (attempt, seconds) in [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0)] {
            check(attempt, &f, 0, 0.0, Some(seconds));
            check(attempt, &f, 0, 1.0, Some(seconds * 1.25));
        }
        check(5, &f, 0, 0.0, None);
        let patient = RetryPolicy { attempts: 40, ..RetryPolicy::default() };
        for attempt in 5..39 {
            assert_eq!(patient.wait(attempt, &f, Duration::ZERO, 0.0), Some(Duration::from_secs(30)));
        }
    }

    #[test]
    fn the_provider_may_ask_for_a_wait_up_to_the_cap() {
        check(1, &failure(FailureKind::RateLimit, true, Some(7)), 0, 1.0, Some(7.0));
        check(1, &failure(FailureKind::RateLimit, true, Some(0)), 0, 1.0, Some(0.0));
        check(4, &failure(FailureKind::RateLimit, true, Some(9999)), 0, 1.0, Some(60.0));
    }

    #[test]
    fn what_no_wait_cures_is_not_tried_again() {
        check(1, &failure(FailureKind::Auth, false, None), 0, 0.0, None);
        check(1, &failure(FailureKind::Quota, false, Some(1)), 0, 0.0, None);
        check(1, &failure(FailureKind::ContextOverflow, true, None), 0, 0.0, None);
        check(1, &failure(FailureKind::ContentFilter, true, None), 0, 0.0, None);
    }

    #[test]
    fn the_time_for_all_attempts_is_bounded() {
        check(2, &failure(FailureKind::Server, true, None), 596, 0.0, Some(4.0));
        check(2, &failure(FailureKind::Server, true, None), 597, 0.0, None);
    }
}
