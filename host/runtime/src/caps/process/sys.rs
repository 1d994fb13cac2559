//! The system calls of the sandbox, wrapped so that the rest is safe code.
//!
//! Everything here may run in a child between `fork` and `exec` (or in the supervisor, which never execs): no function allocates,
//! takes a lock or panics. Errors carry only the error number.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

pub(super) fn check(answer: impl Into<i64>) -> io::Result<i64> {
    match answer.into() {
        -1 => Err(io::Error::last_os_error()),
        n => Ok(n),
    }
}

/// The two sides of a fork.
pub(super) enum Forked {
    Parent { child: libc::pid_t },
    Child,
}

/// # Safety
/// The process must have one thread only (it was itself made by a fork), or its child must keep to async-signal-safe calls.
pub(super) unsafe fn fork() -> io::Result<Forked> {
    // SAFETY: the caller's promise.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child: child as libc::pid_t }),
    }
}

pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code) }
}

pub(super) fn is_root() -> bool {
    // SAFETY: reads a number, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

pub(super) fn effective_ids() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: reads numbers, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Whether this is the first process of a namespace (a fork never is, outside a new one).
pub(super) fn is_first() -> bool {
    // SAFETY: reads a number, cannot fail.
    unsafe { libc::getpid() == 1 }
}

pub(super) fn new_session() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setsid() }).map(drop)
}

pub(super) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: no pointers; the caller has one thread, so nobody else loses what is unshared.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: only options that take a number are used, see the callers below.
    check(unsafe { libc::prctl(option, value, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) }).map(drop)
}

/// Orphans below this process become its children.
pub(super) fn become_subreaper() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

pub(super) fn die_with_parent() -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)
}

/// Whether others of the same user may look into this process. A fork inherits it, a program that is started is open again.
pub(super) fn set_open_to_others(open: bool) -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, c_ulong::from(open))
}

pub(super) fn no_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Takes a capability away for good; `false` once the number is above what the kernel knows.
pub(super) fn drop_bounding(capability: u32) -> bool {
    prctl(libc::PR_CAPBSET_DROP, c_ulong::from(capability)).is_ok()
}

/// Leaves the process these capabilities (a bit each) and no others.
pub(super) fn set_capabilities(kept: u64) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let half = |bits: u64| Data { effective: bits as u32, permitted: bits as u32, inheritable: 0 };
    let header = Header { version: VERSION_3, pid: 0 };
    let data = [half(kept & 0xffff_ffff), half(kept >> 32)];
    // SAFETY: version 3 reads one header and two data records, which both outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

pub(super) fn limit(resource: c_uint, most: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one record that outlives the call.
    check(unsafe { libc::getrlimit(resource as _, &raw mut now) })?;
    let hard = now.rlim_max.min(most);
    let new = libc::rlimit { rlim_cur: now.rlim_cur.min(hard), rlim_max: hard };
    // SAFETY: reads one record that outlives the call.
    check(unsafe { libc::setrlimit(resource as _, &raw const new) }).map(drop)
}

/// No signal is ignored or handled; which are blocked stays as it is.
pub(super) fn reset_signals() {
    const LAST: c_int = 64;
    for signal in 1..=LAST {
        // SAFETY: SIG_DFL is a valid disposition; signals that cannot be set (KILL, STOP) answer an error, which is right.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

pub(super) fn block_signals(block_all: bool) {
    // SAFETY: a signal set is plain data; it is filled before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let fill = if block_all { libc::sigfillset } else { libc::sigemptyset };
        fill(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
    }
}

/// A descriptor that becomes readable when a child ends. Needs the signals blocked.
pub(super) fn child_ends() -> io::Result<OwnedFd> {
    // SAFETY: the set is filled before it is read; the descriptor is new and nobody else's.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        let fd = check(libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Waits until one of both is readable or the time is up; says which are.
pub(super) fn poll_two(a: RawFd, b: RawFd, timeout_ms: c_int) -> (bool, bool) {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [entry(a), entry(b)];
    // SAFETY: two records that outlive the call.
    let ready = unsafe { libc::poll(both.as_mut_ptr(), 2, timeout_ms) };
    (ready > 0 && both[0].revents != 0, ready > 0 && both[1].revents != 0)
}

/// Bytes read; 0 at the end or on any error.
pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> usize {
    // SAFETY: writes at most the buffer's length into it.
    let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(n).unwrap_or(0)
}

/// Sends on a socket; a peer that is gone is no error and no signal.
pub(super) fn send(socket: RawFd, bytes: &[u8]) {
    // SAFETY: reads the slice only.
    unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}

/// A process or, where negative, a group; -1 = all that this process may signal.
pub(super) fn kill(target: libc::pid_t, signal: c_int) {
    // SAFETY: no pointers. A target that is gone is no error here.
    unsafe { libc::kill(target, signal) };
}

/// What a look for ended children found.
pub(super) enum Reaped {
    Ended { pid: libc::pid_t, status: c_int },
    NoneYet,
    NoChildren,
}

pub(super) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: writes one integer.
    match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
        0 => Reaped::NoneYet,
        pid if pid > 0 => Reaped::Ended { pid, status },
        _ => Reaped::NoChildren,
    }
}

/// Waits for this child, whatever interrupts; its raw status.
pub(super) fn wait_for(child: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: writes one integer.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return -1;
        }
    }
    status
}

