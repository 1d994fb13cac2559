//! How much of a model's window may be used (agent-core, section 3.9).

use super::CompactionOptions;
use model::provider::Model;

/// Tokens of one answer that are counted on where the model says nothing.
const MAX_OUTPUT: u64 = 32_000;

/// What a request and its answer may come to. `None` = nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window(Option<u64>);

impl Window {
    /// `answer`: what the person allows for one answer.
    pub(crate) fn new(model: &Model, answer: Option<u32>, options: &CompactionOptions) -> Self {
        let context = u64::from(model.context);
        if context == 0 {
            return Self(None);
        }
        let said = answer.map(u64::from).or((model.output > 0).then_some(u64::from(model.output).min(MAX_OUTPUT)));
        // An answer is never counted on to be as long as half of the window: small models would have no room to begin with.
        let reserved = options.reserved.unwrap_or_else(|| said.unwrap_or(MAX_OUTPUT).min(context / 2));
        Self(Some(context.saturating_sub(reserved)))
    }

    pub(crate) fn usable(self) -> Option<u64> {
        self.0
    }

    /// Whether so many tokens leave no room. Never, where the window is not known: then the provider's refusal tells.
    pub(crate) fn is_full(self, tokens: u64) -> bool {
        self.0.is_some_and(|usable| tokens >= usable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_kept_free() {
        let check = |context, output, answer, reserved, usable| {
            let model = Model { context, output, ..Model::unknown("m") };
            let options = CompactionOptions { reserved, ..CompactionOptions::default() };
            assert_eq!(
                Window::new(&model, answer, &options).usable(),
                usable,
                "{context} {output} {answer:?} {reserved:?}"
            );
        };
        check(0, 1000, None, None, None);
        check(10_000, 1000, None, None, Some(9000));
        check(200_000, 64_000, None, None, Some(168_000));
        check(200_000, 0, None, None, Some(168_000));
        check(200_000, 64_000, Some(4000), None, Some(196_000));
        check(200_000, 64_000, None, Some(10_000), Some(190_000));
        check(8192, 0, None, None, Some(4096));
        check(8192, 8192, None, None, Some(4096));
        check(1000, 0, None, Some(5000), Some(0));
    }

    #[test]
    fn an_unknown_window_is_never_full() {
        assert!(!Window::default().is_full(u64::MAX));
        assert!(Window(Some(10)).is_full(10) && !Window(Some(10)).is_full(9));
    }
}
