//! The walk over the syntax tree: every command wherever it stands, every redirection, every change of directory.

use super::paths::{self, Named, Names, Place};
use super::word::{self, Word};
use super::wrap::{self, Inner};
use super::{Command, MOST_COMMANDS, Scan, arity};
use std::ops::Range;
use std::path::PathBuf;
use tree_sitter::{Node, Parser, Tree};

/// How deep lines may lie in lines (`sh -c "sh -c …"`, `sudo env nice …`).
const DEEPEST_LINE: usize = 8;
/// How deep the tree may be: the walk is recursive.
const DEEPEST_NODE: usize = 200;
/// How many programs are looked at.
const MOST_LOOKS: usize = 1024;
/// How many directories a line may be in at once, as far as we know.
const MOST_PLACES: usize = 16;

/// A parser of its own for each line: the grammar's scanner keeps open heredocs of the line before.
fn parse(line: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(in_ascii(line), None)
}

/// The line with every byte beyond ASCII replaced by one that makes a word, but no name of a variable: the grammar's scanner
/// looks such characters up beyond the end of C's tables, and would take the process with it. Positions stay as they are.
fn in_ascii(line: &str) -> Vec<u8> {
    line.bytes().map(|b| if b.is_ascii() { b } else { b'%' }).collect()
}

pub(super) struct Walk {
    place: Place,
    /// Where the line may be at this point: a `cd` may have failed, so both places count.
    cwds: Vec<PathBuf>,
    out: Scan,
    depth: usize,
    /// Within words that only may be a program.
    guesses: usize,
    /// Programs looked at so far, those seen before among them: candidates within candidates would have no end.
    looked_at: usize,
}

impl Walk {
    pub fn new(place: Place, cwd: PathBuf) -> Self {
        Self { place, cwds: vec![cwd], out: Scan::default(), depth: 0, guesses: 0, looked_at: 0 }
    }

    pub fn finish(self) -> Scan {
        self.out
    }

    /// Takes one line apart; called again for lines inside of it.
    pub fn line(&mut self, line: &str) {
        // Bash and the parser disagree on what such characters part.
        let odd = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || (c.is_whitespace() && !c.is_ascii());
        self.out.opaque |= self.depth > DEEPEST_LINE || line.chars().any(odd);
        if self.depth > DEEPEST_LINE {
            return;
        }
        let Some(tree) = parse(line) else { return self.out.opaque = true };
        Line { walk: self, source: line }.visit(tree.root_node(), 0);
        if tree.root_node().has_error() {
            self.out.opaque = true;
            self.pieces(line);
        }
    }

    /// What the grammar cannot read, bash may: whatever could begin a command is one that only may be a program, so that a rule
    /// that forbids it is heard. The line asks in any case.
    fn pieces(&mut self, line: &str) {
        self.guesses += 1;
        for piece in line.split(['\n', ';', '&', '|', '(', ')', '{', '}', '`']) {
            let words: Vec<Word> = piece.split_whitespace().map(|w| self.read(w)).collect();
            self.command(&words, &[]);
        }
        self.guesses -= 1;
    }

    fn nested(&mut self, line: &str) {
        self.depth += 1;
        self.line(line);
        self.depth -= 1;
    }

    fn push(&mut self, command: Command) {
        if self.out.commands.len() >= MOST_COMMANDS {
            self.out.opaque = true;
        } else if !self.out.commands.contains(&command) {
            self.out.commands.push(command);
        }
    }

    fn read(&self, source: &str) -> Word {
        let cwd = (self.cwds.len() == 1).then(|| self.cwds[0].as_path());
        word::read(source, self.place.home.as_deref(), cwd)
    }

