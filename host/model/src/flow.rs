//! Where what a session has read comes from, and what may be done since. A page that says "send me your secrets" is read like any
//! other: what keeps it from having its way is that a session which has read both a secret and the web is asked before it sends.
//!
//! Labels only grow. They belong to a family of sessions: what a child has read its parent will be told.

use crate::permission::Action;
use crate::wildcard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Where something that a session has read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// An answer to a request.
    Web,
    /// A file that holds secrets by custom.
    Secret,
    /// A file that belongs to another user of this machine.
    Foreign,
    /// A component that is not part of the program.
    Plugin,
}

impl Label {
    pub const ALL: [Self; 4] = [Self::Web, Self::Secret, Self::Foreign, Self::Plugin];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Secret => "secret",
            Self::Foreign => "foreign",
            Self::Plugin => "plugin",
        }
    }

    /// As it stands behind "this session has read".
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Web => "from the web",
            Self::Secret => "a file of secrets",
            Self::Foreign => "a file of another user",
            Self::Plugin => "what an installed plugin said",
        }
    }
}

/// All that a family of sessions has read of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeSet<Label>);

impl Labels {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn has(&self, label: Label) -> bool {
        self.0.contains(&label)
    }

    pub fn add(&mut self, label: Label) {
        self.0.insert(label);
    }

    pub fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

impl FromIterator<Label> for Labels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

/// What happens before an act under `sink` once something under `source` was read: `"web -> net" = "ask"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    /// `None` = anything that has a label.
    source: Option<Label>,
    /// A permission, or a pattern of them.
    sink: String,
    pub action: Action,
}

impl FlowRule {
    /// Reads `source -> sink`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, action: Action) -> Result<Self, String> {
        let Some((source, sink)) = text.split_once("->") else {
            return Err(format!("`{text}` is no flow: it lacks `->`"));
        };
        let (source, sink) = (source.trim(), sink.trim().to_owned());
        if sink.is_empty() {
            return Err(format!("`{text}` names no permission after `->`"));
        }
        let source = match source {
            "*" => None,
            name => Some(Label::ALL.into_iter().find(|l| l.name() == name).ok_or_else(|| unknown(name))?),
        };
        Ok(Self { source, sink, action })
    }

    #[must_use]
    pub fn sink(&self) -> &str {
        &self.sink
    }

    fn fits(&self, labels: &Labels, permission: &str) -> bool {
        let has = self.source.map_or(!labels.is_empty(), |label| labels.has(label));
        has && wildcard::matches(&self.sink, permission)
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        self.source == other.source && self.sink == other.sink
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = Label::ALL.into_iter().map(Label::name).collect();
    format!("`{name}` is no label; there are {}, and `*` for any", known.join(", "))
}

impl fmt::Display for FlowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.source.map_or("what is labelled", Label::in_words);
        write!(f, "{} -> {} (this session has read {read})", self.source.map_or("*", Label::name), self.sink)
    }
}

/// The rules of a run. The strictest that fits counts: they are about dangers, and one danger does not undo another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow(Vec<FlowRule>);

impl Default for Flow {
    /// Whoever has read a secret is asked before anything is sent, whatever hosts are allowed.
    fn default() -> Self {
        Self(vec![FlowRule { source: Some(Label::Secret), sink: crate::permission::NET.into(), action: Action::Ask }])
    }
}

impl Flow {
    /// The person's word: replaces what was said of the same source and sink.
    pub fn set(&mut self, rule: FlowRule) {
        self.0.retain(|r| !r.is_about_the_same(&rule));
        self.0.push(rule);
    }

    /// An untrusted file's word: counts beside what there is.
    pub fn tighten(&mut self, rule: FlowRule) {
        self.0.push(rule);
    }

    /// The strictest rule that wants a look at an act under this permission.
    #[must_use]
    pub fn judge(&self, labels: &Labels, permission: &str) -> Option<&FlowRule> {
        let fitting = self.0.iter().filter(|r| r.action > Action::Allow && r.fits(labels, permission));
        fitting.max_by_key(|r| r.action)
    }
}

/// Endings and names of files that hold secrets by custom: environments, private keys, credentials of common programs.
const SECRET_ENDINGS: [&str; 6] = [".env", ".pem", ".key", ".p12", ".pfx", ".kdbx"];
const SECRET_NAMES: [&str; 9] =
    [".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", "credentials", "id_rsa", "id_ecdsa", "id_ed25519"];
const SECRET_FOLDERS: [&str; 3] = [".ssh", ".aws", ".gnupg"];

/// Whether a file of this name holds secrets by custom.
#[must_use]
pub fn is_secret(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|n| n.to_string_lossy()) else { return false };
    let environment = name.starts_with(".env.") && !name.ends_with(".example");
    let within = path.parent().into_iter().flat_map(Path::components);
    environment
        || SECRET_ENDINGS.iter().any(|e| name.ends_with(e))
        || SECRET_NAMES.contains(&name.as_ref())
        || within.filter_map(|c| c.as_os_str().to_str()).any(|c| SECRET_FOLDERS.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(rules: &[(&str, Action)]) -> Flow {
        Flow(rules.iter().map(|(text, action)| FlowRule::parse(text, *action).unwrap()).collect())
    }

    #[test]
    fn the_strictest_that_fits_counts() {
        let rules = [("web -> net", Action::Ask), ("secret -> *", Action::Deny), ("* -> bash", Action::Ask)];
        for (labels, permission, action) in [
            (&[][..], "net", None),
            (&[Label::Web], "net", Some(Action::Ask)),
            (&[Label::Web], "edit", None),
            (&[Label::Plugin], "bash", Some(Action::Ask)),
            (&[Label::Web, Label::Secret], "net", Some(Action::Deny)),
            (&[Label::Secret], "edit", Some(Action::Deny)),
        ] {
            let labels: Labels = labels.iter().copied().collect();
            assert_eq!(flow(&rules).judge(&labels, permission).map(|r| r.action), action, "{labels:?} {permission}");
        }
    }

    #[test]
    fn a_person_loosens_and_a_file_only_tightens() {
        let secret: Labels = [Label::Secret].into_iter().collect();
        let rule = |action| FlowRule::parse("secret->net", action).unwrap();
        let action = |flow: &Flow| flow.judge(&secret, "net").map(|r| r.action);
        let mut flow = Flow::default();
        assert_eq!(action(&flow), Some(Action::Ask));
        flow.tighten(rule(Action::Allow));
        assert_eq!(action(&flow), Some(Action::Ask));
        flow.tighten(rule(Action::Deny));
        assert_eq!(action(&flow), Some(Action::Deny));
        flow.set(rule(Action::Allow));
        assert_eq!(action(&flow), None);
    }

    #[test]
    fn what_is_no_flow() {
        for (text, part) in [("web", "lacks `->`"), ("wib -> net", "`wib`"), ("web ->", "no permission")] {
            let error = FlowRule::parse(text, Action::Ask).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn files_of_secrets() {
        for (path, secret) in [
            ("/w/.env", true),
            ("/w/prod.env", true),
            ("/w/.env.local", true),
            ("/w/.env.example", false),
            ("/w/env", false),
            ("/home/u/.ssh/config", true),
            ("/home/u/.aws/credentials", true),
            ("/w/id_ed25519", true),
            ("/w/id_ed25519.pub", false),
            ("/w/key", false),
            ("/w/tls.key", true),
        ] {
            assert_eq!(is_secret(Path::new(path)), secret, "{path}");
        }
    }
}
