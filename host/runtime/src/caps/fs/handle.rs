//! Handles without effect, and all that the kernel is asked through them. The only file here that knows the operating system:
//! Linux 5.8 or newer (`openat2`, times by handle).
//!
//! `O_PATH` opens nothing: no pipe blocks, no device notices, no access time moves. The handle is then opened once more, for
//! what is to be done, through the kernel's link to it: that is the same inode, whatever its names are by now.

use model::journal::Seen;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, Timestamps, fstat, openat, openat2, readlinkat};
use rustix::io::{Errno, Result};
use rustix::path::DecInt;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Resolving starts over when the tree moves under it; so often.
const RESOLVE_ATTEMPTS: usize = 32;

/// Paths are seldom longer; a longer one costs one more system call.
const USUAL_PATH: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// Pipe, socket or device.
    Special,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    No,
}

/// Something on disk, named but not opened, and what it was like then.
#[derive(Debug)]
pub(super) struct Handle {
    fd: OwnedFd,
    stat: Stat,
}

impl Handle {
    /// What `path` leads to without leaving `dir`.
    ///
    /// # Errors
    /// `PERM` when it would leave; else as the kernel says.
    pub(super) fn beneath(dir: impl AsFd, path: &str, follow: Follow) -> Result<Self> {
        let flags = if follow == Follow::Yes { OFlags::empty() } else { OFlags::NOFOLLOW };
        Self::of(resolve(dir.as_fd(), path, flags)?)
    }

    /// The entry of this bare name in `parent`; a link is not followed. `None` = there is none.
    pub(super) fn entry(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<Option<Self>> {
        match openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => Self::of(fd).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// What is open as `fd`, without what it was opened for.
    pub(super) fn behind(fd: impl AsFd) -> Result<Self> {
        Self::of(through_proc(fd, OFlags::PATH)?)
    }

    fn of(fd: OwnedFd) -> Result<Self> {
        let stat = fstat(&fd)?;
        Ok(Self { fd, stat })
    }

    /// What it is like now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.stat = fstat(&self.fd)?;
        Ok(())
    }

    pub(super) fn kind(&self) -> Kind {
        match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        seen_of(&self.stat)
    }

    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// How many names it has.
    pub(super) fn names(&self) -> u64 {
        self.stat.st_nlink
    }

    /// Permission bits.
    pub(super) fn mode(&self) -> u32 {
        self.stat.st_mode & 0o7777
    }

    /// Whether it belongs to another person of this machine: what is the system's own is nobody's message.
    pub(super) fn is_anothers(&self) -> bool {
        const ROOT: u32 = 0;
        self.stat.st_uid != ROOT && self.stat.st_uid != rustix::process::geteuid().as_raw()
    }

    pub(super) fn real(&self) -> Result<PathBuf> {
        real(&self.fd)
    }

    /// The entry of this bare name in a folder.
    pub(super) fn child(&self, name: &Path) -> Result<Option<Self>> {
        Self::entry(&self.fd, name)
    }

    /// Opens this inode.
    pub(super) fn open(&self, flags: OFlags) -> Result<File> {
        through_proc(&self.fd, flags).map(File::from)
    }

    /// Where a link leads.
    pub(super) fn target(&self) -> Result<PathBuf> {
        let target = readlinkat(&self.fd, "", Vec::with_capacity(USUAL_PATH))?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    pub(super) fn set_times(&self, times: &Timestamps) -> Result<()> {
        rustix::fs::utimensat(&self.fd, "", times, AtFlags::EMPTY_PATH)
    }

    pub(super) fn into_file(self) -> File {
        self.fd.into()
    }
}

/// The folder at `path` without leaving `dir`, to be used as a parent only.
pub(super) fn folder_beneath(dir: impl AsFd, path: &str) -> Result<OwnedFd> {
    resolve(dir.as_fd(), path, OFlags::DIRECTORY)
}

fn resolve(dir: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    let inside = bounds(dir)? | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RESOLVE_ATTEMPTS {
        match openat2(dir, path, flags, Mode::empty(), inside) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::XDEV) => return Err(Errno::PERM),
            other => return other,
        }
    }
    Err(Errno::BUSY)
}

/// A path stays below its mount. Where the mount is the root of all, an absolute link leads nowhere else: it is followed.
fn bounds(dir: BorrowedFd<'_>) -> Result<ResolveFlags> {
    let is_root = real(dir)?.as_os_str() == "/";
    Ok(if is_root { ResolveFlags::IN_ROOT } else { ResolveFlags::BENEATH })
}

/// The kernel's own name of what is open: no lexical guess.
///
/// # Errors
/// `NOENT` when it has no name any more. A name that really ends in the kernel's remark ` (deleted)` cannot be told from one
/// that is gone, and is taken as gone: else a rule for the name would not match what was just removed.
pub(super) fn real(fd: impl AsFd) -> Result<PathBuf> {
    let name = DecInt::from_fd(fd);
    let path = readlinkat(rustix_linux_procfs::proc_self_fd()?, name, Vec::with_capacity(USUAL_PATH))?.into_bytes();
    if !path.starts_with(b"/") || path.ends_with(b" (deleted)") {
        return Err(Errno::NOENT);
    }
    Ok(OsString::from_vec(path).into())
}

/// Opens what is open as `fd` once more.
fn through_proc(fd: impl AsFd, flags: OFlags) -> Result<OwnedFd> {
    openat(
        rustix_linux_procfs::proc_self_fd()?,
        DecInt::from_fd(fd),
        flags | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// What is open as `fd`, as the session would remember it.
pub(super) fn seen(fd: impl AsFd) -> Result<Seen> {
    fstat(fd).map(|stat| seen_of(&stat))
}

fn seen_of(stat: &Stat) -> Seen {
    Seen {
        device: stat.st_dev,
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}
