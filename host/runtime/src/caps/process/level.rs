//! Which walls this machine has. Looked up once, when first needed.

use super::space;
use std::fmt;
use std::sync::OnceLock;

/// How well a program is held. Ordered: the stronger is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: a program may do what the user may.
    None,
    /// Some of Landlock (an older kernel) or seccomp alone: there are known ways around.
    Partial,
    /// Landlock with signal and socket scopes, and seccomp.
    Strong,
    /// As `Strong`, in namespaces of its own.
    Full,
}

impl Level {
    /// One word, for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Strong => "strong",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none (no Landlock and no seccomp: programs run unconfined)",
            Self::Partial => "partial (Landlock of an old kernel or seccomp alone)",
            Self::Strong => "strong (Landlock + seccomp)",
            Self::Full => "full (namespaces + Landlock + seccomp)",
        })
    }
}

/// The mechanisms themselves: every one that is there is used, whatever level they add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walls {
    /// Version of the kernel's Landlock, 0 = none.
    pub landlock: i32,
    pub seccomp: bool,
    pub namespaces: bool,
}

/// Landlock knows scopes for signals and abstract sockets from this version on.
const SCOPES: i32 = 6;

impl Walls {
    pub(super) fn level(self) -> Level {
        match (self.landlock, self.seccomp) {
            (SCOPES.., true) if self.namespaces => Level::Full,
            (SCOPES.., true) => Level::Strong,
            (..=0, false) => Level::None,
            _ => Level::Partial,
        }
    }
}

/// The level in force on this machine.
#[must_use]
pub fn detect() -> Level {
    walls().level()
}

pub(super) fn walls() -> Walls {
    static WALLS: OnceLock<Walls> = OnceLock::new();
    *WALLS.get_or_init(|| Walls { landlock: landlock_version(), seccomp: seccomp_works(), namespaces: space::works() })
}

fn landlock_version() -> i32 {
    const CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes, touches no memory and returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

fn seccomp_works() -> bool {
    let action: libc::c_uint = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one integer that outlives it and changes nothing.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0 && super::filter::KNOWN_MACHINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_what_the_walls_add_up_to() {
        let level = |landlock, seccomp, namespaces| Walls { landlock, seccomp, namespaces }.level();
        assert_eq!(level(7, true, true), Level::Full);
        assert_eq!(level(6, true, false), Level::Strong);
        assert_eq!(level(5, true, true), Level::Partial);
        assert_eq!(level(7, false, true), Level::Partial);
        assert_eq!(level(0, true, false), Level::Partial);
        assert_eq!(level(0, false, false), Level::None);
        assert!(Level::Full > Level::Strong && Level::Strong > Level::Partial && Level::Partial > Level::None);
    }
}