/// Milliseconds of a clock that only goes forward.
pub(super) fn now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one record.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

pub(super) fn pause_ms(ms: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ms * 1_000_000 };
    // SAFETY: reads one record.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}

/// Closes every descriptor but one.
pub(super) fn close_all_but(kept: RawFd) {
    let kept = kept.cast_unsigned();
    if kept > 0 {
        close_range(0, kept - 1, 0);
    }
    close_range(kept + 1, c_uint::MAX, 0);
}

pub(super) fn close_all() {
    close_range(0, c_uint::MAX, 0);
}

/// Every descriptor above the standard three closes at `exec`; the one through which `exec` itself reports stays open till then.
pub(super) fn close_at_exec() {
    close_range(3, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
}

fn close_range(first: c_uint, last: c_uint, flags: c_uint) {
    // SAFETY: only in a child that owns none of these descriptors through Rust values that it will still use.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
}

pub(super) fn change_folder(path: &CStr) -> io::Result<()> {
    // SAFETY: a NUL-terminated string.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

pub(super) fn open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: a NUL-terminated string; the descriptor is new and nobody else's.
    unsafe {
        let fd = check(libc::open(path.as_ptr(), flags | libc::O_CLOEXEC))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Writes a file of the kernel in one piece.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = open(path, libc::O_WRONLY)?;
    // SAFETY: reads the slice only.
    check(unsafe { libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) } as i64).map(drop)
}

pub(super) fn mount(source: &CStr, target: &CStr, kind: Option<&CStr>, flags: c_ulong) -> io::Result<()> {
    let kind = kind.map_or(ptr::null::<c_char>(), CStr::as_ptr);
    // SAFETY: NUL-terminated strings or null, and no data.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, ptr::null::<c_void>()) }).map(drop)
}

/// Makes a mount (`recursive`: and all below it) read-only, and changes none of its other properties.
pub(super) fn make_read_only(path: &CStr, recursive: bool) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        userns_fd: u64,
    }
    const READ_ONLY: u64 = 1;
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    let attributes = Attributes { set: READ_ONLY, clear: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<Attributes>();
    // SAFETY: a NUL-terminated string and one record of the given size.
    let answer = unsafe {
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw const attributes, size)
    };
    check(answer).map(drop)
}

/// A copy of the mounts at a path, attached nowhere yet.
pub(super) fn copy_tree(path: &CStr) -> io::Result<OwnedFd> {
    const CLONE: c_int = 1;
    let flags = CLONE | libc::O_CLOEXEC | libc::AT_RECURSIVE;
    // SAFETY: a NUL-terminated string; the descriptor is new and nobody else's.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

pub(super) fn attach_tree(tree: BorrowedFd<'_>, target: &CStr) -> io::Result<()> {
    const EMPTY_SOURCE_PATH: c_uint = 4;
    let (fd, at) = (tree.as_raw_fd(), libc::AT_FDCWD);
    // SAFETY: NUL-terminated strings and an open descriptor.
    let answer =
        unsafe { libc::syscall(libc::SYS_move_mount, fd, c"".as_ptr(), at, target.as_ptr(), EMPTY_SOURCE_PATH) };
    check(answer).map(drop)
}

/// Lets a ruleset allow these accesses below an open folder.
pub(super) fn landlock_allow(ruleset: RawFd, beneath: BorrowedFd<'_>, access: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { access, parent: beneath.as_raw_fd() };
    // SAFETY: one record of the layout that this rule type has in the kernel's interface.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, PATH_BENEATH, &raw const rule, 0) };
    check(answer).map(drop)
}

/// Puts the calling thread under a ruleset, for good.
pub(super) fn landlock_restrict(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) }).map(drop)
}
