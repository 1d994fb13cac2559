//! Acts on directory entries: on the parent's handle, with the bare name, so that no link decides where they happen.

use super::handle::{self, Handle, Kind};
use super::{Failure, Fd, State, View, image};
use model::journal::{EntryId, Image, Op, Seen};
use rustix::fs::{AtFlags, Mode, Timestamps};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types::ErrorCode};

/// Where an entry is, or is to be.
pub(super) struct Spot {
    pub(super) parent: OwnedFd,
    pub(super) name: String,
    /// The parent's real path and the name.
    pub(super) path: PathBuf,
    /// The guest wrote a slash at the end: only a folder will do.
    pub(super) as_folder: bool,
}

impl Spot {
    pub(super) fn locate(dir: &Dir, path: &str) -> Result<Self, Failure> {
        let bare = path.trim_end_matches('/');
        let (parent, name) = match bare.rsplit_once('/') {
            // An absolute path leaves the mount: the kernel is to say so.
            Some(("", name)) => ("/", name),
            Some((parent, name)) => (parent, name),
            None => (".", bare),
        };
        if matches!(name, "" | "." | "..") {
            return Err(ErrorCode::Invalid.into());
        }
        let parent = handle::folder_beneath(&*dir.dir, parent)?;
        let real = handle::real(&parent)?.join(name);
        Ok(Self { parent, name: name.into(), path: real, as_folder: bare.len() < path.len() })
    }

    /// Whether its folder is not any more where it was.
    pub(super) fn has_moved(&self) -> bool {
        !handle::real(&self.parent).is_ok_and(|parent| self.path.parent() == Some(&*parent))
    }

    pub(super) fn look(&self) -> Result<Option<Handle>, Failure> {
        Ok(Handle::entry(&self.parent, &self.name)?)
    }
}

/// One end of an act.
struct End<'s> {
    op: Op,
    spot: &'s Spot,
}

/// What an end was before.
struct Before {
    seen: Option<Seen>,
    image: Image,
}

/// What an act needs to find at an end, checked before anybody is asked.
fn fits(op: Op, found: Option<Kind>, as_folder: bool) -> Result<(), ErrorCode> {
    let is_folder = found == Some(Kind::Folder);
    match op {
        Op::MakeFolder | Op::Symlink | Op::Link if found.is_some() => Err(ErrorCode::Exist),
        Op::MakeFolder => Ok(()),
        Op::Symlink | Op::Link if as_folder => Err(ErrorCode::NoEntry),
        Op::Symlink | Op::Link | Op::RenameTo | Op::Write | Op::Create | Op::SetTimes => Ok(()),
        Op::Unlink | Op::RenameFrom | Op::LinkFrom | Op::RemoveFolder if found.is_none() => Err(ErrorCode::NoEntry),
        Op::RemoveFolder if !is_folder => Err(ErrorCode::NotDirectory),
        Op::Unlink if is_folder => Err(ErrorCode::IsDirectory),
        Op::LinkFrom if is_folder => Err(ErrorCode::NotPermitted),
        Op::Unlink | Op::RenameFrom | Op::LinkFrom if as_folder && !is_folder => Err(ErrorCode::NotDirectory),
        Op::Unlink | Op::RenameFrom | Op::LinkFrom | Op::RemoveFolder => Ok(()),
    }
}

/// An act that moves or copies what stands there to another name could carry it past a rule for the old one.
fn takes_away(op: Op) -> bool {
    matches!(op, Op::RenameFrom | Op::LinkFrom)
}

