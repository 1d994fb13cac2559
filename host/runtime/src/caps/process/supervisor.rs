//! The process between the host and a program: it reports the program's end, keeps its time, and kills the whole tree.
//!
//! Why a process of our own: a program's descendants can leave its process group and session, and an orphan's parent is whoever
//! adopts it. The supervisor adopts them all. In namespaces it is process 1, so that the kernel kills everything when it ends;
//! without, it is a child subreaper, so that whatever is orphaned below it becomes its child and can be listed and killed until
//! none is left. (Making the host itself a subreaper would make it the parent of strangers, among many threads that wait for
//! children of their own.) It is a fork that never execs: no second binary, nothing to find on disk. It holds one descriptor, the
//! link to the host; when the host closes it, or dies in any way, the tree dies with it.
//!
//! Protocol on the link. Host to supervisor: [`STOP`] = end it with a short grace; end of file = kill all now.
//! Supervisor to host: one [`Report`], when the program has ended.

use super::sys::{self, Reaped};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub(super) const STOP: u8 = b's';
/// Between TERM and KILL after the time is up.
const TIMEOUT_GRACE_MS: i64 = 3_000;
/// Between TERM and KILL when the call is cancelled.
const STOP_GRACE_MS: i64 = 120;
/// What background processes have left after the program's end; the host ends them sooner.
const AFTERLIFE_MS: i64 = 150;
/// Rounds of killing, a millisecond each, before the supervisor gives up on a tree (a process stuck in the kernel).
const ROUNDS: u32 = 2_000;

/// Why the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Itself = 0,
    TimedOut = 1,
    Stopped = 2,
}

/// How a program ended: the reason and the raw wait status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub reason: Reason,
    pub status: c_int,
}

impl Report {
    pub(super) const SIZE: usize = 5;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let [a, b, c, d] = self.status.to_le_bytes();
        [self.reason as u8, a, b, c, d]
    }

    pub(super) fn from_bytes([reason, a, b, c, d]: [u8; Self::SIZE]) -> Self {
        let reason = match reason {
            1 => Reason::TimedOut,
            2 => Reason::Stopped,
            _ => Reason::Itself,
        };
        Self { reason, status: c_int::from_le_bytes([a, b, c, d]) }
    }
}

/// How far the supervisor's arm reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// It is process 1 of a namespace: `kill(-1)` is the tree.
    Namespace,
    /// It adopts orphans: its children, again and again, are the tree.
    Orphans,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// TERM was sent for this reason.
    Ending(Reason),
    /// The program has ended and was reported.
    Over,
}

struct Supervisor {
    program: libc::pid_t,
    link: RawFd,
    reach: Reach,
    phase: Phase,
    /// When the phase ends by itself.
    until: Option<i64>,
}

/// Does the whole work and ends the process. Signals are blocked already.
pub(super) fn supervise(program: libc::pid_t, link: RawFd, timeout_ms: Option<i64>) -> ! {
    // Looked up, never told: outside a namespace of its own a `kill(-1)` would end the person's session.
    let reach = if sys::is_first() { Reach::Namespace } else { Reach::Orphans };
    sys::close_all_but(link);
    let until = timeout_ms.map(|ms| sys::now_ms().saturating_add(ms));
    let mut supervisor = Supervisor { program, link, reach, phase: Phase::Running, until };
    if let Ok(ends) = sys::child_ends() {
        supervisor.watch(&ends);
    }
    supervisor.kill_tree();
    sys::exit(0)
}

impl Supervisor {
    /// Until nothing is left or everything is to be killed.
    fn watch(&mut self, ends: &OwnedFd) {
        while !self.reap() {
            let (ended, heard) = sys::poll_two(ends.as_raw_fd(), self.link, self.wait_ms());
            if ended {
                sys::read(ends.as_raw_fd(), &mut [0; 128]);
            }
            let go_on = if heard { self.obey() } else { self.look_at_clock() };
            if !go_on {
                return;
            }
        }
    }

