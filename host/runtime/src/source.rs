//! Where the bytes of a component are, and whether they are still those that were looked at.

use crate::brought::Term;
use crate::compile::Digest;
use crate::error::RuntimeError;
use crate::install::{Depot, InstallError, Pinned};
use crate::leave::Leave;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A component and where it came from.
#[derive(Clone)]
pub struct Source {
    pub name: String,
    pub bytes: Bytes,
    /// Of one that a config brings along.
    pub file: Option<PathBuf>,
    /// What configs say it may do.
    pub terms: Vec<Term>,
}

#[derive(Clone)]
pub enum Bytes {
    /// Part of the program.
    Bundled(&'static [u8]),
    /// A file that somebody named: read once, run as it was then.
    Read(Arc<[u8]>),
    /// In the data folder, under the digest that the person agreed to.
    Installed(Arc<Installed>),
}

/// How a component came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Part of the program.
    Bundled,
    Installed,
    /// By its file, in a config or on the command line.
    Named,
}

/// What the lock says of a component, and where its file lies.
pub struct Installed {
    pub pinned: Pinned,
    pub file: PathBuf,
    /// What it may do now.
    pub leave: Arc<Leave>,
    digest: Digest,
}

impl Installed {
    /// # Errors
    /// A digest that is none.
    pub fn new(pinned: Pinned, depot: &Depot) -> Result<Self, InstallError> {
        let file = depot.file(&pinned.blake3);
        let digest = Digest::parse(&pinned.blake3)
            .ok_or_else(|| InstallError::Changed { name: pinned.name.clone(), path: file.clone() })?;
        Ok(Self { leave: Arc::new(Leave::new(depot, &pinned)), pinned, file, digest })
    }
}

impl Source {
    #[must_use]
    pub fn of(name: &str, bytes: Bytes) -> Self {
        Self { name: name.into(), bytes, file: None, terms: Vec::new() }
    }

    #[must_use]
    pub fn is_bundled(&self) -> bool {
        matches!(self.bytes, Bytes::Bundled(_))
    }

    #[must_use]
    pub fn origin(&self) -> Origin {
        match self.bytes {
            Bytes::Bundled(_) => Origin::Bundled,
            Bytes::Installed(_) => Origin::Installed,
            Bytes::Read(_) => Origin::Named,
        }
    }

    #[must_use]
    pub fn installed(&self) -> Option<&Installed> {
        match &self.bytes {
            Bytes::Installed(installed) => Some(installed),
            Bytes::Bundled(_) | Bytes::Read(_) => None,
        }
    }

    /// Of what was agreed to, where it is installed: its file is not read for this.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &self.bytes {
            Bytes::Bundled(bytes) => Digest::of(bytes),
            Bytes::Read(bytes) => Digest::of(bytes),
            Bytes::Installed(installed) => installed.digest,
        }
    }

    /// Bytes of the component.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.bytes {
            Bytes::Bundled(bytes) => bytes.len() as u64,
            Bytes::Read(bytes) => bytes.len() as u64,
            Bytes::Installed(installed) => installed.pinned.size,
        }
    }

    /// The bytes. Those of an installed component are read and compared with what was agreed to, each time.
    ///
    /// # Errors
    /// A file that is gone or another.
    pub fn read(&self) -> Result<Cow<'_, [u8]>, RuntimeError> {
        match &self.bytes {
            Bytes::Bundled(bytes) => Ok(Cow::Borrowed(bytes)),
            Bytes::Read(bytes) => Ok(Cow::Borrowed(bytes)),
            Bytes::Installed(installed) => installed.read().map(Cow::Owned),
        }
    }
}

impl Installed {
    /// # Errors
    /// A file that is gone or another.
    pub fn read(&self) -> Result<Vec<u8>, RuntimeError> {
        let unreadable = |e: std::io::Error| RuntimeError::Unreadable { path: self.file.clone(), why: e.to_string() };
        let bytes = read_bounded(&self.file).map_err(unreadable)?;
        if Digest::of(&bytes) == self.digest {
            return Ok(bytes);
        }
        Err(InstallError::Changed { name: self.pinned.name.clone(), path: self.file.clone() }.into())
    }
}

/// One byte more than may be is enough to say that it is too much.
pub fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(crate::anatomy::SIZE_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
