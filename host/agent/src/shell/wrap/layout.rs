//! Where in the command line of a wrapper the program stands that it runs.

use super::super::word::Word;

/// How the command line of a wrapper is laid out.
pub(super) struct Layout {
    names: &'static [&'static str],
    /// As getopt writes it: `a` a switch, `a:` takes a value, `a::` takes one in its own word only.
    short: &'static str,
    /// In the same way, without the dashes, a blank between.
    long: &'static str,
    before: Before,
}

/// What stands between the flags and the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A word of any kind.
    Operand,
    /// A number; what is none may be the program.
    Number,
    /// The name of an architecture, before the flags, where there is one.
    Arch,
}

/// What a look for the program found.
pub(super) enum Found<'a> {
    Program(&'a [Word]),
    /// The wrapper runs nothing that the line names.
    Nothing,
    /// From here on any word may be the program.
    Unclear(&'a [Word]),
}

impl Layout {
    /// Whether it starts a shell where no program is named.
    pub(super) fn starts_shell(&self) -> bool {
        const NAMES: [&str; 9] =
            ["sudo", "doas", "chroot", "unshare", "nsenter", "setarch", "pkexec", "runuser", "fakeroot"];
        self.names.iter().any(|name| NAMES.contains(name))
    }
}

pub(super) fn of(name: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|l| l.names.contains(&name))
}

/// The words after a wrapper's flags, assignments and operands.
pub(super) fn find_program<'a>(layout: &Layout, arguments: &'a [Word]) -> Found<'a> {
    let mut before = layout.before;
    let mut has_flags = true;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.plain.as_str();
        if has_flags && text.starts_with('-') && text.len() > 1 {
            has_flags = text != "--";
            match width(layout, text) {
                Some(words) => at += words,
                None => return Found::Unclear(&arguments[at + 1..]),
            }
            continue;
        }
        match before {
            Before::Operand => before = Before::Nothing,
            Before::Number if text.starts_with(|c: char| c.is_ascii_digit()) => before = Before::Nothing,
            Before::Arch if at == 0 && ARCHES.contains(&text) => before = Before::Nothing,
            Before::Number => return Found::Unclear(&arguments[at..]),
            Before::Arch if at == 0 => return Found::Unclear(&arguments[at..]),
            _ if is_assignment(text) || text == "-" || text == "!" => {}
            // `sudo $FLAGS rm`: what cannot be known may be the program, or stand before it.
            _ if !word.is_known() => return Found::Unclear(&arguments[at..]),
            _ => return Found::Program(&arguments[at..]),
        }
        at += 1;
    }
    Found::Nothing
}

/// How many words a flag takes, itself among them; `None` if it is not known.
fn width(layout: &Layout, flag: &str) -> Option<usize> {
    let Some(long) = flag.strip_prefix("--") else { return short_width(layout.short, &flag[1..]) };
    if long.is_empty() {
        return Some(1);
    }
    let name = long.split('=').next().unwrap_or(long);
    let known = layout.long.split(' ').find(|known| known.trim_end_matches(':') == name)?;
    let takes_next = known.ends_with(':') && !known.ends_with("::") && !long.contains('=');
    Some(if takes_next { 2 } else { 1 })
}

fn short_width(known: &str, letters: &str) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        let after = &known[known.find(letter).filter(|_| letter != ':')? + 1..];
        if after.starts_with("::") {
            return Some(1);
        }
        if after.starts_with(':') {
            let has_value = at + letter.len_utf8() < letters.len();
            return Some(if has_value { 1 } else { 2 });
        }
    }
    Some(1)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

const ARCHES: &[&str] = &[
    "x86_64",
    "i386",
    "i486",
    "i586",
    "i686",
    "athlon",
    "linux32",
    "linux64",
    "uname26",
    "arm",
    "armv6l",
    "armv7l",
    "armv8l",
    "arm64",
    "aarch64",
    "ppc",
    "ppc32",
    "ppc64",
    "ppc64le",
    "s390",
    "s390x",
    "mips",
    "mips32",
    "mips64",
    "riscv32",
    "riscv64",
    "sparc",
    "sparc64",
    "ia64",
    "alpha",
    "loongarch64",
];

