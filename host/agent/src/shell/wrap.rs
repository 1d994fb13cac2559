//! Programs that run other programs: what they run is a sub-command of its own.

use super::arity::base;
use super::word::Word;

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Another program with its arguments.
    Words(Vec<Word>),
    /// A shell line. `known` if this is the whole of it.
    Line { text: String, known: bool },
    /// A shell that reads its line from its input.
    Input,
    /// Something that the text does not tell.
    Unknown,
}

/// How the command line of a wrapper is laid out.
struct Layout {
    names: &'static [&'static str],
    /// Flags that take the next word.
    valued: &'static [&'static str],
    /// Words before the program.
    operands: usize,
}

const fn layout(names: &'static [&'static str], valued: &'static [&'static str], operands: usize) -> Layout {
    Layout { names, valued, operands }
}

const WRAPPERS: &[Layout] = &[
    layout(
        &[
            "nohup",
            "setsid",
            "builtin",
            "coproc",
            "caffeinate",
            "fakeroot",
            "proxychains",
            "proxychains4",
            "busybox",
            "toybox",
        ],
        &[],
        0,
    ),
    layout(&["torsocks", "rlwrap", "catchsegv", "winpty", "dbus-run-session", "unbuffer"], &[], 0),
    layout(&["env"], &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], 0),
    layout(
        &["sudo"],
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group", "--host",
            "--prompt", "--chdir",
        ],
        0,
    ),
    layout(&["doas", "su-exec", "gosu"], &["-u", "-C"], 0),
    layout(
        &["xargs"],
        &[
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "-E",
            "-d",
            "-a",
            "--max-args",
            "--max-procs",
            "--replace",
            "--delimiter",
            "--arg-file",
            "--max-lines",
            "--max-chars",
        ],
        0,
    ),
    layout(&["nice"], &["-n", "--adjustment"], 0),
    layout(&["ionice"], &["-c", "-n", "--class", "--classdata"], 0),
    layout(&["timeout", "gtimeout"], &["-s", "-k", "--signal", "--kill-after"], 1),
    layout(&["time", "gtime"], &["-o", "-f", "--output", "--format"], 0),
    layout(&["command"], &[], 0),
    layout(&["exec"], &["-a"], 0),
    layout(&["stdbuf"], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    layout(&["chroot"], &[], 1),
    layout(&["watch"], &["-n", "--interval", "-s", "--shotsdir"], 0),
    layout(&["strace", "ltrace"], &["-o", "-e", "-p", "-s", "-E", "-u", "-a", "-P"], 0),
    layout(&["flock"], &["-w", "--timeout", "-E"], 1),
    layout(&["taskset", "chrt"], &[], 1),
    layout(
        &["unshare", "nsenter", "setarch", "setpriv", "numactl", "firejail", "systemd-run"],
        &["-t", "-p", "-u", "-M"],
        0,
    ),
    layout(&["parallel"], &["-j", "--jobs", "-S", "-I", "-n", "-N", "-a"], 0),
];

const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"];

/// Whether the program runs what it is told to run.
pub(super) fn runs_others(name: &str) -> bool {
    let name = base(name);
    wrapper(name).is_some()
        || SHELLS.contains(&name)
        || matches!(name, "eval" | "trap" | "find" | "fd" | "su" | "script")
}

fn wrapper(name: &str) -> Option<&'static Layout> {
    WRAPPERS.iter().find(|w| w.names.contains(&name))
}

/// What `words` (a name and its arguments) runs besides itself.
pub(super) fn inner(words: &[Word]) -> Vec<Inner> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base(&name.plain);
    match name {
        _ if SHELLS.contains(&name) => shell(arguments).into_iter().collect(),
        "eval" => vec![line(arguments)],
        "trap" => {
            arguments.first().filter(|w| w.plain != "-").map(|w| line(std::slice::from_ref(w))).into_iter().collect()
        }
        // A script that is no file of its own.
        "source" | "." => arguments
            .first()
            .filter(|w| !w.is_known() || w.plain.starts_with("<(") || w.plain.starts_with("/dev/"))
            .map(|_| Inner::Unknown)
            .into_iter()
            .collect(),
        "alias" if arguments.iter().any(|w| w.plain.contains('=')) => vec![Inner::Unknown],
        "find" | "fd" | "fdfind" => executed(arguments),
        "git" => git(words),
        "su" | "runuser" | "script" => flagged(arguments, &["-c", "--command"]),
        "env" if arguments.iter().any(splits) => split(arguments),
        "command" if arguments.first().is_some_and(|w| w.plain == "-v" || w.plain == "-V") => Vec::new(),
        "flock" if arguments.iter().any(|w| w.plain == "-c" || w.plain == "--command") => {
            flagged(arguments, &["-c", "--command"])
        }
        "watch" | "parallel" => {
            wrapped(name, arguments).into_iter().flat_map(|w| [Inner::Words(w.to_vec()), line(w)]).collect()
        }
        _ => wrapped(name, arguments).map(|w| Inner::Words(w.to_vec())).into_iter().collect(),
    }
}