    /// Takes in the ended; `true` when no child is left.
    fn reap(&mut self) -> bool {
        loop {
            match sys::reap() {
                Reaped::Ended { pid, status } if pid == self.program => self.report(status),
                Reaped::Ended { .. } => {}
                Reaped::NoneYet => return false,
                Reaped::NoChildren => return true,
            }
        }
    }

    fn report(&mut self, status: c_int) {
        let reason = match self.phase {
            Phase::Ending(reason) => reason,
            Phase::Running | Phase::Over => Reason::Itself,
        };
        sys::send(self.link, &Report { reason, status }.to_bytes());
        self.enter(Phase::Over, AFTERLIFE_MS);
    }

    fn enter(&mut self, phase: Phase, for_ms: i64) {
        self.phase = phase;
        self.until = Some(sys::now_ms().saturating_add(for_ms));
    }

    fn wait_ms(&self) -> c_int {
        let left = self.until.map(|until| until.saturating_sub(sys::now_ms()).max(0));
        left.map_or(-1, |ms| c_int::try_from(ms).unwrap_or(c_int::MAX))
    }

    /// A word from the host; `false` = kill all now.
    fn obey(&mut self) -> bool {
        let mut word = [0];
        if sys::read(self.link, &mut word) == 0 {
            return false;
        }
        if word == [STOP] && self.phase != Phase::Over {
            self.terminate(Reason::Stopped, STOP_GRACE_MS);
        }
        true
    }

    /// `false` = the grace is over.
    fn look_at_clock(&mut self) -> bool {
        if self.until.is_none_or(|until| sys::now_ms() < until) {
            return true;
        }
        if self.phase != Phase::Running {
            return false;
        }
        self.terminate(Reason::TimedOut, TIMEOUT_GRACE_MS);
        true
    }

    fn terminate(&mut self, reason: Reason, grace_ms: i64) {
        match self.reach {
            Reach::Namespace => sys::kill(-1, libc::SIGTERM),
            Reach::Orphans => sys::kill(-self.program, libc::SIGTERM),
        }
        self.enter(Phase::Ending(reason), grace_ms);
    }

    fn kill_tree(&mut self) {
        for _ in 0..ROUNDS {
            self.strike();
            if self.reap() {
                return;
            }
            sys::pause_ms(1);
        }
    }

    fn strike(&self) {
        match self.reach {
            Reach::Namespace => sys::kill(-1, libc::SIGKILL),
            Reach::Orphans => {
                if self.phase != Phase::Over {
                    sys::kill(-self.program, libc::SIGKILL);
                }
                for_each_child(|child| sys::kill(child, libc::SIGKILL));
            }
        }
    }
}

/// The kernel's own list of this process's children. Read in pieces: it may be longer than any buffer.
fn for_each_child(mut act: impl FnMut(libc::pid_t)) {
    let Ok(list) = sys::open(c"/proc/thread-self/children", libc::O_RDONLY) else { return };
    let (mut buffer, mut number) = ([0; 4096], 0);
    loop {
        let n = sys::read(list.as_raw_fd(), &mut buffer);
        for byte in buffer.iter().take(n) {
            number = next_number(number, *byte, &mut act);
        }
        if n == 0 {
            next_number(number, b' ', &mut act);
            return;
        }
    }
}

/// One more character of a list of numbers parted by blanks.
fn next_number(number: libc::pid_t, byte: u8, act: &mut impl FnMut(libc::pid_t)) -> libc::pid_t {
    if byte.is_ascii_digit() {
        return number.saturating_mul(10).saturating_add(libc::pid_t::from(byte - b'0'));
    }
    if number > 0 {
        act(number);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_crosses_the_link_unchanged() {
        for reason in [Reason::Itself, Reason::TimedOut, Reason::Stopped] {
            let report = Report { reason, status: 0x7f_02_00 };
            assert_eq!(Report::from_bytes(report.to_bytes()), report);
        }
    }

    #[test]
    fn numbers_are_read_one_character_at_a_time() {
        let mut seen = vec![];
        let mut number = 0;
        for byte in b"12 345  7 " {
            number = next_number(number, *byte, &mut |n| seen.push(n));
        }
        assert_eq!(seen, [12, 345, 7]);
    }
}