impl View<'_> {
    pub(super) fn spot(&self, fd: &Fd, path: &str) -> Result<Spot, Failure> {
        let dir = self.dir(fd)?;
        if dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        Spot::locate(&dir, path)
    }

    pub(super) async fn make_folder(&mut self, fd: &Fd, path: &str) -> Result<(), Failure> {
        let spot = self.spot(fd, path)?;
        let act = || rustix::fs::mkdirat(&spot.parent, &spot.name, Mode::from_raw_mode(0o777));
        self.state.alter(&[End { op: Op::MakeFolder, spot: &spot }], |_| Ok(()), act).await
    }

    pub(super) async fn remove_folder(&mut self, fd: &Fd, path: &str) -> Result<(), Failure> {
        let spot = self.spot(fd, path)?;
        let act = || rustix::fs::unlinkat(&spot.parent, &spot.name, AtFlags::REMOVEDIR);
        self.state.alter(&[End { op: Op::RemoveFolder, spot: &spot }], |_| Ok(()), act).await
    }

    pub(super) async fn unlink(&mut self, fd: &Fd, path: &str) -> Result<(), Failure> {
        let spot = self.spot(fd, path)?;
        let act = || rustix::fs::unlinkat(&spot.parent, &spot.name, AtFlags::empty());
        self.state.alter(&[End { op: Op::Unlink, spot: &spot }], |_| Ok(()), act).await
    }

    pub(super) async fn symlink(&mut self, fd: &Fd, target: &str, path: &str) -> Result<(), Failure> {
        let spot = self.spot(fd, path)?;
        let mounts = self.mounts()?;
        self.state.check_link(Path::new(target), &spot.path, &mounts)?;
        let act = || rustix::fs::symlinkat(target, &spot.parent, &spot.name);
        self.state.alter(&[End { op: Op::Symlink, spot: &spot }], |_| Ok(()), act).await
    }

    pub(super) async fn rename(&mut self, from: (&Fd, &str), to: (&Fd, &str)) -> Result<(), Failure> {
        let (from, to) = (self.spot(from.0, from.1)?, self.spot(to.0, to.1)?);
        if to.as_folder && from.look()?.is_some_and(|h| h.kind() != Kind::Folder) {
            return Err(ErrorCode::NotDirectory.into());
        }
        let mounts = self.mounts()?;
        let judge = |state: &State| state.check_move(&from, &to, &mounts);
        let act = || rustix::fs::renameat(&from.parent, &from.name, &to.parent, &to.name);
        let ends = [End { op: Op::RenameFrom, spot: &from }, End { op: Op::RenameTo, spot: &to }];
        self.state.alter(&ends, judge, act).await
    }

    pub(super) async fn link(&mut self, from: (&Fd, &str), to: (&Fd, &str)) -> Result<(), Failure> {
        let (from, to) = (self.spot(from.0, from.1)?, self.spot(to.0, to.1)?);
        let mounts = self.mounts()?;
        let judge = |state: &State| state.check_move(&from, &to, &mounts);
        let act = || rustix::fs::linkat(&from.parent, &from.name, &to.parent, &to.name, AtFlags::empty());
        let ends = [End { op: Op::LinkFrom, spot: &from }, End { op: Op::Link, spot: &to }];
        self.state.alter(&ends, judge, act).await
    }

    /// The real paths of what is mounted.
    fn mounts(&mut self) -> Result<Vec<PathBuf>, Failure> {
        let mut roots = Vec::new();
        for (fd, _) in preopens::Host::get_directories(&mut self.inner).map_err(FsError::trap)? {
            roots.extend(self.dir(&fd).ok().and_then(|dir| handle::real(&*dir.dir).ok()));
            self.inner.table.delete(fd)?;
        }
        Ok(roots)
    }
}