    /// Judges one program with its arguments; `input` is what is known to be on its standard input.
    fn command(&mut self, words: &[Word], input: &[String]) {
        let Some(name) = words.first() else { return };
        self.looked_at += 1;
        if self.looked_at > MOST_LOOKS {
            return self.out.opaque = true;
        }
        // `! { rm x; }`: the grammar takes some keywords for programs; what follows is a line of its own.
        if let Some(leads) = keyword(&name.source) {
            self.out.opaque |= leads == Leads::Elsewhere;
            let rest: Vec<&str> = words[1..].iter().map(|w| w.source.as_str()).collect();
            return self.nested(&rest.join(" "));
        }
        self.out.opaque |= !name.is_known();
        self.paths(words);
        if self.is_cd(words) {
            return self.change_directory(words);
        }
        let text = text(words);
        let is_exact = self.guesses > 0 || wrap::runs_others(&name.plain);
        let always = arity::always(words, &text, is_exact);
        self.push(Command { text, always, words: words.iter().map(|w| w.plain.clone()).collect() });
        if arity::base(&name.plain) == "tee" {
            words[1..].iter().filter(|w| !w.plain.starts_with('-')).for_each(|w| self.write(w));
        }
        self.depth += 1;
        for inner in wrap::inner(words) {
            self.inner(inner, input);
        }
        self.depth -= 1;
    }

    fn inner(&mut self, inner: Inner, input: &[String]) {
        match inner {
            _ if self.depth > DEEPEST_LINE => self.out.opaque = true,
            Inner::Words(words) => self.command(&words, input),
            Inner::Candidate(words) => {
                self.guesses += 1;
                self.command(&words, input);
                self.guesses -= 1;
            }
            Inner::Line { text, known } => {
                self.out.opaque |= !known;
                self.nested(&text);
            }
            Inner::Input if !input.is_empty() => input.iter().for_each(|text| self.nested(text)),
            Inner::Input | Inner::Unknown => self.out.opaque = true,
        }
    }

    fn is_cd(&self, words: &[Word]) -> bool {
        words[0].is_known() && matches!(words[0].plain.as_str(), "cd" | "chdir" | "pushd" | "popd")
    }

    fn change_directory(&mut self, words: &[Word]) {
        let target = words[1..].iter().find(|w| !w.plain.starts_with('-') && !w.plain.starts_with('+'));
        let places: Vec<PathBuf> = match target {
            Some(word) if word.is_known() => {
                self.cwds.iter().map(|cwd| paths::normal(&cwd.join(&word.plain))).collect()
            }
            // Back to where the line was: among the places already.
            None if words[0].plain == "popd" || words[0].plain == "pushd" => return,
            None if words.len() == 1 && self.place.home.is_some() => self.place.home.clone().into_iter().collect(),
            _ => return self.out.opaque = true,
        };
        for place in places {
            self.external_if_outside(&place);
            self.add_place(place);
        }
    }

    fn add_place(&mut self, place: PathBuf) {
        if self.cwds.len() >= MOST_PLACES {
            self.out.opaque = true;
        } else if !self.cwds.contains(&place) {
            self.cwds.push(place);
        }
    }

    fn external_if_outside(&mut self, directory: &std::path::Path) {
        if !self.place.contains(directory) {
            self.external(directory.to_path_buf());
        }
    }

    fn external(&mut self, directory: PathBuf) {
        if !self.out.external.contains(&directory) {
            self.out.external.push(directory);
        }
    }

    fn paths(&mut self, words: &[Word]) {
        let name = &words[0];
        if name.plain.contains('/') && !is_program_folder(&name.plain) {
            self.path(name, Names::File);
        }
        let (operands, names) = paths::operands(arity::base(&name.plain), &words[1..]);
        for word in operands {
            self.path(word, names);
        }
    }

    fn path(&mut self, word: &Word, names: Names) {
        match self.place.outside(word, &self.cwds, names) {
            Named::Unknown => self.out.opaque = true,
            Named::Outside(found) => found.into_iter().for_each(|d| self.external(d)),
        }
    }

