//! What one run of a line is to be let do beyond the sandbox: named exactly, asked for each time.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beyond {
    /// Any host may be reached, this machine's own services too.
    pub network: bool,
    /// Real files and folders that may be changed besides.
    pub writable: Vec<PathBuf>,
    /// No sandbox.
    pub unconfined: bool,
}

impl Beyond {
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Each thing that is opened, as rules and records name it. Without a sandbox all the rest is open as well.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        if self.unconfined {
            return vec!["unconfined".to_owned()];
        }
        let network = self.network.then(|| "network".to_owned());
        network.into_iter().chain(self.writable.iter().map(|path| format!("write {}", path.display()))).collect()
    }

    /// The same for whoever is asked.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        if self.unconfined {
            return vec![
                "without any sandbox: it may read, change and send whatever you may yourself, your keys included"
                    .to_owned(),
            ];
        }
        let network = self
            .network
            .then(|| "with the network: it may reach any host, and the services of this machine".to_owned());
        let writes = self.writable.iter().map(|path| format!("it may change {} and all below it", path.display()));
        network.into_iter().chain(writes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_is_named_and_said() {
        let network = Beyond { network: true, ..Beyond::default() };
        let both = Beyond { writable: vec!["/srv/x".into()], ..network.clone() };
        let all = Beyond { unconfined: true, ..both.clone() };
        for (beyond, names, said) in [
            (Beyond::default(), &[][..], &[][..]),
            (network, &["network"], &["any host"]),
            (both, &["network", "write /srv/x"], &["any host", "/srv/x and all below"]),
            (all, &["unconfined"], &["without any sandbox"]),
        ] {
            assert_eq!(beyond.names(), names);
            assert!(beyond.words().iter().zip(said).all(|(w, s)| w.contains(s)), "{:?}", beyond.words());
            assert_eq!((beyond.words().len(), beyond.is_nothing()), (said.len(), said.is_empty()));
        }
    }
}