impl State {
    /// Asks for all ends, journals them, acts, and notes what came of it. `judge` looks at what nobody is asked about: before the
    /// asks, to spare them, and after, since they take time.
    async fn alter(
        &mut self,
        ends: &[End<'_>],
        judge: impl Fn(&Self) -> Result<(), Failure>,
        act: impl FnOnce() -> rustix::io::Result<()>,
    ) -> Result<(), Failure> {
        for end in ends {
            fits(end.op, end.spot.look()?.map(|h| h.kind()), end.spot.as_folder)?;
        }
        judge(self)?;
        self.ask(ends).await?;
        judge(self)?;
        self.changes.finish_left().await;
        let mut before = Vec::with_capacity(ends.len());
        for end in ends {
            before.push(self.look_before(end).await?);
        }
        let ids = self.begin(ends, &before).await?;
        let done = act();
        for (end, id) in ends.iter().zip(ids) {
            self.look_after(end, id, &before, done.is_ok()).await;
        }
        Ok(done?)
    }

    /// Begins an entry for every end, or for none.
    async fn begin(&mut self, ends: &[End<'_>], before: &[Before]) -> Result<Vec<EntryId>, Failure> {
        let mut ids = Vec::with_capacity(ends.len());
        for (end, was) in ends.iter().zip(before) {
            match self.changes.begin(end.op, &end.spot.path, &was.image).await {
                Ok(id) => ids.push(id),
                Err(failure) => {
                    for (id, was) in ids.into_iter().zip(before) {
                        self.changes.finish(id, was.image.clone()).await;
                    }
                    return Err(failure);
                }
            }
        }
        Ok(ids)
    }

    async fn ask(&mut self, ends: &[End<'_>]) -> Result<(), Failure> {
        for end in ends {
            if takes_away(end.op) {
                self.funnel.read(&end.spot.path).await?;
            }
            match end.op {
                Op::MakeFolder => self.funnel.make_folder(&end.spot.path).await?,
                _ => self.funnel.write(&end.spot.path).await?,
            }
        }
        match ends.iter().find(|end| end.spot.has_moved()) {
            Some(end) => Err(self.moved(&end.spot.path)),
            None => Ok(()),
        }
    }

    async fn look_before(&mut self, end: &End<'_>) -> Result<Before, Failure> {
        let entry = end.spot.look()?;
        if let Some(file) = entry.as_ref().filter(|h| h.kind() == Kind::File)
            && matches!(end.op, Op::Unlink | Op::RenameFrom | Op::RenameTo)
        {
            self.changes.check_stale(&end.spot.path, &file.seen()).await?;
        }
        let image = image::take_entry(&self.funnel, entry.as_ref()).await?;
        Ok(Before { seen: entry.map(|h| h.seen()), image })
    }

    async fn look_after(&mut self, end: &End<'_>, id: EntryId, before: &[Before], done: bool) {
        let entry = end.spot.look().ok().flatten();
        let after = match entry.as_ref().and_then(|h| unchanged(before, &h.seen())) {
            Some(image) => image,
            None => image::take_entry(&self.funnel, entry.as_ref()).await.unwrap_or(Image::Special),
        };
        let left = entry.filter(|h| h.kind() == Kind::File).map(|h| h.seen());
        match (end.op, &before[0].seen, left) {
            _ if !done => {}
            (Op::LinkFrom, Some(was), Some(now)) => self.changes.carry(&end.spot.path, was, &now).await,
            (_, _, left) => self.changes.mark_own(&end.spot.path, left).await,
        }
        // Last: what was seen is stored with it.
        self.changes.finish(id, after).await;
    }

    /// Sets the times of what `handle` names.
    pub(super) async fn set_times(&mut self, handle: &mut Handle, times: &Timestamps) -> Result<(), Failure> {
        let path = handle.real()?;
        self.funnel.write(&path).await?;
        if handle.real()? != path {
            return Err(self.moved(&path));
        }
        self.changes.finish_left().await;
        handle.refresh()?;
        let (was, before) = (handle.seen(), image::take(&self.funnel, handle).await?);
        let id = self.changes.begin(Op::SetTimes, &path, &before).await?;
        let done = handle.set_times(times);
        self.changes.finish(id, before).await;
        handle.refresh()?;
        self.changes.carry(&path, &was, &handle.seen()).await;
        Ok(done?)
    }
}

/// The image of the same content under another name: a name more or less moves only the change time.
fn unchanged(before: &[Before], now: &Seen) -> Option<Image> {
    let same = |was: &Seen| Seen { changed_ns: now.changed_ns, ..was.clone() } == *now;
    before.iter().find(|b| b.seen.as_ref().is_some_and(same)).map(|b| b.image.clone())
}
