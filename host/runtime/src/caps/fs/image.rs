//! What stands on disk, as the journal keeps it.

use super::Failure;
use super::handle::{Handle, Kind};
use crate::caps::Funnel;
use model::fault::FailureKind;
use model::journal::Image;
use model::tool::ToolFailure;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read};

/// Contents up to this size are kept, so that they can be brought back.
pub(super) const KEEP: u64 = 8 << 20;

/// Contents up to this size are hashed.
const HASH: u64 = 256 << 20;

/// A content up to this size is read where we are: another thread would take longer than the disk.
const AT_ONCE: u64 = 64 << 10;

/// Bytes that are read and hashed at a time.
const CHUNK: u64 = 64 << 10;

/// Takes the image of what `handle` names and keeps its content, if it may be kept.
///
/// # Errors
/// Refused when the journal cannot keep it: what cannot be undone is not done.
pub(super) async fn take(funnel: &Funnel, handle: &Handle) -> Result<Image, Failure> {
    match handle.kind() {
        Kind::File => of_file(funnel, handle).await,
        Kind::Folder => Ok(Image::Folder),
        Kind::Link => Ok(Image::Link { target: handle.target()? }),
        Kind::Special => Ok(Image::Special),
    }
}

/// As [`take`], for an entry that may not be there.
pub(super) async fn take_entry(funnel: &Funnel, entry: Option<&Handle>) -> Result<Image, Failure> {
    match entry {
        Some(handle) => take(funnel, handle).await,
        None => Ok(Image::Absent),
    }
}

/// As [`take`], without keeping anything: `kept` says here that the content could be read.
pub(super) fn bare(handle: &Handle) -> rustix::io::Result<Image> {
    Ok(match handle.kind() {
        Kind::File => {
            let size = handle.size();
            let read = handle.open(OFlags::RDONLY).map_err(io::Error::from).and_then(|file| hash_only(file, size));
            let digest = read.unwrap_or(Digest { size, ..Digest::default() });
            Image::File { kept: !digest.hash.is_empty(), hash: digest.hash, size: digest.size, mode: handle.mode() }
        }
        Kind::Folder => Image::Folder,
        Kind::Link => Image::Link { target: handle.target()? },
        Kind::Special => Image::Special,
    })
}

async fn of_file(funnel: &Funnel, handle: &Handle) -> Result<Image, Failure> {
    let digest = digest_of(handle).await;
    let kept = digest.content.is_some();
    if let Some(content) = digest.content {
        funnel.journal.keep(&digest.hash, content).await.map_err(|e| unkept(funnel, &e))?;
    }
    Ok(Image::File { hash: digest.hash, size: digest.size, mode: handle.mode(), kept })
}

pub(super) fn unkept(funnel: &Funnel, why: &model::journal::JournalError) -> Failure {
    funnel.refuse(ToolFailure::new(FailureKind::Failed, format!("Not done, for it could not be undone: {why}."))).into()
}

/// A content's hash and, if it is small enough, the content.
#[derive(Debug, Default)]
struct Digest {
    /// Empty = the content is too large, or cannot be read.
    hash: String,
    size: u64,
    content: Option<Vec<u8>>,
}

/// A file that cannot be read by us is one of unknown content, not an error: it may still be removed.
async fn digest_of(handle: &Handle) -> Digest {
    let size = handle.size();
    let unread = Digest { size, ..Digest::default() };
    let Ok(file) = handle.open(OFlags::RDONLY) else { return unread };
    let digest = if size <= AT_ONCE {
        digest(file, size)
    } else {
        tokio::task::spawn_blocking(move || digest(file, size)).await.unwrap_or_else(|e| Err(io::Error::other(e)))
    };
    digest.unwrap_or(unread)
}

/// The hash of a content that is not to be kept.
fn hash_only(file: File, size: u64) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let read = io::copy(&mut file.take(HASH + 1), &mut hasher)?;
    let whole = read <= HASH && size <= HASH;
    let hash = if whole { hasher.finalize().to_hex().to_string() } else { String::new() };
    Ok(Digest { hash, size: read.max(size), content: None })
}

/// Reads a content once, in pieces, so that a large one is never in memory. It may grow meanwhile: the caps hold for what is
/// read.
fn digest(file: File, size: u64) -> io::Result<Digest> {
    let mut digest = Digest { size, ..Digest::default() };
    let mut keeping = size <= KEEP;
    let mut bytes = Vec::with_capacity(if keeping { usize::try_from(size).unwrap_or(0) + 1 } else { 0 });
    let mut hasher = blake3::Hasher::new();
    let mut read = 0;
    while read <= HASH && size <= HASH {
        if !keeping {
            bytes.clear();
        }
        let from = bytes.len();
        let more = (&file).take(CHUNK).read_to_end(&mut bytes)?;
        if more == 0 {
            digest.hash = hasher.finalize().to_hex().to_string();
            digest.size = read;
            digest.content = keeping.then_some(bytes);
            return Ok(digest);
        }
        hasher.update(&bytes[from..]);
        read += more as u64;
        if keeping && read > KEEP {
            keeping = false;
            bytes = Vec::new();
        }
    }
    Ok(digest)
}