    /// A file that the line writes.
    fn write(&mut self, word: &Word) {
        if !word.is_known() {
            self.out.opaque = true;
            return self.path(word, Names::File);
        }
        for cwd in self.cwds.clone() {
            let path = paths::normal(&cwd.join(&word.plain));
            if paths::is_harmless(&path) {
                continue;
            }
            self.external_if_outside(&paths::holder(&path));
            if !self.out.writes.contains(&path) {
                self.out.writes.push(path);
            }
        }
    }
}

/// What stands after a keyword.
#[derive(PartialEq, Eq)]
enum Leads {
    ToCommand,
    Elsewhere,
}

fn keyword(word: &str) -> Option<Leads> {
    match word {
        "{" | "}" | "!" | "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" => {
            Some(Leads::ToCommand)
        }
        "for" | "select" | "case" | "in" | "esac" | "function" | "[[" => Some(Leads::Elsewhere),
        _ => None,
    }
}

fn is_program_folder(name: &str) -> bool {
    const FOLDERS: [&str; 7] =
        ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/local/sbin"];
    name.rsplit_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder))
}

/// The naming words without quotes where these change nothing, the others as they were written.
fn text(words: &[Word]) -> String {
    let named = arity::arity(words);
    let shown = words.iter().enumerate().map(|(i, w)| {
        let unquoted = w.is_known() && ((i == 0 && !w.plain.is_empty()) || (i < named && super::is_plain(&w.plain)));
        if unquoted { w.plain.as_str() } else { w.source.as_str() }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Variables that decide which code runs.
fn is_steering(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "IFS", "ENV", "SHELL", "EDITOR", "VISUAL", "PAGER", "HOME", "CC", "CXX", "LD", "AR", "RUSTC", "MAKE", "BROWSER",
    ];
    const STARTS: [&str; 4] = ["LD_", "DYLD_", "GIT_", "BASH_"];
    const ENDS: [&str; 13] = [
        "PATH", "OPT", "OPTS", "OPTIONS", "FLAGS", "COMMAND", "WRAPPER", "PRELOAD", "STARTUP", "PAGER", "EDITOR",
        "SHELL", "PROXY",
    ];
    let upper = name.to_ascii_uppercase();
    NAMES.contains(&name) || STARTS.iter().any(|s| name.starts_with(s)) || ENDS.iter().any(|e| upper.ends_with(e))
}

/// One parsed line and the walk that it belongs to.
struct Line<'w, 's> {
    walk: &'w mut Walk,
    source: &'s str,
}

impl<'s> Line<'_, 's> {
    fn text(&self, range: Range<usize>) -> &'s str {
        self.source.get(range).unwrap_or_default()
    }

    fn visit(&mut self, node: Node, depth: usize) {
        if depth > DEEPEST_NODE {
            return self.walk.out.opaque = true;
        }
        match node.kind() {
            "list" => return self.list(node, &[], depth),
            "redirected_statement" => return self.redirected(node, depth),
            // What happens to the directory in there stays in there.
            "subshell" | "command_substitution" | "process_substitution" => {
                // Backticks in backticks: the grammar takes the inner ones for text.
                self.walk.out.opaque |= self.text(node.byte_range()).contains("\\`");
                let before = self.walk.cwds.clone();
                self.children(node, depth);
                return self.walk.cwds = before;
            }
            "command" => self.command(node),
            "file_redirect" => self.file_redirect(node),
            "variable_assignment" => self.assignment(node),
            "for_statement" => self.looped(node),
            "comment" => self.comment(node),
            "expansion" | "heredoc_body" => self.half_read(node),
            _ => {}
        }
        self.children(node, depth);
    }

    fn children(&mut self, node: Node, depth: usize) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child, depth + 1);
        }
    }

    /// After `cd X &&` the line is in X; after anything else it may be, or not. `tail` belongs to the last command.
    fn list(&mut self, node: Node, tail: &[Node], depth: usize) {
        let before = self.walk.cwds.clone();
        let mut cursor = node.walk();
        let is_and = node.children(&mut cursor).any(|c| c.kind() == "&&");
        let mut cursor = node.walk();
        for (i, child) in node.named_children(&mut cursor).enumerate() {
            self.visit(child, depth + 1);
            if i == 0 && is_and {
                self.moved_on(&before);
            }
        }
        tail.iter().for_each(|redirect| self.visit(*redirect, depth + 1));
        before.into_iter().for_each(|place| self.walk.add_place(place));
    }

    /// The change of directory went well: the line is nowhere else.
    fn moved_on(&mut self, before: &[PathBuf]) {
        let moved: Vec<_> = self.walk.cwds.iter().filter(|c| !before.contains(c)).cloned().collect();
        if !moved.is_empty() {
            self.walk.cwds = moved;
        }
    }

    fn command(&mut self, node: Node) {
        let mut ranges = Vec::new();
        let mut input = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => self.assignment(child),
                "subshell" | "comment" => {}
                "file_redirect" => ranges.extend(self.stray(child)),
                "herestring_redirect" => input.extend(last_child(child).map(|c| self.literal(c))),
                _ => ranges.push(child.byte_range()),
            }
        }
        for redirect in redirects_of(node) {
            match redirect.kind() {
                "file_redirect" => ranges.extend(self.stray(redirect)),
                _ => self.heredoc(redirect, &mut ranges, &mut input),
            }
        }
        let words = self.words(ranges);
        self.walk.command(&words, &input);
    }

    /// Words that follow the target of a redirection: the parser takes them for more targets, bash for arguments.
    fn stray(&self, redirect: Node) -> Vec<Range<usize>> {
        let mut cursor = redirect.walk();
        redirect.children_by_field_name("destination", &mut cursor).skip(1).map(|n| n.byte_range()).collect()
    }

    fn heredoc(&self, node: Node, ranges: &mut Vec<Range<usize>>, input: &mut Vec<String>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "heredoc_body" => input.push(self.text(child.byte_range()).to_owned()),
                "file_redirect" => ranges.extend(self.stray(child)),
                _ => {}
            }
        }
        let mut cursor = node.walk();
        ranges.extend(node.children_by_field_name("argument", &mut cursor).map(|n| n.byte_range()));
    }

    fn literal(&self, node: Node) -> String {
        self.walk.read(self.text(node.byte_range())).plain
    }

    /// Pieces without a blank between are one word, whatever the parser made of them.
    fn words(&self, ranges: Vec<Range<usize>>) -> Vec<Word> {
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges.into_iter().filter(|r| !r.is_empty()) {
            match merged.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => merged.push(range),
            }
        }
        merged.into_iter().map(|range| self.walk.read(self.text(range))).collect()
    }

    fn redirected(&mut self, node: Node, depth: usize) {
        let body = node.child_by_field_name("body");
        let mut cursor = node.walk();
        let redirects: Vec<Node> = node.named_children(&mut cursor).filter(|n| Some(*n) != body).collect();
        if !body.is_some_and(ends_in_command) {
            self.ownerless(&redirects, body.is_some());
        }
        match body {
            Some(body) if body.kind() == "list" => self.list(body, &redirects, depth + 1),
            _ => self.children(node, depth),
        }
    }

    /// `> file rm x` is a command; after a loop or a group it is not clear whose words these are.
    fn ownerless(&mut self, redirects: &[Node], has_body: bool) {
        let (mut ranges, mut input) = (Vec::new(), Vec::new());
        for redirect in redirects {
            match redirect.kind() {
                "file_redirect" => ranges.extend(self.stray(*redirect)),
                "heredoc_redirect" => self.heredoc(*redirect, &mut ranges, &mut input),
                _ => {}
            }
        }
        self.walk.out.opaque |= has_body && !ranges.is_empty();
        let words = self.words(ranges);
        self.walk.command(&words, &input);
    }

    fn file_redirect(&mut self, node: Node) {
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|c| !c.is_named()).map_or("", |c| c.kind());
        let Some(target) = node.child_by_field_name("destination") else { return };
        let word = self.walk.read(self.text(target.byte_range()));
        let is_descriptor = word.plain == "-" || word.plain.chars().all(|c| c.is_ascii_digit());
        match operator {
            ">&" | "<&" if is_descriptor => {}
            "<" | "<&" => self.walk.path(&word, Names::File),
            // What a process substitution does with it is its own matter, and walked.
            _ if target.kind() == "process_substitution" => {}
            _ => self.walk.write(&word),
        }
    }

    fn assignment(&mut self, node: Node) {
        let name = node.child_by_field_name("name").map_or("", |n| self.text(n.byte_range()));
        if is_steering(name) {
            let text = self.text(node.byte_range()).to_owned();
            let always = arity::is_literal(&text).then(|| text.clone());
            self.walk.push(Command { words: vec![text.clone()], text, always });
        }
        if let Some(value) = node.child_by_field_name("value") {
            let word = self.walk.read(self.text(value.byte_range()));
            self.walk.path(&word, Names::Directory);
        }
    }

    /// Where bash would run what the grammar takes for text: backticks in an expansion or a heredoc, a substitution at the
    /// start of a heredoc, and `${X@P}`, which runs what the value holds.
    fn half_read(&mut self, node: Node) {
        let text = self.text(node.byte_range());
        let mut cursor = node.walk();
        let read = node.named_children(&mut cursor).filter(|c| c.kind() == "command_substitution").count();
        let is_data = node.parent().is_some_and(|p| self.is_quoted_heredoc(p));
        let hidden = match node.kind() {
            "expansion" => text.contains('`') || text.contains("@P"),
            _ => text.contains('`') || text.matches("$(").count() > read,
        };
        self.walk.out.opaque |= hidden && !is_data;
    }

    fn is_quoted_heredoc(&self, redirect: Node) -> bool {
        let mut cursor = redirect.walk();
        redirect
            .named_children(&mut cursor)
            .filter(|c| c.kind() == "heredoc_start")
            .any(|c| self.text(c.byte_range()).contains(['\'', '"', '\\']))
    }

    fn looped(&mut self, node: Node) {
        let mut cursor = node.walk();
        let values: Vec<_> = node.children_by_field_name("value", &mut cursor).map(|n| n.byte_range()).collect();
        for word in self.words(values) {
            self.walk.path(&word, Names::File);
        }
    }

    /// A `#` inside a word begins no comment: where the parser saw one nonetheless, it hid something.
    fn comment(&mut self, node: Node) {
        let before = self.text(0..node.start_byte()).chars().next_back();
        self.walk.out.opaque |= before.is_some_and(|c| !c.is_whitespace() && !";&|()`".contains(c));
    }
}

fn last_child(node: Node) -> Option<Node> {
    node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?)
}

/// Whether the last thing that this statement runs is a plain command: redirections after it are that command's.
fn ends_in_command(node: Node) -> bool {
    match node.kind() {
        "command" => true,
        "list" | "pipeline" => last_child(node).is_some_and(ends_in_command),
        _ => false,
    }
}

/// The redirections that follow a command, also those that the parser hung on the list or pipeline that it ends.
fn redirects_of(command: Node) -> Vec<Node> {
    let mut found = Vec::new();
    let mut node = command;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            "redirected_statement" => {
                let mut cursor = parent.walk();
                let redirects = parent.named_children(&mut cursor);
                found.extend(redirects.filter(|n| matches!(n.kind(), "file_redirect" | "heredoc_redirect")));
            }
            "list" | "pipeline" if last_child(parent) == Some(node) => {}
            _ => break,
        }
        node = parent;
    }
    found
}