/// The words after a wrapper's flags, assignments and operands.
fn wrapped<'a>(name: &str, arguments: &'a [Word]) -> Option<&'a [Word]> {
    let layout = wrapper(name)?;
    let mut operands = layout.operands;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.plain.as_str();
        if text.starts_with('-') && text.len() > 1 {
            at += if layout.valued.contains(&text) { 2 } else { 1 };
        } else if is_assignment(text) || text == "-" || text == "!" {
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    arguments.get(at..).filter(|rest| !rest.is_empty())
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn line(words: &[Word]) -> Inner {
    let text = words.iter().map(|w| w.plain.as_str()).collect::<Vec<_>>().join(" ");
    Inner::Line { text, known: words.iter().all(Word::is_known) }
}

/// `sh -c TEXT`, `sh SCRIPT`, or a shell that reads its input.
fn shell(arguments: &[Word]) -> Option<Inner> {
    let mut takes_line = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.plain.as_str();
        match text {
            "-o" | "-O" | "+o" | "+O" | "--rcfile" | "--init-file" => drop(rest.next()),
            "--command" => takes_line = true,
            "--version" | "--help" => return None,
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                takes_line |= !text.starts_with("--") && text.contains('c');
            }
            _ if takes_line => return Some(line(std::slice::from_ref(word))),
            "-" => return Some(Inner::Input),
            _ if word.is_known() && !text.starts_with("/dev/") => return None,
            _ => return Some(Inner::Unknown),
        }
    }
    Some(if takes_line { Inner::Unknown } else { Inner::Input })
}

/// `find … -exec PROGRAM … ;`, as often as it is there.
fn executed(arguments: &[Word]) -> Vec<Inner> {
    const FLAGS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"];
    let starts = arguments.iter().enumerate().filter(|(_, w)| FLAGS.contains(&w.plain.as_str())).map(|(i, _)| i + 1);
    starts
        .filter_map(|start| {
            let rest = arguments.get(start..)?;
            let end = rest.iter().position(|w| w.plain == ";" || w.plain == "+").unwrap_or(rest.len());
            (end > 0).then(|| Inner::Words(rest[..end].to_vec()))
        })
        .collect()
}

/// The lines that the named flags hold.
fn flagged(arguments: &[Word], flags: &[&str]) -> Vec<Inner> {
    let pairs = arguments.iter().zip(arguments.iter().skip(1));
    pairs
        .filter(|(flag, _)| flags.contains(&flag.plain.as_str()))
        .map(|(_, text)| line(std::slice::from_ref(text)))
        .collect()
}

fn splits(word: &Word) -> bool {
    let is_short = word.plain.starts_with('-') && !word.plain.starts_with("--") && word.plain.contains('S');
    is_short || word.plain.starts_with("--split-string")
}

/// `env -S 'PROGRAM ARGUMENTS'`.
fn split(arguments: &[Word]) -> Vec<Inner> {
    let Some(at) = arguments.iter().position(splits) else { return Vec::new() };
    let flag = arguments[at].plain.as_str();
    let attached = flag.split_once('S').or_else(|| flag.split_once('=')).map_or("", |(_, t)| t);
    let attached = if flag.starts_with("--") { flag.split_once('=').map_or("", |(_, t)| t) } else { attached };
    let rest = arguments[at + 1..].iter().map(|w| w.plain.as_str());
    let text = std::iter::once(attached).chain(rest).collect::<Vec<_>>().join(" ");
    vec![Inner::Line { text, known: arguments.iter().all(Word::is_known) }]
}

/// `git -C DIR status` is `git status` elsewhere; settings on the command line can run anything.
fn git(words: &[Word]) -> Vec<Inner> {
    const VALUED: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
    let mut found = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|w| w.plain.starts_with('-')) {
        let flag = word.plain.split_once('=').map_or(word.plain.as_str(), |(f, _)| f);
        if matches!(flag, "-c" | "--exec-path" | "--config-env") {
            found.push(Inner::Unknown);
        }
        at += if VALUED.contains(&word.plain.as_str()) { 2 } else { 1 };
    }
    if at > 1 && at < words.len() {
        found.push(Inner::Words(words[..1].iter().chain(&words[at..]).cloned().collect()));
    }
    found
}
