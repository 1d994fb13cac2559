//! Namespaces of a program's own: it sees its own processes only, a network without interfaces, and a file system that is
//! read-only outside the writable folders, so that what Landlock does not cover (modes, owners, times) holds as well.
//!
//! An ordinary user makes a user namespace first. Root does not: there it would lose the files of other users, and the
//! capabilities that remain are taken away instead (see `confine`).

use super::sys::{self, Forked};
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

/// What the mounts are to look like. Strings are made before the fork.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Mounts that stay as they are: what lies there, and where it is to be seen.
    pub writable: Vec<(CString, CString)>,
    /// Read-only although they lie in a writable folder.
    pub frozen: Vec<CString>,
    /// Folders that look empty.
    pub emptied: Vec<CString>,
    /// Files and sockets that `/dev/null` covers.
    pub covered: Vec<CString>,
    /// Whether the network is the machine's own.
    network: bool,
    ids: Option<Ids>,
}

#[derive(Debug)]
struct Ids {
    users: CString,
    groups: CString,
}

impl Space {
    pub(super) fn new(network: bool) -> Self {
        Self { network, ids: Ids::of_this_process(), ..Self::default() }
    }

    /// First half, in a process with one thread: children of it are in the new namespaces.
    pub(super) fn leave_old(&self) -> io::Result<()> {
        let net = if self.network { 0 } else { libc::CLONE_NEWNET };
        let apart = libc::CLONE_NEWNS | libc::CLONE_NEWPID | net | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        let Some(ids) = &self.ids else { return sys::unshare(apart) };
        // The three files below belong to root as long as the process is closed. Nothing confined runs yet.
        sys::set_open_to_others(true)?;
        sys::unshare(apart | libc::CLONE_NEWUSER)?;
        sys::write_file(c"/proc/self/setgroups", b"deny")?;
        sys::write_file(c"/proc/self/uid_map", ids.users.to_bytes())?;
        sys::write_file(c"/proc/self/gid_map", ids.groups.to_bytes())?;
        sys::set_open_to_others(false)
    }

    /// Second half, in the first process of the new namespaces. The writable trees are copied before all is made read-only,
    /// and put back after: so each keeps exactly the properties that it had.
    pub(super) fn furnish(&self) -> io::Result<()> {
        sys::mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
        self.furnish_from(0)?;
        let harmless = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        sys::mount(c"proc", c"/proc", Some(c"proc"), harmless)?;
        for folder in &self.emptied {
            unless_gone(sys::mount(c"tmpfs", folder, Some(c"tmpfs"), harmless | libc::MS_RDONLY))?;
        }
        for file in &self.covered {
            unless_gone(sys::mount(c"/dev/null", file, None, libc::MS_BIND))?;
        }
        for path in &self.frozen {
            sys::mount(path, path, None, libc::MS_BIND)?;
            sys::make_read_only(path, false)?;
        }
        Ok(())
    }

    /// Recursion in place of a list of open trees: nothing may be allocated here.
    fn furnish_from(&self, index: usize) -> io::Result<()> {
        let Some((source, target)) = self.writable.get(index) else { return sys::make_read_only(c"/", true) };
        let tree = sys::copy_tree(source)?;
        self.furnish_from(index + 1)?;
        sys::attach_tree(tree.as_fd(), target)
    }
}

impl Ids {
    /// The user and the group as they are; `None` for root.
    fn of_this_process() -> Option<Self> {
        if sys::is_root() {
            return None;
        }
        let (user, group) = sys::effective_ids();
        let map = |id: u32| CString::new(format!("{id} {id} 1")).ok();
        Some(Self { users: map(user)?, groups: map(group)? })
    }
}

/// Whether a process may make all of this here: tried once, in a child that does nothing else.
pub(super) fn works() -> bool {
    let space = Space::new(false);
    // SAFETY: the child only makes system calls through `sys`, which neither allocates nor locks, and then ends.
    match unsafe { sys::fork() } {
        Ok(Forked::Child) => sys::exit(i32::from(try_out(&space).is_err())),
        Ok(Forked::Parent { child }) => sys::wait_for(child) == 0,
        Err(_) => false,
    }
}

fn try_out(space: &Space) -> io::Result<()> {
    space.leave_old()?;
    // SAFETY: this process was made by a fork and has one thread.
    match unsafe { sys::fork() }? {
        Forked::Child => sys::exit(i32::from(space.furnish().is_err())),
        Forked::Parent { child } if sys::wait_for(child) == 0 => Ok(()),
        Forked::Parent { .. } => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// What lies below something that is hidden already, such as the machine's own temporary folder, needs no cover of its own.
fn unless_gone(mounted: io::Result<()>) -> io::Result<()> {
    match mounted {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
