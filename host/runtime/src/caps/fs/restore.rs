//! The disk under undo: real paths, on which no link is followed, looked at and put back. It acts for a person, on what the journal
//! recorded, so no gate is asked.
//!
//! A file is made beside its place and then takes it: whoever looks finds the one or the other, never a half.

use super::handle::{Handle, Kind};
use super::image;
use crate::caps::Funnel;
use model::journal::Image;
use model::undo::{Disk, DiskError, Look};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Entries of one folder that are looked at. It is only asked whether somebody else's lie in it.
const ENTRIES: usize = 100_000;
/// A name for a file in the making is looked for so often.
const NAMES: usize = 32;

#[derive(Clone, Copy, Debug, Default)]
pub struct Restorer;

/// A place in a folder that is held.
struct Place<'p> {
    path: &'p Path,
    parent: OwnedFd,
    name: &'p OsStr,
}

/// What is attempted, for errors.
fn failed<E: ToString>(act: &'static str, path: &Path) -> impl Fn(E) -> DiskError {
    move |why| DiskError { act, path: path.into(), why: why.to_string() }
}

fn on_the_way(errno: Errno) -> String {
    match errno {
        Errno::LOOP => "a folder on the way to it has become a link".into(),
        errno => std::io::Error::from(errno).to_string(),
    }
}

