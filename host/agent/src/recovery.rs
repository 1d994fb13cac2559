//! What is wrong with an answer that cannot be used, and what is done about it. One table; pure.
//!
//! An answer that is asked for again leaves no trace: the same request is sent, and what the bad answer said is dropped from what
//! the model sees.

use model::message::FinishReason;
use model::provider::{FailureKind, ProviderFailure};
use model::tool_state::Metadata;

/// How often an answer with nothing in it is asked for again.
const REQUERIES: u32 = 2;

/// What an answer held when it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// A text that is not blank.
    pub text: bool,
    pub thought: bool,
    /// A call, of ours or of the provider's own.
    pub call: bool,
}

/// The nine ways in which an answer is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The stream ended without a word of how.
    NoFinish,
    /// No text, no thought, no call.
    Empty,
    /// A call that the provider itself could not read.
    MalformedCall,
    /// A call where none may be made.
    UnexpectedCall,
    /// The limit of output tokens came before the first word.
    TokenLimit,
    Safety,
    /// The provider took the answer for a copy of something it knows. Chance has a part in it.
    Recitation,
    /// Any other reason of the provider's to hold an answer back.
    OtherBlock,
    /// Thoughts, and no answer.
    ReasoningOnly,
}

/// What is done about a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// As any request that failed on its way: up to the attempts of the policy.
    Retry,
    /// The same request again, so often.
    Requery(u32),
    /// The answer stands; the model reads what was wrong with it as a result.
    Tell,
    /// Asking again would give the same.
    Fail,
}

impl Flaw {
    pub(crate) fn reaction(self) -> Reaction {
        match self {
            Self::NoFinish => Reaction::Retry,
            Self::Empty | Self::MalformedCall | Self::ReasoningOnly => Reaction::Requery(REQUERIES),
            Self::Recitation => Reaction::Requery(1),
            Self::UnexpectedCall => Reaction::Tell,
            Self::TokenLimit | Self::Safety | Self::OtherBlock => Reaction::Fail,
        }
    }

    /// As the person reads it, where the flaw is what the run ends with.
    pub(crate) fn failure(self) -> ProviderFailure {
        let (kind, message, retryable) = self.told();
        ProviderFailure { kind, message: message.into(), retryable, retry_after: None }
    }

    fn told(self) -> (FailureKind, &'static str, bool) {
        use FailureKind as K;
        match self {
            Self::NoFinish => (K::Transport, "the provider's answer ended before it was complete", true),
            Self::Empty => (K::Unknown, "the model gave an empty answer: no text and no call", true),
            Self::MalformedCall => (K::MalformedToolCall, "the model wrote a call that cannot be read", true),
            Self::UnexpectedCall => (K::MalformedToolCall, "the model called a tool where none may be called", false),
            Self::TokenLimit => (
                K::Unknown,
                "the limit of output tokens was used up before the answer began; give more with --max-output-tokens",
                false,
            ),
            Self::Safety => (
                K::ContentFilter,
                "the provider's content filter refused to answer; change the prompt and run again",
                false,
            ),
            Self::Recitation => (
                K::ContentFilter,
                "the provider held the answer back as a copy of a known text; ask for it in other words",
                true,
            ),
            Self::OtherBlock => (K::ContentFilter, "the provider held the answer back for a reason of its own", false),
            Self::ReasoningOnly => (K::Unknown, "the model thought and gave no answer", true),
        }
    }
}

/// What is wrong with an answer that came to its end. `offered`: whether there were tools to call.
pub(crate) fn flaw(reason: FinishReason, metadata: &Metadata, content: Content, offered: bool) -> Option<Flaw> {
    if reason == FinishReason::ContentFilter {
        return Some(block(metadata));
    }
    if content.call {
        return (!offered).then_some(Flaw::UnexpectedCall);
    }
    if content.text {
        return None;
    }
    Some(match (reason, content.thought) {
        (FinishReason::Length, _) => Flaw::TokenLimit,
        (_, true) => Flaw::ReasoningOnly,
        (_, false) => Flaw::Empty,
    })
}

