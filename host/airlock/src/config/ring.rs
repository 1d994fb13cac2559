//! The keyring of the operating system: on Linux the kernel's own, which holds values in memory until the machine is restarted, or
//! nobody has used them for some days (`persistent_keyring_expiry`, three as a rule). Every owner has a name of their own in it.

use keyring_core::{CredentialStore, Entry, Error};
use model::owner::Owner;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    #[error("the keyring of this machine cannot be used: {0}")]
    Shut(String),
    #[error("the keyring holds nothing of that name")]
    Nothing,
    #[error("the keyring does not take it: {0}")]
    Refused(String),
}

impl RingError {
    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Shut(_) => {
                "Containers and hardened services often have none; keep it without --keyring, or in an environment variable or a file."
            }
            Self::Nothing => {
                "Put it there with `airlock secret set NAME --host HOST --keyring` or `airlock auth add NAME --keyring`; a restart of the machine empties it, and some days without use."
            }
            Self::Refused(_) => "Keep it without --keyring, or in an environment variable or a file.",
        }
    }
}

/// One owner's part of the keyring.
#[derive(Clone, Default)]
pub struct Ring {
    owner: Option<Owner>,
    /// In place of the machine's: for tests.
    store: Option<Arc<CredentialStore>>,
}

impl Ring {
    #[must_use]
    pub fn of(owner: &Owner) -> Self {
        Self { owner: Some(owner.clone()), store: None }
    }

    /// # Errors
    /// As [`RingError`] says, never with anything of a value in it.
    pub fn get(&self, name: &str) -> Result<String, RingError> {
        self.entry(name)?.get_password().map_err(why)
    }

    /// Keeps a value, in place of the one of this name.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn set(&self, name: &str, value: &str) -> Result<(), RingError> {
        self.entry(name)?.set_password(value).map_err(why)
    }

    /// # Errors
    /// As [`Self::get`].
    pub fn remove(&self, name: &str) -> Result<(), RingError> {
        self.entry(name)?.delete_credential().map_err(why)
    }

    /// No owner's name holds what parts it from that of the value.
    fn entry(&self, name: &str) -> Result<Entry, RingError> {
        let service = match &self.owner {
            Some(owner) if !owner.is_local() => format!("airlock.{owner}"),
            _ => "airlock".into(),
        };
        let store = self.store.clone().map_or_else(of_machine, Ok)?;
        Entry::new_in_store(&store, &service, name).map_err(why)
    }
}

#[cfg(target_os = "linux")]
fn of_machine() -> Result<Arc<CredentialStore>, RingError> {
    linux_keyutils_keyring_store::Store::new().map(|store| store as Arc<CredentialStore>).map_err(why)
}

#[cfg(not(target_os = "linux"))]
fn of_machine() -> Result<Arc<CredentialStore>, RingError> {
    Err(RingError::Shut("this version knows the one of Linux alone".into()))
}

/// Some errors hold what was read: of these only the kind is told.
fn why(error: Error) -> RingError {
    match error {
        Error::NoEntry => RingError::Nothing,
        Error::NoStorageAccess(e) | Error::PlatformFailure(e) => RingError::Shut(e.to_string()),
        Error::TooLong(_, most) => RingError::Refused(format!("it is longer than {most} characters")),
        Error::Invalid(what, why) => RingError::Refused(format!("{what}: {why}")),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => RingError::Refused("it is no text".into()),
        Error::BadStoreFormat(_) | Error::Ambiguous(_) | Error::NoDefaultStore | Error::NotSupportedByStore(_) => {
            RingError::Shut("it does not hold what it should".into())
        }
        _ => RingError::Shut("it failed in a way that is not known".into()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A part of a keyring that lies in memory; parts of one store see what is in it.
    pub(in crate::config) fn part(store: &Arc<CredentialStore>, owner: &str) -> Ring {
        Ring { owner: Some(Owner::parse(owner).unwrap()), store: Some(Arc::clone(store)) }
    }

    pub(in crate::config) fn store() -> Arc<CredentialStore> {
        keyring_core::mock::Store::new().unwrap()
    }

    #[test]
    fn each_owner_has_names_of_their_own() {
        let store = store();
        let [ann, bob, me] = ["ann", "bob", "local"].map(|owner| part(&store, owner));
        ann.set("github", "of-ann").unwrap();
        me.set("github", "of-me").unwrap();
        assert_eq!((ann.get("github"), me.get("github")), (Ok("of-ann".into()), Ok("of-me".into())));
        assert_eq!(bob.get("github"), Err(RingError::Nothing));
        ann.set("github", "newer").unwrap();
        assert_eq!(ann.get("github"), Ok("newer".into()));
        ann.remove("github").unwrap();
        assert_eq!((ann.get("github"), ann.remove("github")), (Err(RingError::Nothing), Err(RingError::Nothing)));
        assert_eq!(me.get("github"), Ok("of-me".into()));
    }

    #[test]
    fn an_error_tells_what_to_do_and_nothing_of_a_value() {
        let failed = |text: &str| Box::<dyn std::error::Error + Send + Sync>::from(text.to_owned());
        for (error, want) in [
            (Error::NoEntry, RingError::Nothing),
            (Error::NoStorageAccess(failed("locked")), RingError::Shut("locked".into())),
            (Error::PlatformFailure(failed("not permitted")), RingError::Shut("not permitted".into())),
            (Error::BadEncoding(b"sk-1".to_vec()), RingError::Refused("it is no text".into())),
            (Error::BadDataFormat(b"sk-1".to_vec(), failed("sk-1")), RingError::Refused("it is no text".into())),
        ] {
            let told = why(error);
            assert_eq!(told, want);
            assert!(!told.to_string().contains("sk-1") && !told.hint().is_empty());
        }
    }
}
