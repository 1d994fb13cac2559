//! Whose something is. Several people can use one host: every store, cache, grant, approval and budget belongs to one of them, and
//! nothing is looked up without saying to whom.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Characters of a name.
const LONGEST: usize = 64;

/// The name of an owner: `[a-z0-9][a-z0-9._-]*`, at most 64 characters. It can stand as the name of a folder, and no two of them are
/// the same folder.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Owner(Arc<str>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no owner: write lower-case letters, digits, `.`, `_` and `-`, at most {LONGEST}, and begin with a letter or digit"
)]
pub struct BadOwner(pub String);

impl Owner {
    /// The person whose folders and whose process it is, where nobody else is named.
    pub const LOCAL: &'static str = "local";

    #[must_use]
    pub fn local() -> Self {
        Self(Self::LOCAL.into())
    }

    /// # Errors
    /// [`BadOwner`].
    pub fn parse(name: &str) -> Result<Self, BadOwner> {
        let begins = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let holds =
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'));
        if begins && holds && name.len() <= LONGEST { Ok(Self(name.into())) } else { Err(BadOwner(name.into())) }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_local(&self) -> bool {
        self.as_str() == Self::LOCAL
    }
}

impl TryFrom<String> for Owner {
    type Error = BadOwner;

    fn try_from(name: String) -> Result<Self, BadOwner> {
        Self::parse(&name)
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.as_str().to_owned()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_folder_of_its_own() {
        let long = "a".repeat(65);
        for (name, fits) in [
            ("local", true),
            ("ann", true),
            ("7-of.nine_", true),
            (&long[..64], true),
            (&*long, false),
            ("", false),
            (".", false),
            ("..", false),
            (".hidden", false),
            ("-x", false),
            ("Ann", false),
            ("a/b", false),
            ("a\0", false),
            ("ä", false),
            ("a b", false),
        ] {
            assert_eq!(Owner::parse(name).is_ok(), fits, "{name:?}");
            let json = serde_json::to_string(name).unwrap();
            assert_eq!(serde_json::from_str::<Owner>(&json).is_ok(), fits, "{name:?} as JSON");
        }
        assert_eq!(serde_json::to_string(&Owner::local()).unwrap(), "\"local\"");
    }
}
