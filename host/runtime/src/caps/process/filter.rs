//! System calls that no program of a tool needs: two seccomp programs, built before the fork.
//!
//! A refused call answers `EPERM`, so that a program can say what failed. `clone3` answers `ENOSYS`: its flags lie in memory where
//! a filter cannot look, and every C library then falls back to `clone`, whose flags are checked.

use super::SpawnError;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether system call numbers of this machine are known to the filter.
pub(super) const KNOWN_MACHINE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Looking into or steering other processes, mounting, kernel memory and modules, keys, other namespaces, and kernel interfaces
/// that do system calls on somebody's behalf (`io_uring`) or were a way out before (`userfaultfd`, `bpf`, `perf_event_open`).
const NEVER: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

const NEW_NAMESPACE: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The programs in the order in which they are to be installed.
/// `network`: sockets of the internet are let through.
pub(super) fn programs(network: bool) -> Result<Vec<BpfProgram>, SpawnError> {
    let build = || Ok(vec![compiled(refused(network)?, libc::EPERM)?, compiled(unknown(), libc::ENOSYS)?]);
    build().map_err(|e: seccompiler::BackendError| SpawnError::Failed(format!("the system call filter: {e}")))
}

fn refused(network: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = NEVER.iter().map(|number| (*number, vec![])).collect();
    rules.insert(libc::SYS_socket, vec![none_of(0, families(network))?]);
    rules.insert(libc::SYS_ioctl, vec![when(1, SeccompCmpOp::Eq, TIOCSTI)?, when(1, SeccompCmpOp::Eq, TIOCLINUX)?]);
    let namespaces = NEW_NAMESPACE.iter().map(|flag| when(0, SeccompCmpOp::MaskedEq(bits(*flag)), *flag));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    Ok(with_x32(rules))
}

/// Kinds of sockets that may be made. Looking up a name asks the kernel for its addresses over netlink.
fn families(network: bool) -> &'static [libc::c_int] {
    if network { &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] } else { &[libc::AF_UNIX] }
}

fn unknown() -> Rules {
    with_x32(BTreeMap::from([(libc::SYS_clone3, vec![])]))
}

/// Putting characters into a terminal's input.
const TIOCSTI: libc::c_int = 0x5412;
const TIOCLINUX: libc::c_int = 0x541c;

fn when(argument: u8, op: SeccompCmpOp, value: libc::c_int) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, bits(value))?])
}

/// Fits where the argument is none of these.
fn none_of(argument: u8, values: &[libc::c_int]) -> Result<SeccompRule, seccompiler::BackendError> {
    let other = |v: &libc::c_int| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, bits(*v));
    SeccompRule::new(values.iter().map(other).collect::<Result<_, _>>()?)
}

fn bits(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

/// On x86-64 a kernel may take the same calls a second time, under numbers with this bit.
fn with_x32(mut rules: Rules) -> Rules {
    const X32: i64 = 0x4000_0000;
    if cfg!(target_arch = "x86_64") {
        let twins: Vec<_> = rules.iter().map(|(number, rule)| (number | X32, rule.clone())).collect();
        rules.extend(twins);
    }
    rules
}

fn compiled(rules: Rules, errno: libc::c_int) -> Result<BpfProgram, seccompiler::BackendError> {
    let errno = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, target()?)?.try_into()
}

fn target() -> Result<TargetArch, seccompiler::BackendError> {
    std::env::consts::ARCH.try_into()
}
