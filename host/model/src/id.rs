//! Opaque ids: a kind prefix and a ULID (48 bits of milliseconds that last to the year 10889, then 80 random bits).
//!
//! Nothing may be ordered by an id: order inside a session is the ledger's sequence number.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new id that nobody else has.
            #[must_use]
            #[allow(clippy::new_without_default, reason = "an id that appears by default is a bug")]
            pub fn new() -> Self {
                Self(format!("{}{}", $prefix, ulid::Ulid::generate()).into())
            }

            /// An id that was written down before; `None` if it is of another kind.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let body = text.strip_prefix($prefix)?;
                let fits = !body.is_empty() && body.len() <= 64 && body.bytes().all(|b| b.is_ascii_alphanumeric());
                fits.then(|| Self(text.into()))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A conversation with its work.
    SessionId, "ses_"
);
id!(
    /// One message of a session.
    MessageId, "msg_"
);
id!(
    /// One part of a message.
    PartId, "prt_"
);
id!(
    /// A question of the gate.
    AskId, "per_"
);
id!(
    /// A question of the model to the person.
    QuestionId, "que_"
);

/// Id of a tool call: the provider's own, else one made by the host. Unique within a message only.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// A call id as the provider gave it.
    #[must_use]
    pub fn given(text: &str) -> Self {
        Self(text.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_carries_its_kind() {
        let id = SessionId::new();
        assert!(id.as_str().starts_with("ses_"));
        assert_eq!(SessionId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(MessageId::parse(id.as_str()), None);
        assert_eq!(SessionId::parse("ses_"), None);
        assert_eq!(SessionId::parse("ses_a'b"), None);
    }
}
