//! Programs that run other programs: what they run is a sub-command of its own.

use super::arity::base;
use super::word::Word;

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Another program with its arguments.
    Words(Vec<Word>),
    /// Words that may be a program with its arguments, or may be something else.
    Candidate(Vec<Word>),
    /// A shell line. `known` if this is the whole of it.
    Line { text: String, known: bool },
    /// A shell that reads its line from its input.
    Input,
    /// Something that the text does not tell.
    Unknown,
}

mod layout;

use layout::{Found, find_program};

/// More words are not tried one by one: a person would not read them either.
const MOST_CANDIDATES: usize = 128;

const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"];

/// Whether the program runs what it is told to run.
pub(super) fn runs_others(name: &str) -> bool {
    let name = base(name);
    layout::of(name).is_some()
        || SHELLS.contains(&name)
        || matches!(name, "eval" | "trap" | "find" | "fd" | "fdfind" | "su" | "script")
}

/// What `words` (a name and its arguments) runs besides itself.
pub(super) fn inner(words: &[Word]) -> Vec<Inner> {
    let Some((name, arguments)) = words.split_first() else { return Vec::new() };
    let name = base(&name.plain);
    match name {
        _ if SHELLS.contains(&name) => shell(name, arguments),
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
        "find" => executed(arguments),
        "fd" | "fdfind" => executed_by_fd(arguments),
        "git" => git(words),
        "runuser" if arguments.iter().any(|w| names_user(&w.plain)) => wrapped(name, arguments),
        "su" | "runuser" => or_else(lines_of_flag(arguments), || vec![Inner::Input]),
        "script" => or_else(lines_of_flag(arguments), || unclear(arguments)),
        "env" if arguments.iter().any(splits) => split(arguments).into_iter().chain(wrapped(name, arguments)).collect(),
        "command" if arguments.first().is_some_and(|w| w.plain == "-v" || w.plain == "-V") => Vec::new(),
        "flock" => lines_of_flag(arguments).into_iter().chain(wrapped(name, arguments)).collect(),
        "watch" | "parallel" => wrapped(name, arguments).into_iter().flat_map(also_as_line).collect(),
        _ => wrapped(name, arguments),
    }
}

/// What a wrapper runs, by its layout.
fn wrapped(name: &str, arguments: &[Word]) -> Vec<Inner> {
    let Some(layout) = layout::of(name) else { return Vec::new() };
    match find_program(layout, arguments) {
        Found::Program(words) => vec![Inner::Words(words.to_vec())],
        Found::Nothing if layout.starts_shell() => vec![Inner::Input],
        Found::Nothing => Vec::new(),
        Found::Unclear(rest) => unclear(rest),
    }
}

/// Nobody knows which of these words is the program: each is judged as if it were, and the line is asked for.
fn unclear(rest: &[Word]) -> Vec<Inner> {
    let mut found = vec![Inner::Unknown];
    if rest.len() <= MOST_CANDIDATES {
        let starts = (0..rest.len()).filter(|at| !rest[*at].plain.starts_with('-'));
        found.extend(starts.map(|at| Inner::Candidate(rest[at..].to_vec())));
    }
    found
}

/// Some programs join their arguments to a shell line.
fn also_as_line(inner: Inner) -> Vec<Inner> {
    let joined = match &inner {
        Inner::Words(words) | Inner::Candidate(words) => Some(line(words)),
        _ => None,
    };
    std::iter::once(inner).chain(joined).collect()
}

fn or_else(found: Vec<Inner>, other: impl FnOnce() -> Vec<Inner>) -> Vec<Inner> {
    if found.is_empty() { other() } else { found }
}

fn names_user(flag: &str) -> bool {
    is_cluster(flag) && flag.contains('u') || flag.starts_with("--u")
}

/// Short flags, one or several in a word.
fn is_cluster(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && !text.starts_with("--")
}

/// The end of a word as a word of its own.
fn tail(word: &Word, at: usize) -> Word {
    let plain = word.plain.get(at..).unwrap_or_default().to_owned();
    let source = if word.is_known() { super::quoted(&plain) } else { plain.clone() };
    Word { source, plain, fixed: word.fixed.saturating_sub(at), ..word.clone() }
}

fn line(words: &[Word]) -> Inner {
    let text = words.iter().map(|w| w.plain.as_str()).collect::<Vec<_>>().join(" ");
    Inner::Line { text, known: words.iter().all(Word::is_known) }
}

/// `sh -c TEXT`, `sh SCRIPT`, or a shell that reads its input.
fn shell(name: &str, arguments: &[Word]) -> Vec<Inner> {
    let (mut takes_line, mut reads_input) = (false, false);
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.plain.as_str();
        at += 1;
        match shell_flag(name, text) {
            ShellFlag::None => return run_by_shell(word, takes_line, reads_input),
            ShellFlag::Leaves => return Vec::new(),
            ShellFlag::Ends => break,
            ShellFlag::Valued => at += 1,
            ShellFlag::Letters(letters) => {
                takes_line |= text.starts_with('-') && letters.contains('c');
                reads_input |= text.starts_with('-') && letters.contains('s');
                at += usize::from(letters.ends_with(['o', 'O']));
            }
            ShellFlag::Line => takes_line = true,
            ShellFlag::Plain => {}
            ShellFlag::Unknown => return any_line(&arguments[at..]),
        }
    }
    match arguments.get(at) {
        Some(word) => run_by_shell(word, takes_line, reads_input),
        None if takes_line => vec![Inner::Unknown],
        None => vec![Inner::Input],
    }
}