/// The folder of a path; `None` where there is none.
fn parent_of(path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let parent = path.parent().ok_or(Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(rustix::fs::CWD, parent, flags, Mode::empty(), resolve) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn place<'p>(act: &'static str, path: &'p Path) -> Result<Place<'p>, DiskError> {
    let parent = parent_of(path).map_err(|e| failed(act, path)(on_the_way(e)))?;
    let parent = parent.ok_or_else(|| failed(act, path)("its folder is not there"))?;
    let name = path.file_name().ok_or_else(|| failed(act, path)("it has no name"))?;
    Ok(Place { path, parent, name })
}

fn find(act: &'static str, path: &Path) -> Result<Option<Handle>, DiskError> {
    let parent = parent_of(path).map_err(|e| failed(act, path)(on_the_way(e)))?;
    let (Some(parent), Some(name)) = (parent, path.file_name()) else { return Ok(None) };
    Handle::entry(&parent, name).map_err(|e| failed(act, path)(on_the_way(e)))
}

/// What stands at a real path, its content kept in the journal as far as it may be; `None` = it can't be told.
pub(crate) async fn image_at(funnel: &Funnel, path: &Path) -> Option<Image> {
    let entry = find("looked at", path).ok()?;
    image::take_entry(funnel, entry.as_ref()).await.ok()
}

impl Disk for Restorer {
    fn look(&self, path: &Path) -> Result<Look, DiskError> {
        let act = "looked at";
        let Some(handle) = find(act, path)? else { return Ok(Look { image: Image::Absent, shared: false }) };
        let image = image::bare(&handle).map_err(|e| failed(act, path)(on_the_way(e)))?;
        Ok(Look { image, shared: handle.kind() == Kind::File && handle.names() > 1 })
    }

    fn read(&self, path: &Path) -> Result<Option<(String, Vec<u8>)>, DiskError> {
        let act = "read";
        let Some(handle) = find(act, path)?.filter(|h| h.kind() == Kind::File && h.size() <= image::KEEP) else {
            return Ok(None);
        };
        let file = handle.open(OFlags::RDONLY).map_err(|e| failed(act, path)(on_the_way(e)))?;
        let mut content = vec![];
        file.take(image::KEEP + 1).read_to_end(&mut content).map_err(failed(act, path))?;
        let whole = Some(content).filter(|c| c.len() as u64 <= image::KEEP);
        Ok(whole.map(|content| (blake3::hash(&content).to_hex().to_string(), content)))
    }

    fn below(&self, folder: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let failed = failed("listed", folder);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = place("listed", folder)?;
        let fd = openat(&place.parent, place.name, flags, Mode::empty()).map_err(&failed)?;
        let entries = rustix::fs::Dir::read_from(fd).map_err(&failed)?;
        let mut names = vec![];
        for entry in entries.take(ENTRIES) {
            let entry = entry.map_err(&failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(folder.join(name));
            }
        }
        Ok(names)
    }

    fn put(&self, path: &Path, to: &Image, content: Option<&[u8]>, shared: bool) -> Result<(), DiskError> {
        let act = "put back";
        let place = place(act, path)?;
        let now = Handle::entry(&place.parent, place.name).map_err(failed(act, path))?;
        match (to, content) {
            (Image::Absent, _) => place.clear(now.as_ref()),
            (Image::Folder, _) => place.folder(now.as_ref()),
            (Image::Link { target }, _) => place.link(now.as_ref(), target),
            (Image::File { mode, .. }, None) => place.set_mode(now.as_ref(), *mode),
            (Image::File { hash, mode, .. }, Some(content)) => {
                if blake3::hash(content).to_hex().as_str() != hash {
                    return Err(failed(act, path)("the content in the journal is damaged"));
                }
                place.file(now.as_ref(), content, *mode, shared)
            }
            (Image::Special, _) => Err(failed(act, path)("it is no file, folder or link")),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let act = "moved back";
        let (old, new) = (place(act, from)?, place(act, to)?);
        let moved = rustix::fs::renameat_with(&old.parent, old.name, &new.parent, new.name, RenameFlags::NOREPLACE);
        moved.map_err(|e| failed(act, from)(format!("to {}: {}", to.display(), on_the_way(e))))
    }
}

impl Place<'_> {
    fn failed<E: ToString>(&self) -> impl Fn(E) -> DiskError {
        failed("put back", self.path)
    }

    fn clear(&self, now: Option<&Handle>) -> Result<(), DiskError> {
        let Some(now) = now else { return Ok(()) };
        let how = if now.kind() == Kind::Folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&self.parent, self.name, how).map_err(self.failed())
    }

    /// Only a folder cannot be replaced by a rename: it has to be empty, and goes first.
    fn clear_folder(&self, now: Option<&Handle>) -> Result<(), DiskError> {
        self.clear(now.filter(|n| n.kind() == Kind::Folder))
    }

    fn folder(&self, now: Option<&Handle>) -> Result<(), DiskError> {
        if now.is_some_and(|n| n.kind() == Kind::Folder) {
            return Ok(());
        }
        self.clear(now)?;
        rustix::fs::mkdirat(&self.parent, self.name, Mode::from_raw_mode(0o777)).map_err(self.failed())
    }

    fn link(&self, now: Option<&Handle>, target: &Path) -> Result<(), DiskError> {
        let (name, ()) = self.beside(|name| rustix::fs::symlinkat(target, &self.parent, name))?;
        self.take_place(now, &name)
    }

    fn file(&self, now: Option<&Handle>, content: &[u8], mode: u32, shared: bool) -> Result<(), DiskError> {
        if let Some(there) = now.filter(|n| shared && n.kind() == Kind::File) {
            let file = there.open(OFlags::WRONLY | OFlags::TRUNC).map_err(self.failed())?;
            return self.fill(file, content, mode);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let make = |name: &str| openat(&self.parent, name, flags, Mode::from_raw_mode(0o600));
        let (name, fd) = self.beside(make)?;
        match self.fill(fd.into(), content, mode) {
            Ok(()) => self.take_place(now, &name),
            Err(error) => {
                let _ = rustix::fs::unlinkat(&self.parent, name, AtFlags::empty());
                Err(error)
            }
        }
    }

    fn fill(&self, mut file: File, content: &[u8], mode: u32) -> Result<(), DiskError> {
        file.write_all(content).map_err(self.failed())?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(self.failed())
    }

    fn set_mode(&self, now: Option<&Handle>, mode: u32) -> Result<(), DiskError> {
        let file = now.filter(|n| n.kind() == Kind::File).ok_or_else(|| self.failed()("it is no file any more"))?;
        let open = file.open(OFlags::RDONLY).map_err(self.failed())?;
        rustix::fs::fchmod(open, Mode::from_raw_mode(mode)).map_err(self.failed())
    }

    /// Makes something under a name that nobody uses, in the same folder.
    fn beside<T>(&self, make: impl Fn(&str) -> rustix::io::Result<T>) -> Result<(String, T), DiskError> {
        for _ in 0..NAMES {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(self.failed())?;
            let name = format!(".airlock-{:016x}", u64::from_ne_bytes(random));
            match make(&name) {
                Ok(made) => return Ok((name, made)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(self.failed()(errno)),
            }
        }
        Err(self.failed()("no free name beside it"))
    }

    fn take_place(&self, now: Option<&Handle>, name: &str) -> Result<(), DiskError> {
        let done = self
            .clear_folder(now)
            .and_then(|()| rustix::fs::renameat(&self.parent, name, &self.parent, self.name).map_err(self.failed()));
        if done.is_err() {
            let _ = rustix::fs::unlinkat(&self.parent, name, AtFlags::empty());
        }
        done
    }
}

#[cfg(test)]
mod tests;