const fn layout(names: &'static [&'static str], short: &'static str, long: &'static str, before: Before) -> Layout {
    Layout { names, short, long, before }
}

const LAYOUTS: &[Layout] = &[
    layout(
        &["nohup", "builtin", "coproc", "busybox", "toybox", "rlwrap", "catchsegv", "winpty"],
        "",
        "",
        Before::Nothing,
    ),
    layout(&["setsid"], "cfw", "ctty fork wait", Before::Nothing),
    layout(&["caffeinate"], "dimsut:w:", "", Before::Nothing),
    layout(&["fakeroot"], "l:s:i:b:u", "lib: faked: unknown-is-real", Before::Nothing),
    layout(&["proxychains", "proxychains4"], "qf:", "", Before::Nothing),
    layout(&["torsocks"], "iqdu:p:a:P:", "isolate quiet debug user: pass: address: port:", Before::Nothing),
    layout(&["dbus-run-session"], "", "config-file: dbus-daemon:", Before::Nothing),
    layout(&["unbuffer"], "p", "", Before::Nothing),
    layout(
        &["env"],
        "i0vu:C:a:P:S:",
        "ignore-environment null debug unset: chdir: argv0: split-string: block-signal:: default-signal:: \
         ignore-signal:: list-signal-handling",
        Before::Nothing,
    ),
    layout(
        &["sudo"],
        "ABbEeHiKklnNPSsVvC:c:D:g:h:p:R:r:T:t:U:u:a:",
        "askpass bell background edit preserve-env:: set-home login shell non-interactive preserve-groups stdin \
         reset-timestamp remove-timestamp list validate no-update user: group: host: prompt: chdir: chroot: \
         close-from: command-timeout: role: type: other-user: auth-type: login-class:",
        Before::Nothing,
    ),
    layout(&["doas"], "Lnsu:C:a:", "", Before::Nothing),
    layout(&["su-exec", "gosu"], "", "", Before::Operand),
    layout(
        &["xargs"],
        "0prtxoa:d:e::E:i::I:J:l::L:n:P:R:s:S:",
        "null arg-file: delimiter: eof:: replace:: max-lines:: max-args: max-procs: max-chars: interactive \
         no-run-if-empty verbose exit show-limits open-tty process-slot-var:",
        Before::Nothing,
    ),
    layout(&["nice"], "0123456789n:", "adjustment:", Before::Nothing),
    layout(&["ionice"], "tc:n:p:P:u:", "class: classdata: ignore pid: pgid: uid:", Before::Nothing),
    layout(
        &["timeout", "gtimeout"],
        "vfps:k:",
        "verbose foreground preserve-status signal: kill-after:",
        Before::Operand,
    ),
    layout(&["time", "gtime"], "alpqvo:f:", "append portability quiet verbose output: format:", Before::Nothing),
    layout(&["command"], "pvV", "", Before::Nothing),
    layout(&["exec"], "cla:", "", Before::Nothing),
    layout(&["stdbuf"], "i:o:e:", "input: output: error:", Before::Nothing),
    layout(&["chroot"], "nu:g:G:", "userspec: groups: skip-chdir", Before::Operand),
    layout(
        &["watch"],
        "bcCegtpxwrd::n:q:s:",
        "interval: differences:: beep errexit chgexit color no-color no-title precise exec no-wrap no-rerun equexit: \
         shotsdir:",
        Before::Nothing,
    ),
    layout(
        &["strace"],
        "ACDFTYZcdfhikqnrtvVwxyza:b:e:E:I:o:O:p:P:s:S:u:U:X:",
        "output: trace: attach: env: user: string-limit: columns: trace-path: interruptible: detach-on: follow-forks \
         output-separately output-append-mode summary summary-only seccomp-bpf failed-only successful-only no-abbrev \
         absolute-timestamps:: relative-timestamps:: syscall-times:: strings-in-hex:: decode-fds:: quiet:: silent:: \
         silence:: instruction-pointer debug kill-on-exit",
        Before::Nothing,
    ),
    layout(&["ltrace"], "bcCfiLrStTa:A:D:e:F:l:n:o:p:s:u:w:x:", "output:", Before::Nothing),
    layout(
        &["flock"],
        "sxeunoFw:E:c:",
        "shared exclusive unlock nonblock nb no-fork close verbose timeout: wait: conflict-exit-code: command:",
        Before::Operand,
    ),
    layout(&["taskset"], "apc", "all-tasks pid cpu-list", Before::Operand),
    layout(
        &["chrt"],
        "abdfiomprvRT:P:D:",
        "all-tasks batch deadline fifo idle other rr reset-on-fork max pid verbose sched-runtime: sched-period: \
         sched-deadline:",
        Before::Number,
    ),
    layout(
        &["unshare"],
        "imnpuUCTfrcw:S:G:R:l:",
        "mount:: uts:: ipc:: net:: pid:: user:: cgroup:: time:: fork map-root-user map-current-user map-auto map-user: \
         map-group: map-users: map-groups: mount-proc:: kill-child:: root: wd: setuid: setgid: propagation: \
         setgroups: keep-caps monotonic: boottime: load-interp:",
        Before::Nothing,
    ),
    layout(
        &["nsenter"],
        "aeFcZt:m::u::i::n::p::U::C::T::r::w::S:G:W:N:",
        "all target: mount:: uts:: ipc:: net:: pid:: user:: cgroup:: time:: setuid: setgid: root:: wd:: wdns: env \
         no-fork preserve-credentials keep-caps follow-context join-cgroup user-parent net-socket:",
        Before::Nothing,
    ),
    layout(
        &["setarch"],
        "BFILRSTXZv3",
        "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds sticky-timeouts \
         read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose",
        Before::Arch,
    ),
    layout(
        &["linux32", "linux64", "i386", "x86_64", "uname26"],
        "BFILRSTXZv3",
        "32bit addr-compat-layout addr-no-randomize 3gb uname-2.6 verbose",
        Before::Nothing,
    ),
    layout(
        &["setpriv"],
        "d",
        "dump nnp no-new-privs ambient-caps: inh-caps: bounding-set: ruid: euid: rgid: egid: reuid: regid: \
         clear-groups keep-groups init-groups groups: list-caps securebits: pdeathsig: ptracer: selinux-label: \
         apparmor-profile: landlock-access: landlock-rule: seccomp-filter: reset-env",
        Before::Nothing,
    ),
    layout(
        &["numactl"],
        "alHsbi:w:N:C:m:p:P:",
        "all localalloc hardware show balancing interleave: weighted-interleave: cpunodebind: physcpubind: membind: \
         preferred: preferred-many:",
        Before::Nothing,
    ),
    layout(&["firejail"], "", "quiet noprofile noroot private:: profile:: net::", Before::Nothing),
    layout(
        &["systemd-run"],
        "dqGtPSrH:M:u:p:E:C:",
        "unit: property: description: slice: slice-inherit expand-environment: no-block remain-after-exit send-sighup \
         service-type: uid: gid: nice: working-directory: same-dir setenv: pty pipe quiet collect no-ask-password user \
         system scope host: machine: capsule: shell wait background: ignore-failure job-mode: on-active: on-boot: \
         on-startup: on-unit-active: on-unit-inactive: on-calendar: on-clock-change on-timezone-change \
         timer-property: path-property: socket-property:",
        Before::Nothing,
    ),
    layout(&["pkexec"], "u:", "user: disable-internal-agent keep-cwd", Before::Nothing),
    layout(
        &["prlimit"],
        "c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::o:p:",
        "core:: data:: nice:: fsize:: sigpending:: memlock:: rss:: nofile:: msgqueue:: rtprio:: stack:: cpu:: nproc:: \
         as:: locks:: rttime:: pid: output: noheadings raw verbose",
        Before::Nothing,
    ),
    layout(
        &["runuser"],
        "lmpfPTu:g:G:c:s:w:",
        "user: group: supp-group: preserve-environment login fast pty no-pty shell: whitelist-environment: command: \
         session-command:",
        Before::Nothing,
    ),
    layout(
        &["parallel"],
        "0kmqrtuvxXj:S:I:n:N:a:P:L:",
        "jobs: arg-file: keep-order halt: delay: timeout: colsep: ungroup group line-buffer bar dry-run will-cite eta \
         progress results: joblog: retries: pipe block: null delimiter: tag quote sshlogin: max-procs: max-args: \
         max-replace-args: verbose",
        Before::Nothing,
    ),
];