/// What one word says to a shell.
enum ShellFlag<'a> {
    /// No flag at all.
    None,
    /// It only shows something.
    Leaves,
    /// The last of the flags.
    Ends,
    /// The next word belongs to it.
    Valued,
    Letters(&'a str),
    /// A line follows.
    Line,
    Plain,
    Unknown,
}

fn shell_flag<'a>(name: &str, text: &'a str) -> ShellFlag<'a> {
    match text {
        "--version" | "--help" => ShellFlag::Leaves,
        "-" | "--" => ShellFlag::Ends,
        "--command" => ShellFlag::Line,
        "--rcfile" | "--init-file" => ShellFlag::Valued,
        "--login" | "--norc" | "--noprofile" | "--posix" | "--verbose" | "--restricted" | "--no-config" => {
            ShellFlag::Plain
        }
        _ if text.starts_with("--") => ShellFlag::Unknown,
        _ if text.len() > 1 && text.starts_with(['-', '+']) => letters(name, &text[1..]),
        _ => ShellFlag::None,
    }
}

/// `-o` takes the next word in one shell and the rest of its own in another; fish has letters of its own.
fn letters<'a>(name: &str, letters: &'a str) -> ShellFlag<'a> {
    let is_odd = match name {
        "fish" => !letters.chars().all(|c| "cilN".contains(c)),
        _ => letters.find(['o', 'O']).is_some_and(|at| at + 1 < letters.len()),
    };
    if is_odd { ShellFlag::Unknown } else { ShellFlag::Letters(letters) }
}

/// The first word of a shell that is no flag.
fn run_by_shell(word: &Word, takes_line: bool, reads_input: bool) -> Vec<Inner> {
    if takes_line {
        return vec![line(std::slice::from_ref(word))];
    }
    if reads_input {
        return vec![Inner::Input];
    }
    let is_file = word.is_known() && !word.plain.starts_with("/dev/") && !word.plain.starts_with("/proc/");
    if is_file { Vec::new() } else { vec![Inner::Unknown] }
}

/// Any of these words may be the line that a shell runs.
fn any_line(rest: &[Word]) -> Vec<Inner> {
    let lines = rest.iter().filter(|w| !w.plain.starts_with('-')).take(MOST_CANDIDATES);
    std::iter::once(Inner::Unknown).chain(lines.map(|w| line(std::slice::from_ref(w)))).collect()
}

/// `find … -exec PROGRAM … ;`, as often as it is there.
fn executed(arguments: &[Word]) -> Vec<Inner> {
    const FLAGS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    let starts = arguments.iter().enumerate().filter(|(_, w)| FLAGS.contains(&w.plain.as_str())).map(|(i, _)| i + 1);
    starts
        .filter_map(|start| {
            let rest = arguments.get(start..)?;
            // A `+` ends it only after `{}`.
            let ends = |i: usize| rest[i].plain == ";" || (rest[i].plain == "+" && i > 0 && rest[i - 1].plain == "{}");
            let end = (0..rest.len()).find(|i| ends(*i)).unwrap_or(rest.len());
            (end > 0).then(|| Inner::Words(rest[..end].to_vec()))
        })
        .collect()
}

/// `fd … -x PROGRAM … ;`, the program in the flag's own word or in the next.
fn executed_by_fd(arguments: &[Word]) -> Vec<Inner> {
    let programs = arguments.iter().enumerate().filter_map(|(i, flag)| {
        let at = attached(&flag.plain)?;
        let first = (at < flag.plain.len()).then(|| tail(flag, at));
        let rest = arguments[i + 1..].iter().take_while(|w| w.plain != ";").cloned();
        let words: Vec<Word> = first.into_iter().chain(rest).collect();
        (!words.is_empty()).then_some(Inner::Words(words))
    });
    programs.collect()
}

/// Where in the word of a flag of fd that runs something the program begins.
fn attached(flag: &str) -> Option<usize> {
    if let Some(long) = ["--exec", "--exec-batch"].into_iter().find(|l| flag.split('=').next() == Some(*l)) {
        return Some((long.len() + 1).min(flag.len()));
    }
    let runs = is_cluster(flag).then(|| flag.find(['x', 'X'])).flatten()?;
    let has_value = flag[..runs].contains(['d', 't', 'e', 'E', 'S', 'o', 'c', 'j', 'C']);
    (!has_value).then_some(runs + 1)
}

/// The lines of `-c LINE`, `-lc LINE`, `-cLINE`, `--command LINE` and `--command=LINE`.
fn lines_of_flag(arguments: &[Word]) -> Vec<Inner> {
    let is_long = |name: &str| {
        name.len() > 2 && ["--command", "--session-command"].into_iter().any(|long| long.starts_with(name))
    };
    let lines = arguments.iter().enumerate().filter_map(|(i, flag)| {
        let text = flag.plain.as_str();
        let at = match text.split_once('=') {
            Some((name, _)) if is_long(name) => name.len() + 1,
            None if is_long(text) => text.len(),
            _ if is_cluster(text) => text.find('c')? + 1,
            _ => return None,
        };
        let held = if at < text.len() { Some(tail(flag, at)) } else { arguments.get(i + 1).cloned() };
        held.map(|word| line(std::slice::from_ref(&word)))
    });
    lines.collect()
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
