//! From a fork of the host to a confined program: everything that was prepared before the fork is put in force here.
//!
//! The order is fixed by what each step needs: namespaces and mounts first (they need system calls that are filtered later), then
//! the fork that leaves the supervisor behind, then limits, capabilities, Landlock, and the filters last.

use super::SpawnError;
use super::space::Space;
use super::supervisor;
use super::sys::{self, Forked};
use seccompiler::BpfProgram;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tokio::process::Command;

/// Bytes that one file of a program may grow to.
const FILE_SIZE: u64 = 64 << 30;
const OPEN_FILES: u64 = 65_536;
/// Processes of the user, all together: the kernel counts no other way. Root is exempt (the kernel's rule).
const PROCESSES: u64 = 16_384;

/// What root keeps: power over the files that the other walls leave it, nothing over the machine.
/// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID.
const ROOT_KEEPS: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7;

/// Landlock's rights to read files and list folders, for a `/proc` that is only mounted in the child.
const READ: u64 = 1 << 2 | 1 << 3;

/// All that the child needs, made before the fork.
pub(super) struct Confinement {
    pub cwd: CString,
    pub ruleset: Option<OwnedFd>,
    pub filters: Vec<BpfProgram>,
    pub space: Option<Space>,
    /// The supervisor's end of the link to the host.
    pub link: OwnedFd,
    pub timeout_ms: Option<i64>,
}

impl Confinement {
    /// Makes the command start confined. What tokio then holds as the child is the supervisor (in namespaces: its keeper).
    pub(super) fn apply_to(self, command: &mut Command) {
        // SAFETY: `enter` runs between fork and exec. It calls only `sys` (system calls without allocation, locks or panics) and
        // `seccompiler::apply_filter` (two system calls), on data that was built before the fork. The processes that it leaves
        // behind never return from it.
        unsafe { command.pre_exec(move || self.enter()) };
    }

    fn enter(&self) -> io::Result<()> {
        // Away from the host's terminal, whose signals are not for this tree, and from the host's handlers.
        sys::new_session()?;
        sys::block_signals(true);
        sys::reset_signals();
        let Some(space) = &self.space else {
            sys::become_subreaper()?;
            return self.leave_supervisor();
        };
        space.leave_old()?;
        // SAFETY: this process was made by a fork and has one thread.
        match unsafe { sys::fork() }? {
            Forked::Parent { child } => stand_by(child),
            Forked::Child => {
                sys::die_with_parent()?;
                space.furnish()?;
                self.leave_supervisor()
            }
        }
    }

    fn leave_supervisor(&self) -> io::Result<()> {
        // SAFETY: this process was made by a fork and has one thread.
        match unsafe { sys::fork() }? {
            Forked::Parent { child } => supervisor::supervise(child, self.link.as_raw_fd(), self.timeout_ms),
            Forked::Child => self.become_program(),
        }
    }

    fn become_program(&self) -> io::Result<()> {
        sys::new_session()?;
        sys::block_signals(false);
        sys::close_at_exec();
        sys::change_folder(&self.cwd)?;
        set_limits()?;
        drop_capabilities()?;
        sys::no_new_privileges()?;
        if let Some(ruleset) = &self.ruleset {
            self.enter_landlock(ruleset)?;
        }
        self.filters
            .iter()
            .try_for_each(|f| seccompiler::apply_filter(f).map_err(|_| io::ErrorKind::PermissionDenied.into()))
    }

    fn enter_landlock(&self, ruleset: &OwnedFd) -> io::Result<()> {
        if self.space.is_some() {
            let proc = sys::open(c"/proc", libc::O_PATH | libc::O_DIRECTORY)?;
            sys::landlock_allow(ruleset.as_raw_fd(), proc.as_fd(), READ)?;
        }
        sys::landlock_restrict(ruleset.as_raw_fd())
    }
}

/// The process that made the namespaces is not in all of them itself; it only ends with its child.
fn stand_by(child: libc::pid_t) -> ! {
    sys::close_all();
    sys::wait_for(child);
    sys::exit(0)
}

fn set_limits() -> io::Result<()> {
    sys::limit(libc::RLIMIT_CORE as _, 0)?;
    sys::limit(libc::RLIMIT_FSIZE as _, FILE_SIZE)?;
    sys::limit(libc::RLIMIT_NOFILE as _, OPEN_FILES)?;
    sys::limit(libc::RLIMIT_NPROC as _, PROCESSES)
}

fn drop_capabilities() -> io::Result<()> {
    if !sys::is_root() {
        return sys::set_capabilities(0);
    }
    let all = (0..64).filter(|n| ROOT_KEEPS & (1 << n) == 0);
    for capability in all {
        if !sys::drop_bounding(capability) {
            break;
        }
    }
    sys::set_capabilities(ROOT_KEEPS)
}

pub(super) fn c_path(path: &std::path::Path) -> Result<CString, SpawnError> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SpawnError::Failed(format!("the path {} holds a NUL character", path.display())))
}