/// The provider's own word for it lies in the metadata of the step.
fn block(metadata: &Metadata) -> Flaw {
    let said = metadata.get("finish_reason").and_then(serde_json::Value::as_str).unwrap_or("").to_lowercase();
    match said.as_str() {
        "" | "safety" | "content_filter" | "sensitive" | "refusal" | "image_safety" => Flaw::Safety,
        "recitation" | "image_recitation" => Flaw::Recitation,
        _ => Flaw::OtherBlock,
    }
}

/// The flaw that a failed stream comes from, where it is one of the table's.
pub(crate) fn flaw_of(failure: &ProviderFailure) -> Option<Flaw> {
    (failure.kind == FailureKind::MalformedToolCall).then_some(Flaw::MalformedCall)
}

/// Whether another model may do better where this one failed for good. A history that is too large is made smaller instead, and content
/// that one provider refuses is not carried to the next.
pub(crate) fn helps_another(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::ContextOverflow | FailureKind::ContentFilter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(word: &str) -> Content {
        Content { text: word.contains('t'), thought: word.contains('r'), call: word.contains('c') }
    }

    #[test]
    fn each_flaw_is_known_by_what_the_answer_holds() {
        use FinishReason as F;
        let check = |reason, held: &str, offered, expected| {
            let found = flaw(reason, &Metadata::new(), content(held), offered);
            assert_eq!(found, expected, "{reason:?} {held:?} {offered}");
        };
        for reason in [F::Stop, F::ToolCalls, F::Pause, F::Unknown] {
            check(reason, "", true, Some(Flaw::Empty));
            check(reason, "r", true, Some(Flaw::ReasoningOnly));
            check(reason, "t", true, None);
            check(reason, "c", true, None);
            check(reason, "rtc", true, None);
            check(reason, "c", false, Some(Flaw::UnexpectedCall));
        }
        check(F::Length, "", true, Some(Flaw::TokenLimit));
        check(F::Length, "r", true, Some(Flaw::TokenLimit));
        check(F::Length, "t", true, None);
        check(F::Length, "c", true, None);
        check(F::ContentFilter, "tc", true, Some(Flaw::Safety));
    }

    #[test]
    fn a_block_is_named_by_the_providers_word() {
        let check = |word: &str, expected| {
            let metadata = Metadata::from_iter([("finish_reason".to_owned(), json!(word))]);
            assert_eq!(
                flaw(FinishReason::ContentFilter, &metadata, Content::default(), true),
                Some(expected),
                "{word}"
            );
        };
        check("content_filter", Flaw::Safety);
        check("SAFETY", Flaw::Safety);
        check("RECITATION", Flaw::Recitation);
        check("BLOCKLIST", Flaw::OtherBlock);
        check("PROHIBITED_CONTENT", Flaw::OtherBlock);
    }

    /// The table of the loop's duties: which of the nine is asked for again, and how the rest end.
    #[test]
    fn every_flaw_has_its_reaction() {
        let check = |flaw: Flaw, reaction, kind, retryable| {
            assert_eq!(flaw.reaction(), reaction, "{flaw:?}");
            let failure = flaw.failure();
            assert_eq!((failure.kind, failure.retryable), (kind, retryable), "{flaw:?}");
        };
        use FailureKind as K;
        check(Flaw::NoFinish, Reaction::Retry, K::Transport, true);
        check(Flaw::Empty, Reaction::Requery(2), K::Unknown, true);
        check(Flaw::MalformedCall, Reaction::Requery(2), K::MalformedToolCall, true);
        check(Flaw::UnexpectedCall, Reaction::Tell, K::MalformedToolCall, false);
        check(Flaw::TokenLimit, Reaction::Fail, K::Unknown, false);
        check(Flaw::Safety, Reaction::Fail, K::ContentFilter, false);
        check(Flaw::Recitation, Reaction::Requery(1), K::ContentFilter, true);
        check(Flaw::OtherBlock, Reaction::Fail, K::ContentFilter, false);
        check(Flaw::ReasoningOnly, Reaction::Requery(2), K::Unknown, true);
    }
}
