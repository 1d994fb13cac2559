//! `open-at`: what a path leads to is judged, then that very inode is opened.

use super::changes::Writing;
use super::entry::Spot;
use super::handle::{Follow, Handle, Kind};
use super::{Failure, Fd, State, View, image};
use model::fault::FailureKind;
use model::flow::Label;
use model::journal::{Image, Op};
use model::tool::ToolFailure;
use rustix::fs::{Mode, OFlags, ftruncate};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{self as wasi, Descriptor, Dir};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

/// What a guest wants of the file that it opens.
#[derive(Clone, Copy, Debug)]
struct Wish {
    open: OpenFlags,
    access: DescriptorFlags,
    follow: Follow,
}

impl Wish {
    fn new(follow: PathFlags, open: OpenFlags, access: DescriptorFlags) -> Result<Self, ErrorCode> {
        let synced = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if access.intersects(synced) {
            return Err(ErrorCode::Unsupported);
        }
        let effects = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if open.contains(OpenFlags::DIRECTORY) && open.intersects(effects) {
            return Err(ErrorCode::Invalid);
        }
        Ok(Self { open, access, follow: followed(follow) })
    }

    fn creates(self) -> bool {
        self.open.contains(OpenFlags::CREATE)
    }

    fn truncates(self) -> bool {
        self.open.contains(OpenFlags::TRUNCATE)
    }

    /// Changes a file that exists.
    fn writes(self) -> bool {
        self.access.contains(DescriptorFlags::WRITE) || self.truncates()
    }

    fn reads(self) -> bool {
        self.access.contains(DescriptorFlags::READ) || !self.writes()
    }

    /// Could see what is in a file that exists.
    fn sees(self) -> bool {
        self.reads() && !self.truncates()
    }

    fn flags(self) -> OFlags {
        match (self.reads(), self.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        }
    }

    fn mode(self) -> OpenMode {
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, self.reads());
        mode.set(OpenMode::WRITE, self.writes());
        mode
    }
}

pub(super) fn followed(flags: PathFlags) -> Follow {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { Follow::Yes } else { Follow::No }
}

impl View<'_> {
    pub(super) async fn open(
        &mut self,
        fd: &Fd,
        follow: PathFlags,
        path: &str,
        open: OpenFlags,
        access: DescriptorFlags,
    ) -> Result<Fd, Failure> {
        let wish = Wish::new(follow, open, access)?;
        let dir = self.dir(fd)?;
        if (wish.writes() || wish.creates()) && dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let opened = match Handle::beneath(&*dir.dir, path, wish.follow) {
            Err(Errno::NOENT) if wish.creates() => self.state.create(&dir, path, wish).await?,
            Ok(_) if wish.creates() && open.contains(OpenFlags::EXCLUSIVE) => return Err(ErrorCode::Exist.into()),
            found => self.state.open_found(&dir, found?, wish).await?,
        };
        Ok(self.inner.table.push(opened)?)
    }
}

impl State {
    async fn open_found(&mut self, dir: &Dir, handle: Handle, wish: Wish) -> Result<Descriptor, Failure> {
        match handle.kind() {
            Kind::Folder if wish.writes() => Err(ErrorCode::IsDirectory.into()),
            Kind::Folder => {
                let folder = handle.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
                Ok(Descriptor::Dir(Dir::new(folder, dir.perms, wish.mode(), true)))
            }
            Kind::Link => Err(ErrorCode::Loop.into()),
            Kind::Special => Err(self.refuse_special(&handle.real()?)),
            Kind::File if wish.open.contains(OpenFlags::DIRECTORY) => Err(ErrorCode::NotDirectory.into()),
            Kind::File => self.open_file(dir, handle, wish).await,
        }
    }

    fn refuse_special(&self, path: &Path) -> Failure {
        // A search that comes across one is not told off for it.
        if self.funnel.names(path) {
            let what = format!("{} is a pipe, a socket or a device, not a file.", path.display());
            return self.funnel.refuse(ToolFailure::new(FailureKind::Denied, what)).into();
        }
        Failure::Refused
    }

    async fn open_file(&mut self, dir: &Dir, handle: Handle, wish: Wish) -> Result<Descriptor, Failure> {
        let path = handle.real()?;
        if wish.sees() {
            self.funnel.read(&path).await?;
            if handle.is_anothers() {
                self.funnel.taint(Label::Foreign);
            }
        }
        if wish.writes() {
            self.funnel.write(&path).await?;
        }
        if handle.real()? != path {
            return Err(self.moved(&path));
        }
        let file = if wish.writes() {
            self.open_to_write(dir, handle, path, wish).await?
        } else {
            self.changes.note_read(&path, handle.seen());
            wasi::File::new(handle.open(OFlags::RDONLY)?, dir.perms, wish.mode(), true)
        };
        Ok(Descriptor::File(file))
    }

    /// It was somewhere else when it was judged.
    pub(super) fn moved(&self, path: &Path) -> Failure {
        let what = format!("{} was moved while it was being judged: nothing was done.", path.display());
        self.funnel.refuse(ToolFailure::new(FailureKind::Conflict, what)).into()
    }

    async fn open_to_write(
        &mut self,
        dir: &Dir,
        mut handle: Handle,
        path: PathBuf,
        wish: Wish,
    ) -> Result<wasi::File, Failure> {
        self.changes.finish_left().await;
        handle.refresh()?;
        self.changes.check_stale(&path, &handle.seen()).await?;
        if wish.sees() {
            self.changes.note_read(&path, handle.seen());
        }
        let file = handle.open(wish.flags())?;
        let before = image::take(&self.funnel, &handle).await?;
        let id = self.changes.begin(Op::Write, &path, &before).await?;
        let opened = wasi::File::new(file, dir.perms, wish.mode(), true);
        let file = Arc::clone(&opened.file);
        self.changes.write(Writing { id, path, file, found: Some((handle.seen(), before)), left: None });
        if wish.truncates() {
            ftruncate(&*opened.file, 0)?;
        }
        Ok(opened)
    }

    /// A new file, made on its parent's handle, exclusively: so no link is followed.
    async fn create(&mut self, dir: &Dir, path: &str, wish: Wish) -> Result<Descriptor, Failure> {
        let spot = Spot::locate(dir, path)?;
        if spot.as_folder {
            return Err(ErrorCode::IsDirectory.into());
        }
        self.funnel.write(&spot.path).await?;
        if spot.has_moved() {
            return Err(self.moved(&spot.path));
        }
        self.changes.finish_left().await;
        let id = self.changes.begin(Op::Create, &spot.path, &Image::Absent).await?;
        let access = if wish.reads() { OFlags::RDWR } else { OFlags::WRONLY };
        let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&spot.parent, &spot.name, flags, Mode::from_raw_mode(0o666)) {
            Ok(fd) => {
                let made = wasi::File::new(fd.into(), dir.perms, wish.mode() | OpenMode::WRITE, true);
                let file = Arc::clone(&made.file);
                self.changes.write(Writing { id, path: spot.path, file, found: None, left: None });
                Ok(Descriptor::File(made))
            }
            Err(errno) => {
                let entry = Handle::entry(&spot.parent, &spot.name).ok().flatten();
                let after = image::take_entry(&self.funnel, entry.as_ref()).await;
                self.changes.finish(id, after.unwrap_or(Image::Absent)).await;
                Err(errno.into())
            }
        }
    }
}
