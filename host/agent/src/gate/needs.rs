//! An act, put as permissions and patterns: the one place where this is done.

use crate::shell::{self, normal};
use model::beyond::Beyond;
use model::permission::{Act, Action, Actor, DOOM_LOOP, Decision, ESCALATE, NET, Policy, Rule};
use model::target::Target;
use std::path::Path;

/// The permission for whatever lies outside the worktree.
pub(super) const EXTERNAL: &str = "external_directory";
const SHELL: &str = "bash";

/// One permission with one pattern that has to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub permission: String,
    pub pattern: String,
    /// What an answer of *always* adds; empty if nothing would cover just this.
    pub always: Vec<String>,
    /// Other spellings of the same thing; they can only make the answer stricter.
    spellings: Vec<String>,
    /// Cannot be judged by its text: only a rule or an approval for exactly this text allows it.
    opaque: bool,
}

impl Need {
    fn new(permission: &str, pattern: impl Into<String>, always: Option<String>) -> Self {
        Self {
            permission: permission.to_owned(),
            pattern: pattern.into(),
            always: always.into_iter().collect(),
            spellings: Vec::new(),
            opaque: false,
        }
    }

    /// The rule that allows just this. A text with `*` in it would as a pattern allow more.
    pub fn rule(&self) -> Option<Rule> {
        let is_exact = shell::is_literal(&self.pattern)
            || self.always.contains(&self.pattern)
            || (self.permission != SHELL && self.pattern == "*");
        is_exact.then(|| Rule::new(self.permission.clone(), self.pattern.clone(), Action::Allow))
    }

    /// What the rules say, then what was approved: that turns an *ask* into an *allow*, never a *deny*.
    pub fn judge(&self, policy: &Policy, approvals: &[Rule]) -> Decision {
        let decision = self.by_rules(policy);
        if decision.action != Action::Ask || self.permission == ESCALATE {
            return decision;
        }
        let fits = |r: &&Rule| {
            r.action == Action::Allow
                && r.matches(&self.permission, &self.pattern)
                && (!self.opaque || r.pattern == self.pattern)
        };
        match approvals.iter().find(fits) {
            Some(rule) => Decision { action: Action::Allow, rule: Some(rule.clone()) },
            None => decision,
        }
    }

    /// The permissions that a flow rule may speak of where it means this.
    pub fn sinks(&self) -> impl Iterator<Item = &str> {
        let sends = self.permission == ESCALATE && !self.pattern.starts_with("write ");
        std::iter::once(self.permission.as_str()).chain(sends.then_some(NET))
    }

    fn by_rules(&self, policy: &Policy) -> Decision {
        let mut decision = policy.decide(&self.permission, &self.pattern);
        for spelling in &self.spellings {
            let other = policy.decide(&self.permission, spelling);
            // A rule that speaks of this very spelling (`./build` as against `build`) is not undone by a laxer one's *ask*.
            let same_rule = decision.rule.as_ref().is_some_and(|r| r.matches(&self.permission, spelling));
            if other.action > decision.action && (other.action == Action::Deny || same_rule) {
                decision = other;
            }
        }
        let is_exact = decision.rule.as_ref().is_some_and(|r| r.pattern == self.pattern);
        // Leave to do everything is not leave to do it for ever, nor to do it outside the walls.
        let by_name = self.permission == DOOM_LOOP || self.permission == ESCALATE;
        let is_named = decision.rule.as_ref().is_none_or(|r| !by_name || r.permission == self.permission);
        if decision.action == Action::Allow && (!is_named || (self.opaque && !is_exact)) {
            return Decision { action: Action::Ask, rule: None };
        }
        decision
    }
}

/// Everything that `act` needs. Never empty, but for a line that does nothing.
pub(super) fn of(actor: &Actor, act: &Act, home: Option<&Path>) -> Vec<Need> {
    match act {
        Act::Call { subject } => {
            let pattern = subject.clone().unwrap_or_else(|| "*".to_owned());
            let always = if subject.is_some() { exactly(&pattern) } else { Some("*".to_owned()) };
            vec![Need::new(&actor.tool, pattern, always)]
        }
        Act::Read { path } => file(actor, "read", path),
        Act::Write { path } => file(actor, "edit", path),
        Act::Shell { line, cwd } => shell_line(actor, line, cwd, home),
        Act::Exec { argv, cwd } => shell_line(actor, &shell::quote(argv), cwd, home),
        Act::Escalate { line, beyond } => escalation(actor, line, beyond, home),
        Act::Request { url, .. } => vec![Need::new(NET, url.clone(), host_of(url))],
        Act::Other { permission, patterns, always } => other(permission, patterns, always),
    }
}

