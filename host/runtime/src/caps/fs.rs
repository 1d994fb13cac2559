//! `wasi:filesystem` behind the funnel: every act is named on its real path, asked for, journalled with before and after, done.
//!
//! No path of a guest is trusted twice. What a path leads to is opened first, without effect, as a handle ([`handle`]); the
//! kernel's own name of that handle is what is judged; and what is then read, written or truncated is the very inode that was
//! judged. Acts on directory entries use the parent's handle and the bare name. So a link that is swapped meanwhile changes
//! nothing.
//!
//! A refusal reaches the guest as `not-permitted`; its reason stays in the funnel.

mod changes;
mod descriptor;
mod entry;
mod handle;
mod image;
mod open;
mod restore;
mod subtree;
#[cfg(test)]
mod tests;

use super::{Funnel, Refused};
use changes::Changes;
pub use restore::Restorer;
pub(crate) use restore::image_at;
use rustix::io::Errno;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use wasmtime::component::{HasData, Linker, Resource, ResourceTableError};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{self, ErrorCode};

/// What one call did to the disk so far. One a call.
pub struct State {
    funnel: Arc<Funnel>,
    changes: Changes,
}

impl State {
    #[must_use]
    pub fn new(funnel: Arc<Funnel>) -> Self {
        Self { changes: Changes::new(Arc::clone(&funnel)), funnel }
    }

    /// Real paths that the call changed itself.
    #[must_use]
    pub fn own(&self) -> &HashSet<PathBuf> {
        self.changes.own()
    }

    /// Ends the call: notes what stands now in files that were left open, and if the call went well (`ok`) marks the files that
    /// it names and read as seen by the session. What it wrote is marked in any case.
    pub async fn settle(&mut self, ok: bool) {
        self.changes.settle(ok).await;
    }
}

/// A store's data with a mediated file system in it.
pub trait HasFs {
    /// WASI's own view and the call's state, side by side.
    fn fs_parts(&mut self) -> (WasiFilesystemCtxView<'_>, &mut State);
}

/// The mediated view; stands in for wasmtime-wasi's own.
pub struct View<'a> {
    inner: WasiFilesystemCtxView<'a>,
    state: &'a mut State,
}

impl<'a> View<'a> {
    #[must_use]
    pub fn new(inner: WasiFilesystemCtxView<'a>, state: &'a mut State) -> Self {
        Self { inner, state }
    }

    fn dir(&self, fd: &Fd) -> Result<Dir, Failure> {
        match self.inner.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }
}

struct Mediated;

impl HasData for Mediated {
    type Data<'a> = View<'a>;
}

/// Puts the mediated file system in the place of wasmtime-wasi's. To be called after WASI itself was added.
///
/// # Errors
/// When the linker does not take the interfaces.
pub fn add_to_linker<T: HasFs + Send + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    fn view<T: HasFs>(data: &mut T) -> View<'_> {
        let (inner, state) = data.fs_parts();
        View::new(inner, state)
    }
    linker.allow_shadowing(true);
    let added = types::add_to_linker::<T, Mediated>(linker, view::<T>)
        .and_then(|()| preopens::add_to_linker::<T, Mediated>(linker, view::<T>));
    linker.allow_shadowing(false);
    added
}

type Fd = Resource<Descriptor>;

/// The same handle once more, for a call of WASI's own view.
fn again(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

/// Why an act on files did not happen, before it becomes an error code of WASI.
#[derive(Debug)]
enum Failure {
    Refused,
    Os(Errno),
    Code(ErrorCode),
    Wasi(FsError),
    Table(ResourceTableError),
}

impl From<Refused> for Failure {
    fn from(Refused: Refused) -> Self {
        Self::Refused
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Os(errno)
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        Self::Wasi(error)
    }
}

impl From<ResourceTableError> for Failure {
    fn from(error: ResourceTableError) -> Self {
        Self::Table(error)
    }
}

impl From<Failure> for FsError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused => ErrorCode::NotPermitted.into(),
            Failure::Os(Errno::XDEV) => ErrorCode::CrossDevice.into(),
            Failure::Os(errno) => std::io::Error::from(errno).into(),
            Failure::Code(code) => code.into(),
            Failure::Wasi(error) => error,
            Failure::Table(error) => error.into(),
        }
    }
}
