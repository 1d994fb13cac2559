//! WASI's traits for files: what changes or names something goes to [`super::open`] and [`super::entry`], the rest to
//! wasmtime-wasi's own view.

use super::handle::{Follow, Handle, Kind};
use super::open::followed;
use super::{Failure, Fd, View, again, handle};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use wasmtime::component::Resource;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{self as wasi, Descriptor};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize, HostDescriptor,
    HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

impl preopens::Host for View<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        preopens::Host::get_directories(&mut self.inner)
    }
}

impl types::Host for View<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.inner, error)
    }
}

/// Acts on a handle that `open-at` let through.
macro_rules! pass {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(async fn $name(&mut self, fd: Fd, $($arg: $type),*) -> $result {
            self.inner.$name(fd, $($arg),*).await
        })*
    };
}

impl HostDescriptor for View<'_> {
    pass! {
        advise(offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()>;
        sync_data() -> FsResult<()>;
        sync() -> FsResult<()>;
        get_flags() -> FsResult<DescriptorFlags>;
        get_type() -> FsResult<DescriptorType>;
        stat() -> FsResult<DescriptorStat>;
        metadata_hash() -> FsResult<MetadataHashValue>;
        is_same_object(other: Fd) -> wasmtime::Result<bool>;
        read(length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)>;
        write(bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize>;
        set_size(size: Filesize) -> FsResult<()>;
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.inner.read_via_stream(fd, offset)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.inner.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.inner.append_via_stream(fd)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.inner, fd)?;
        self.state.changes.look_at_left();
        Ok(())
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        access: DescriptorFlags,
    ) -> FsResult<Fd> {
        Ok(self.open(&fd, follow, &path, open, access).await?)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        let dir = self.dir(&fd)?;
        let path = handle::real(&*dir.dir).map_err(Failure::from)?;
        self.state.funnel.read(&path).await.map_err(Failure::from)?;
        self.inner.read_directory(fd).await
    }

    async fn stat_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let handle = self.know(&fd, followed(follow), &path)?;
        let known = self.lend(&fd, handle)?;
        let stat = self.inner.stat(again(&known)).await;
        self.inner.table.delete(known)?;
        stat
    }

    async fn metadata_hash_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        let known = self.listed(&fd, followed(follow), &path)?;
        let hash = self.inner.metadata_hash(again(&known)).await;
        self.inner.table.delete(known)?;
        hash
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        let link = self.know(&fd, Follow::No, &path)?;
        if link.kind() != Kind::Link {
            return Err(ErrorCode::Invalid.into());
        }
        let target = link.target().map_err(Failure::from)?;
        if target.is_absolute() {
            return Err(ErrorCode::NotPermitted.into());
        }
        target.into_os_string().into_string().map_err(|_| ErrorCode::IllegalByteSequence.into())
    }

    async fn set_times(&mut self, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        let (file, perms) = match self.inner.table.get(&fd)? {
            Descriptor::File(f) => (f.file.clone(), f.perms),
            Descriptor::Dir(d) => (d.dir.clone(), d.perms),
        };
        if perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let mut handle = Handle::behind(&*file).map_err(Failure::from)?;
        Ok(self.state.set_times(&mut handle, &timestamps(accessed, modified)?).await?)
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let dir = self.dir(&fd)?;
        if dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let mut handle = Handle::beneath(&*dir.dir, &path, followed(follow)).map_err(Failure::from)?;
        Ok(self.state.set_times(&mut handle, &timestamps(accessed, modified)?).await?)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        Ok(self.make_folder(&fd, &path).await?)
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        Ok(self.remove_folder(&fd, &path).await?)
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        Ok(self.unlink(&fd, &path).await?)
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        Ok(self.symlink(&fd, &target, &path).await?)
    }

    async fn link_at(&mut self, fd: Fd, follow: PathFlags, from: String, to_fd: Fd, to: String) -> FsResult<()> {
        if followed(follow) == Follow::Yes {
            return Err(ErrorCode::Invalid.into());
        }
        Ok(self.link((&fd, &from), (&to_fd, &to)).await?)
    }

    async fn rename_at(&mut self, fd: Fd, from: String, to_fd: Fd, to: String) -> FsResult<()> {
        Ok(self.rename((&fd, &from), (&to_fd, &to)).await?)
    }
}

impl HostDirectoryEntryStream for View<'_> {
    async fn read_directory_entry(&mut self, stream: Resource<ReaddirIterator>) -> FsResult<Option<DirectoryEntry>> {
        self.inner.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.inner, stream)
    }
}

impl View<'_> {
    /// What a path leads to, if the rules let it be known of without asking.
    fn know(&self, fd: &Fd, follow: Follow, path: &str) -> Result<Handle, Failure> {
        let handle = Handle::beneath(&*self.dir(fd)?.dir, path, follow)?;
        if self.state.funnel.may_read_silently(&handle.real()?) { Ok(handle) } else { Err(Failure::Refused) }
    }

    /// As [`Self::know`], and for what lies in a folder that may be listed: libraries ask for the hash of each entry of a listing,
    /// and the listing would end at the first file that may not be read.
    fn listed(&mut self, fd: &Fd, follow: Follow, path: &str) -> Result<Fd, Failure> {
        let handle = Handle::beneath(&*self.dir(fd)?.dir, path, follow)?;
        let real = handle.real()?;
        let may = |path: &std::path::Path| self.state.funnel.may_read_silently(path);
        if !may(&real) && !real.parent().is_some_and(may) {
            return Err(Failure::Refused);
        }
        self.lend(fd, handle)
    }

    /// As a descriptor that can be asked about, and nothing else; the caller deletes it.
    fn lend(&mut self, fd: &Fd, handle: Handle) -> Result<Fd, Failure> {
        let perms = self.dir(fd)?.perms;
        let file = wasi::File::new(handle.into_file(), perms, OpenMode::empty(), true);
        Ok(self.inner.table.push(Descriptor::File(file))?)
    }
}

fn timestamps(accessed: NewTimestamp, modified: NewTimestamp) -> Result<Timestamps, ErrorCode> {
    Ok(Timestamps { last_access: timespec(accessed)?, last_modification: timespec(modified)? })
}

fn timespec(time: NewTimestamp) -> Result<Timespec, ErrorCode> {
    let (tv_sec, tv_nsec) = match time {
        NewTimestamp::NoChange => (0, UTIME_OMIT),
        NewTimestamp::Now => (0, UTIME_NOW),
        NewTimestamp::Timestamp(t) => {
            let seconds = t.seconds.checked_add(u64::from(t.nanoseconds / 1_000_000_000)).ok_or(ErrorCode::Overflow)?;
            (i64::try_from(seconds).map_err(|_| ErrorCode::Overflow)?, (t.nanoseconds % 1_000_000_000).into())
        }
    };
    Ok(Timespec { tv_sec, tv_nsec })
}
