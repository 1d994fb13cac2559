//! Components that a config brings along, and what it lets those that are there do. Whose config counts, and for how much, is decided
//! where it is read.

use crate::anatomy::Anatomy;
use crate::error::RuntimeError;
use crate::install::{InstallError, name, sha256, signer};
use crate::source::{Bytes, Source, read_bounded};
use model::grant::Grant;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What configs say of components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// In the order in which they count.
    pub plugins: Vec<PluginUse>,
    /// SHA-256 of files as they were when they were trusted: nothing else is run under their paths.
    pub pins: BTreeMap<PathBuf, String>,
}

/// What one config says of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginUse {
    pub name: String,
    pub how: Use,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A file, and what it may do: what it asks for where nothing is said.
    File { path: PathBuf, grant: Option<Grant> },
    /// What an installed one may do, in place of what was agreed to.
    Granted(Grant),
    /// What one may do at most.
    Narrowed(Grant),
}

/// A word on what a component may do, laid over the words before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    Granted(Grant),
    Narrowed(Grant),
}

impl Term {
    /// `asks`: what its manifest asks for, where it has one. Beyond that nobody gives anything but time and memory.
    pub fn over(&self, held: &Grant, asks: Option<&Grant>) -> Grant {
        match self {
            Self::Narrowed(most) => Grant { limits: held.limits.at_most(&most.limits), ..held.meet(most) },
            Self::Granted(given) => {
                let bounded = asks.map_or_else(|| given.clone(), |asks| given.meet(asks));
                Grant { limits: given.limits.or(&held.limits), ..bounded }
            }
        }
    }
}

impl Brought {
    /// The bytes of a file that a config names.
    ///
    /// # Errors
    /// One that cannot be read, is not what was trusted, or has a signature that does not fit it.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, RuntimeError> {
        let unreadable = |e: std::io::Error| RuntimeError::Unreadable { path: path.to_owned(), why: e.to_string() };
        let bytes = read_bounded(path).map_err(unreadable)?;
        if self.pins.get(path).is_some_and(|pin| *pin != sha256(&bytes)) {
            let why = "it is not the file that was trusted; look at it, and say `airlock trust` anew";
            return Err(RuntimeError::Unreadable { path: path.to_owned(), why: why.into() });
        }
        // A signature that does not fit is worse than none.
        signer(&path.display().to_string(), &bytes)?;
        Ok(bytes)
    }

    /// A component under the name that the config gives it.
    ///
    /// # Errors
    /// As [`Self::read`]; a name that cannot be one, or that reads like one of `taken`.
    pub fn source(
        &self,
        name: &str,
        path: &Path,
        grant: Option<&Grant>,
        taken: &[String],
    ) -> Result<Source, RuntimeError> {
        name::check(name)?;
        if let Some(other) = taken.iter().find(|other| name::folded(other) == name::folded(name)) {
            let what = format!("`{other}` is there already, and what a config brings along is called as it says there");
            return Err(InstallError::Shadows { name: name.into(), what }.into());
        }
        let bytes = Bytes::Read(self.read(path)?.into());
        let terms = grant.cloned().map(Term::Granted).into_iter().collect();
        Ok(Source { name: name.into(), bytes, file: Some(path.to_owned()), terms })
    }
}

/// What a file that a config names could do. Nothing of it is compiled for this.
///
/// # Errors
/// A file that cannot be read, or is no component.
pub fn granted_to_file(path: &Path, grant: Option<&Grant>) -> Result<Grant, RuntimeError> {
    let bytes = Brought::default().read(path)?;
    let asks = Anatomy::read(&path.display().to_string(), &bytes)?.manifest.map(|m| m.grant());
    let held = asks.clone().unwrap_or_default();
    Ok(grant.map_or_else(|| held.clone(), |given| Term::Granted(given.clone()).over(&held, asks.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::grant::LimitsAsked;

    fn grant(json: &str) -> Grant {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_a_config_gives_is_bounded_by_what_is_asked_for() {
        let held = grant(r#"{"fs":{"docs":"ro"},"limits":{"memory":5}}"#);
        let asks = grant(r#"{"fs":{"docs":"rw","src":"ro"}}"#);
        for (term, asks, want) in [
            (
                Term::Granted(grant(r#"{"fs":{"docs":"rw"}}"#)),
                Some(&asks),
                r#"{"fs":{"docs":"rw"},"limits":{"memory":5}}"#,
            ),
            (
                Term::Granted(grant(r#"{"fs":{".":"rw"}}"#)),
                Some(&asks),
                r#"{"fs":{"docs":"rw","src":"ro"},"limits":{"memory":5}}"#,
            ),
            (
                Term::Granted(grant(r#"{"fs":{".":"rw"},"limits":{"memory":9}}"#)),
                None,
                r#"{"fs":{".":"rw"},"limits":{"memory":9}}"#,
            ),
            (
                Term::Narrowed(grant(r#"{"fs":{".":"rw"}}"#)),
                Some(&asks),
                r#"{"fs":{"docs":"ro"},"limits":{"memory":5}}"#,
            ),
            (Term::Narrowed(grant(r#"{"limits":{"memory":3}}"#)), None, r#"{"limits":{"memory":3}}"#),
        ] {
            assert_eq!(term.over(&held, asks), grant(want), "{term:?}");
        }
    }

    #[test]
    fn a_file_is_the_one_that_was_trusted_and_takes_nobodys_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.wasm");
        std::fs::write(&path, "one").unwrap();
        let pinned = |text: &str| Brought { plugins: vec![], pins: [(path.clone(), sha256(text.as_bytes()))].into() };
        let taken = ["read".to_owned(), "my_tool".to_owned()];
        assert!(pinned("one").source("x", &path, None, &taken).is_ok());
        assert!(Brought::default().source("x", &path, None, &taken).is_ok());
        for (brought, name, word) in [
            (pinned("two"), "x", "not the file that was trusted"),
            (pinned("one"), "read", "is there already"),
            (pinned("one"), "my-tool", "`my_tool` is there already"),
            (pinned("one"), "r\u{435}ad", "look like others"),
        ] {
            let error = brought.source(name, &path, None, &taken).err().unwrap().to_string();
            assert!(error.contains(word), "{name}: {error}");
        }
    }

    #[test]
    fn who_may_only_narrow_raises_no_limit() {
        let usual = LimitsAsked::STANDARD.calls;
        let calls = |n: Option<u64>| LimitsAsked { calls: n, ..LimitsAsked::default() };
        for (held, most, want) in [
            (None, Some(u64::MAX), usual),
            (None, Some(1), Some(1)),
            (None, None, None),
            (Some(7), None, Some(7)),
            (Some(7), Some(9), Some(7)),
            (Some(9), Some(7), Some(7)),
        ] {
            let grant = |n| Grant { limits: calls(n), ..Grant::default() };
            let got = Term::Narrowed(grant(most)).over(&grant(held), None);
            assert_eq!(got.limits, calls(want), "{held:?} at most {most:?}");
        }
    }
}
