//! An owner-only folder of sealed files: each carries a keyed hash over its owner, name and content, checked on the very bytes that
//! are handed out. What is another owner's, or not whole, does not exist.

use model::owner::Owner;
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const SEAL: usize = 32;
/// Bytes that are checked at a time.
const PIECE: usize = 128 << 10;
/// Files kept; the oldest go first. Two a component and version.
const FILES: usize = 512;

/// A folder that nobody else can write, with the key that seals its files.
pub struct Vault {
    owner: Owner,
    folder: PathBuf,
    key: [u8; 32],
}

impl Vault {
    /// Opens or makes the folder. The key lies in `key_folder`, apart from what it seals.
    pub fn open(owner: &Owner, folder: &Path, key_folder: &Path) -> io::Result<Self> {
        for f in [folder, key_folder] {
            DirBuilder::new().recursive(true).mode(0o700).create(f)?;
        }
        owned(folder)?;
        Ok(Self { owner: owner.clone(), folder: folder.to_owned(), key: key(&key_folder.join("compiled.key"))? })
    }

    /// The content of a file that this vault sealed under this name.
    pub fn read(&self, name: &str) -> Option<Content> {
        let bytes = fs::read(self.folder.join(name)).ok()?;
        let (seal, content) = bytes.split_first_chunk::<SEAL>()?;
        // The comparison of two `blake3::Hash` takes the same time wherever they differ.
        if self.seal(name, content) == blake3::Hash::from_bytes(*seal) {
            return Some(Content(bytes));
        }
        foreign(name);
        None
    }

    /// As [`read`](Self::read), as a file in memory that can be mapped and that nobody can change any more: what was checked is what
    /// is mapped, and megabytes are copied once.
    ///
    /// # Errors
    /// Where there is no file of this name, or the system has no such files.
    pub fn unseal(&self, name: &str) -> io::Result<Option<File>> {
        let mut file = File::open(self.folder.join(name))?;
        let mut seal = [0; SEAL];
        file.read_exact(&mut seal)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut memory = File::from(rustix::fs::memfd_create(name, flags)?);
        io::copy(&mut file, &mut memory)?;
        rustix::fs::fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        memory.rewind()?;
        let (mut hasher, mut piece) = (self.hasher(name), vec![0; PIECE]);
        loop {
            match memory.read(&mut piece)? {
                0 => break,
                read => hasher.update(&piece[..read]),
            };
        }
        if hasher.finalize() != blake3::Hash::from_bytes(seal) {
            foreign(name);
            return Ok(None);
        }
        Ok(Some(memory))
    }

    /// Whether there is a file of this name, sound or not.
    pub fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// Seals and stores; under its name there is at every moment the old file, the new one or none.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(self.seal(name, content).as_bytes())?;
        file.write_all(content)?;
        file.persist(self.folder.join(name))?;
        self.prune()
    }

    fn seal(&self, name: &str, content: &[u8]) -> blake3::Hash {
        self.hasher(name).update(content).finalize()
    }

    fn hasher(&self, name: &str) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in [self.owner.as_str(), name] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        hasher
    }

    fn prune(&self) -> io::Result<()> {
        let mut files: Vec<_> = fs::read_dir(&self.folder)?
            .flatten()
            .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(FILES);
        files.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn foreign(name: &str) {
    tracing::warn!(file = name, "a file of the compiled-code cache is damaged or foreign; it is made anew");
}

/// What a sealed file holds; the seal lies before it, so that nothing of a megabyte is copied to take it off.
#[derive(Debug)]
pub struct Content(Vec<u8>);

impl std::ops::Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0[SEAL..]
    }
}

/// Refuses what another user owns or may change: compiled code is run as it stands.
pub(crate) fn owned(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let mine = found.uid() == rustix::process::geteuid().as_raw() && !found.is_symlink();
    if mine && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let why = format!(
        "{} must belong to you alone (mode 0700, no link); it has mode {:04o}",
        path.display(),
        found.mode() & 0o7777
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn key(path: &Path) -> io::Result<[u8; 32]> {
    if !path.exists() {
        make_key(path)?;
    }
    owned(path)?;
    let bytes = fs::read(path)?;
    bytes.try_into().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} does not hold 32 bytes; remove it", path.display()))
    })
}

/// Whole or not at all, and never over another's: two processes may start at once.
fn make_key(path: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&key)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}

#[cfg(test)]
#[path = "vault_tests.rs"]
mod tests;
