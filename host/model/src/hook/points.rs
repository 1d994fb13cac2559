//! What hooks are shown, and what they may change.

use crate::id::{CallId, MessageId, PartId, SessionId};
use crate::permission::Action;
use crate::provider::ModelRef;
use crate::tool_state::Metadata;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct TextContext {
    pub session: SessionId,
    pub message: MessageId,
    pub part: PartId,
}

#[derive(Clone, Debug)]
pub struct CallContext {
    pub session: SessionId,
    pub call: CallId,
    pub agent: String,
    pub tool: String,
    pub workspace: PathBuf,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// Whose turn it is: for hooks around a message or a request.
#[derive(Clone, Debug)]
pub struct TurnContext {
    pub session: SessionId,
    pub agent: String,
    pub model: ModelRef,
}

/// What a hook may change of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultView {
    pub title: String,
    pub text: String,
    pub metadata: Metadata,
}

/// A hook refused the call, or failed where failing means refusing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct HookDenial {
    /// Name of the hook component.
    pub hook: String,
    pub reason: String,
}

/// Acts that are put to the gate: everything that one call has to be allowed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionView {
    pub session: SessionId,
    pub call: CallId,
    pub agent: String,
    pub tool: String,
    /// Permission and pattern of each act.
    pub needs: Vec<(String, String)>,
    /// What rules and approvals say: allow or ask. A deny is final and never shown to a hook.
    pub by_rules: Action,
}

/// What a chain makes of acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    None,
    /// A person is to be asked, even where a rule allows it.
    Ask,
    Deny(HookDenial),
    /// In place of an ask; only from a hook that the user granted `may_allow`.
    Allow,
}

impl Opinion {
    fn rank(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Allow => 1,
            Self::Ask => 2,
            Self::Deny(_) => 3,
        }
    }

    /// The stricter of two; no opinion weighs nothing.
    #[must_use]
    pub fn or_stricter(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// A person's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserText {
    pub text: String,
    /// Further texts for the model, marked as not the person's.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// JSON object for the adapter, laid over the config's.
    pub options: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandView {
    pub name: String,
    /// As the person wrote them.
    pub arguments: String,
    /// What the template became.
    pub text: String,
}

/// What a compaction works with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacting {
    /// Further texts for the summary to take up.
    pub context: Vec<String>,
    /// In place of the built-in prompt.
    pub prompt: Option<String>,
    /// Whether the model goes on by itself afterwards.
    pub go_on: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_opinion_counts() {
        let deny = || Opinion::Deny(HookDenial { hook: "h".into(), reason: "no".into() });
        for (a, b, expected) in [
            (Opinion::None, Opinion::Allow, Opinion::Allow),
            (Opinion::Allow, Opinion::None, Opinion::Allow),
            (Opinion::Allow, Opinion::Ask, Opinion::Ask),
            (Opinion::Ask, Opinion::Allow, Opinion::Ask),
            (deny(), Opinion::Allow, deny()),
            (Opinion::Ask, deny(), deny()),
        ] {
            assert_eq!(a.clone().or_stricter(b.clone()), expected, "{a:?} {b:?}");
        }
    }
}