/// For each thing that is opened one need for the line, and one for each program that it runs: a rule that speaks of the line's beginning
/// opens nothing for what comes behind it.
fn escalation(actor: &Actor, line: &str, beyond: &Beyond, home: Option<&Path>) -> Vec<Need> {
    let scan = shell::scan(line, &actor.worktree, &actor.worktree, home);
    let whole = line.trim();
    let parts = scan.commands.iter().map(|c| c.text.as_str()).filter(|text| *text != whole);
    let texts: Vec<&str> = std::iter::once(whole).chain(parts).collect();
    let need = |opened: &str, text: &str| Need {
        opaque: scan.opaque,
        ..Need::new(ESCALATE, format!("{opened}: {text}"), None)
    };
    beyond.names().iter().flat_map(|opened| texts.iter().map(|text| need(opened, text)).collect::<Vec<_>>()).collect()
}

fn other(permission: &str, patterns: &[String], always: &[String]) -> Vec<Need> {
    let all = ["*".to_owned()];
    let patterns = if patterns.is_empty() { &all } else { patterns };
    patterns
        .iter()
        .map(|pattern| Need { always: always.to_vec(), ..Need::new(permission, pattern.clone(), None) })
        .collect()
}

/// Leave to fetch a page is, where it is given for good, leave for its host.
fn host_of(url: &str) -> Option<String> {
    let known = Target::parse(url.strip_suffix('*').unwrap_or(url)).ok()?;
    Some(format!("{}/*", known.origin()))
}

fn exactly(text: &str) -> Option<String> {
    shell::is_literal(text).then(|| text.to_owned())
}

/// Inside the worktree the path relative to it, outside the directory and the absolute path.
fn file(actor: &Actor, permission: &str, path: &Path) -> Vec<Need> {
    let path = normal(&actor.worktree.join(path));
    if let Ok(inside) = path.strip_prefix(normal(&actor.worktree)) {
        let shown = if inside.as_os_str().is_empty() { ".".into() } else { inside.to_string_lossy().into_owned() };
        if permission == "edit" && inside.components().any(|c| c.as_os_str() == ".git") {
            return vec![Need::new(GIT, shown, None)];
        }
        let always = if permission == "edit" { around(inside, &shown) } else { exactly(&shown) };
        return vec![Need::new(permission, shown, always)];
    }
    let shown = path.to_string_lossy();
    vec![external(&shell::holder(&path)), Need::new(permission, shown.clone(), exactly(&shown))]
}

/// Leave to edit a file for good is leave to edit its folder; one that lies at the root stands for itself, for its folder is everything.
/// A read that is asked for at all is about one file.
fn around(inside: &Path, shown: &str) -> Option<String> {
    let folder = inside.parent().map(|f| f.to_string_lossy().into_owned()).filter(|f| !f.is_empty());
    folder.map_or_else(|| exactly(shown), |f| exactly(&f).map(|f| format!("{f}/*")))
}

/// What git keeps of itself: a hook or a setting there is code that runs outside of every wall, at the person's next commit. Leave to
/// edit the worktree does not reach it, and it is never remembered.
const GIT: &str = "git_internals";

fn external(directory: &Path) -> Need {
    let pattern = format!("{}/*", directory.to_string_lossy().trim_end_matches('/'));
    Need::new(EXTERNAL, pattern, within(directory))
}

/// The pattern for all of a directory; none for the root, which would be everything.
fn within(directory: &Path) -> Option<String> {
    let text = directory.to_string_lossy();
    (directory.parent().is_some() && shell::is_literal(&text)).then(|| format!("{text}/*"))
}

fn shell_line(actor: &Actor, line: &str, cwd: &Path, home: Option<&Path>) -> Vec<Need> {
    let cwd = actor.worktree.join(cwd);
    let scan = shell::scan(line, &cwd, &actor.worktree, home);
    let mut needs: Vec<Need> = Vec::new();
    if !normal(&cwd).starts_with(normal(&actor.worktree)) {
        needs.push(external(&normal(&cwd)));
    }
    needs.extend(scan.external.iter().map(|d| external(d)));
    needs.extend(scan.writes.iter().flat_map(|path| file(actor, "edit", path)));
    needs.extend(scan.commands.into_iter().map(command));
    if scan.opaque {
        let line = line.trim();
        needs.push(Need { opaque: true, ..Need::new(SHELL, line, exactly(line)) });
    }
    needs
}

fn command(command: shell::Command) -> Need {
    let unquoted = command.words.join(" ");
    // `/bin/rm` is `rm` to a rule that forbids it.
    let base = unquoted
        .split_once(' ')
        .map_or(unquoted.as_str(), |(name, _)| name)
        .rsplit_once('/')
        .map(|(folder, _)| folder.len() + 1);
    let bare = base.map(|at| unquoted[at..].to_owned());
    let spellings = [Some(unquoted), bare].into_iter().flatten().filter(|s| *s != command.text).collect();
    Need { spellings, ..Need::new(SHELL, command.text, command.always) }
}
