//! Rules and their evaluation, and the port through which every act is judged (agent-core, section 7, with the changes of its
//! section 0).
//!
//! A ruleset is ordered: the last matching rule wins. Rulesets lie in layers from the least to the most specific scope
//! (defaults, user, workspace, agent, flags): the most specific layer with a match decides. A layer that may only narrow
//! (an untrusted workspace) can make the answer stricter, never looser. Remembered approvals turn an *ask* into an *allow* and
//! nothing else: a deny is final.

use crate::beyond::Beyond;
use crate::fault::FailureKind;
use crate::flow::{FlowRule, Labels};
use crate::hook::HookDenial;
use crate::id::{AskId, CallId, MessageId, SessionId};
use crate::question::{Answers, Inquiry};
use crate::target::Target;
use crate::tool::ToolFailure;
use crate::wildcard;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Permissions that the host itself asks for; every tool's own name is one besides. A rule for any other name would never match.
pub const OF_THE_HOST: [&str; 19] = [
    "read",
    "edit",
    "bash",
    "bash_output",
    "bash_stop",
    "escalate",
    "net",
    "list",
    "external_directory",
    "git_internals",
    "doom_loop",
    "task",
    "question",
    "skill",
    "plan_enter",
    "plan_exit",
    "checkpoint",
    "rewind",
    "tail",
];

/// What a call that takes the place of another is allowed under; the pattern is its tool.
pub const TAIL: &str = "tail";

/// What requests of components are asked under.
pub const NET: &str = "net";

/// What a line is asked for under that is to be let do more than the sandbox lets it. Only a rule that names it answers, no
/// approval does, and none is kept.
pub const ESCALATE: &str = "escalate";

/// Ordered from the loosest to the strictest, so that `max` is "the strictest of".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    pub permission: String,
    pub pattern: String,
    pub action: Action,
}

impl Rule {
    #[must_use]
    pub fn new(permission: impl Into<String>, pattern: impl Into<String>, action: Action) -> Self {
        Self { permission: permission.into(), pattern: pattern.into(), action }
    }

    /// Whether the rule speaks of this permission and pattern.
    #[must_use]
    pub fn matches(&self, permission: &str, pattern: &str) -> bool {
        if !wildcard::matches(&self.permission, permission) {
            return false;
        }
        let fits = wildcard::matches(&self.pattern, pattern);
        // A rule that denies may mean more than it says, one that allows may not.
        match (permission, self.action) {
            (NET, Action::Allow) => fits && reaches(&self.pattern, pattern),
            (NET, Action::Ask | Action::Deny) => fits || may_mean(&self.pattern, pattern),
            _ => fits,
        }
    }
}

/// Whether a pattern could be meant for this URL: a host alone, an origin without a path, capitals, a port that goes without saying.
fn may_mean(pattern: &str, url: &str) -> bool {
    let Ok(target) = Target::parse(url.strip_suffix('*').unwrap_or(url)) else { return false };
    let pattern = pattern.to_ascii_lowercase();
    let schemes: &[&str] = if pattern.contains("://") { &[""] } else { &["http://", "https://"] };
    schemes.iter().any(|scheme| ["", "/*"].iter().any(|path| target.fits(&format!("{scheme}{pattern}{path}"))))
}

/// Whether a pattern of hosts means this URL; a host with everything on it is written `https://host/*`.
fn reaches(pattern: &str, url: &str) -> bool {
    pattern == "*"
        || pattern == url
        || Target::parse(url.strip_suffix('*').unwrap_or(url)).is_ok_and(|t| t.fits(pattern))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        };
        write!(f, "{action} {}:{}", self.permission, self.pattern)
    }
}

/// Whether a layer may loosen what the layers below it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Full,
    NarrowOnly,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Where the rules come from, for messages: `defaults`, a file, `--deny`, …
    pub origin: String,
    pub reach: Reach,
    pub rules: Vec<Rule>,
}

/// All rules of a session, least specific layer first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub layers: Vec<Layer>,
}

/// An answer, with the rule that gave it where one did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    pub rule: Option<Rule>,
}

impl Policy {
    /// What the rules alone say of one permission and pattern. Nothing matches = ask.
    #[must_use]
    pub fn decide(&self, permission: &str, pattern: &str) -> Decision {
        let mut decision = Decision { action: Action::Ask, rule: None };
        for layer in &self.layers {
            let Some(rule) = layer.rules.iter().rev().find(|r| r.matches(permission, pattern)) else { continue };
            if layer.reach == Reach::Full || rule.action > decision.action {
                decision = Decision { action: rule.action, rule: Some(rule.clone()) };
            }
        }
        decision
    }

    /// Whether everything under this permission is denied: such a tool is not shown to the model.
    #[must_use]
    pub fn denies_all(&self, permission: &str) -> bool {
        let mut denied = false;
        for layer in &self.layers {
            let last = layer.rules.iter().rev().find(|r| wildcard::matches(&r.permission, permission));
            let Some(rule) = last else { continue };
            let denies = rule.pattern == "*" && rule.action == Action::Deny;
            denied = denies || (denied && layer.reach == Reach::NarrowOnly);
        }
        denied
    }

    /// As strict as this policy and as these rules, whichever is stricter: never wider, whatever the rules say.
    #[must_use]
    pub fn narrowed(&self, origin: impl Into<String>, rules: Vec<Rule>) -> Self {
        let layer = Layer { origin: origin.into(), reach: Reach::NarrowOnly, rules };
        Self { layers: self.layers.iter().cloned().chain([layer]).collect() }
    }
}

/// One act, named before it is done. The gate turns it into permissions and patterns: in one place, for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The call itself, under the tool's own name; `subject` is what it is about, else `*`.
    Call { subject: Option<String> },
    /// Absolute path, links resolved where the act is about to happen.
    Read { path: PathBuf },
    /// As `Read`; also for removing, renaming and linking (both ends).
    Write { path: PathBuf },
    /// A shell line and where it runs.
    Shell { line: String, cwd: PathBuf },
    /// A program and its arguments, without a shell.
    Exec { argv: Vec<String>, cwd: PathBuf },
    /// A program that is to be let do more than the sandbox lets it. Permitted apart from the line itself.
    Escalate { line: String, beyond: Beyond },
    /// A request over HTTP. The URL is a [`Target`] in its one spelling; `https://host/*` is everything on that host.
    Request { method: String, url: String },
    /// What a component asks for in words of its own.
    Other { permission: String, patterns: Vec<String>, always: Vec<String> },
}

impl Act {
    /// As it stands behind "to": `read src/a.rs`. `tool` is who acts.
    #[must_use]
    pub fn in_words(&self, tool: &str) -> String {
        match self {
            Self::Call { subject: None } => format!("run {tool}"),
            Self::Call { subject: Some(subject) } => format!("run {tool} on {subject}"),
            Self::Read { path } => format!("read {}", path.display()),
            Self::Write { path } => format!("change {}", path.display()),
            Self::Shell { line, .. } => format!("run `{line}`"),
            Self::Exec { argv, .. } => format!("run {argv:?}"),
            Self::Escalate { line, beyond } => format!("run `{line}` {}", beyond.words().join("; ")),
            Self::Request { method, url } if method == "GET" => format!("fetch {url}"),
            Self::Request { method, url } => format!("send {method} to {url}"),
            Self::Other { permission, patterns, .. } => format!("use {permission} for {}", patterns.join(", ")),
        }
    }
}

/// Who is about to act.
#[derive(Clone, Debug)]
pub struct Actor {
    pub session: SessionId,
    pub message: MessageId,
    pub call: CallId,
    pub agent: String,
    pub tool: String,
    /// What counts as inside.
    pub worktree: PathBuf,
}

/// Why an act is not to happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("the rule `{0}` forbids it")]
    Rule(Rule),
    #[error("the hook {} forbids it: {}", .0.hook, .0.reason)]
    Hook(HookDenial),
    #[error("the flow rule `{0}` forbids it")]
    Flow(FlowRule),
    #[error("the person said no{}", .0.as_deref().map(|r| format!(": {r}")).unwrap_or_default())]
    Rejected(Option<String>),
    #[error("it needs a permission and nobody is there to give it")]
    Unanswered,
    #[error("the run was cancelled")]
    Cancelled,
}

impl Denial {
    /// The failure of a call that was not permitted, as the model reads it. `what` is the act in words.
    #[must_use]
    pub fn failure(&self, what: &str) -> ToolFailure {
        let kind = if *self == Self::Cancelled { FailureKind::Interrupted } else { FailureKind::Denied };
        ToolFailure::new(kind, format!("Not permitted to {what}: {self}."))
    }
}

/// What is asked before a call that goes round in circles is run once more. A no is for that call only: it ends no run and settles
/// no other question.
pub const DOOM_LOOP: &str = "doom_loop";

/// A question to the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub permission: String,
    pub patterns: Vec<String>,
    /// Patterns that an answer of *always* adds.
    pub always: Vec<String>,
    pub metadata: Value,
    pub tool: AskTool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskTool {
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    #[serde(rename = "callID")]
    pub call_id: CallId,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub enum Reply {
    Once,
    Always,
    Reject {
        #[serde(skip_serializing_if = "Option::is_none", default)]
        message: Option<String>,
    },
}

/// Whoever can put a question to a person: a terminal, a client, `--yes`.
#[async_trait]
pub trait Asker: Send + Sync {
    /// `None` = nobody is there to answer.
    async fn ask(&self, ask: &Ask, cancel: &CancellationToken) -> Option<Reply>;

    /// As `ask`, for what the model wants to know.
    async fn question(&self, _inquiry: &Inquiry, _cancel: &CancellationToken) -> Option<Answers> {
        None
    }
}

/// How a session stands: the rules that it is judged by, and whose person its questions go to.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The session at the head of the family: questions carry its id.
    pub root: SessionId,
    pub policy: Policy,
}

/// The one place where acts are judged.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Judges a session by these rules from now on, in place of those it had. A session that was never named stands alone and is
    /// judged by the rules that the gate was made with.
    fn enrol(&self, _session: &SessionId, _standing: Standing) {}

    /// Forgets a session that was enrolled.
    fn dismiss(&self, _session: &SessionId) {}

    /// Notes where something that a session has read comes from.
    fn taint(&self, _session: &SessionId, _labels: &Labels) {}

    /// Where all comes from that a session's family has read.
    fn labels(&self, _session: &SessionId) -> Labels {
        Labels::default()
    }

    /// What the rules and the approvals say, without asking anybody.
    fn decide(&self, actor: &Actor, act: &Act) -> Action;

    /// The rule or approval that allows an act; `None` where none does, or where nobody has said anything of it.
    fn allowed_by(&self, _actor: &Actor, _act: &Act) -> Option<Rule> {
        None
    }

    /// Judges all acts together, asking where the rules say so; `Ok` only if every one may happen. `metadata` is for whoever
    /// shows the question (a diff, a line).
    ///
    /// # Errors
    /// The first denial.
    async fn permit(
        &self,
        actor: &Actor,
        acts: &[Act],
        metadata: Value,
        cancel: &CancellationToken,
    ) -> Result<(), Denial>;

    /// The rules that would permit what these acts still need, and nothing besides; `None` if no rules would.
    fn missing(&self, _actor: &Actor, _acts: &[Act]) -> Option<Vec<Rule>> {
        None
    }

    /// A denial that has to end the run (a person's bare no, nobody there to answer): the first since it was last forgiven,
    /// whether it was asked for before a call or in the middle of one.
    fn blocked(&self) -> Option<Denial> {
        None
    }

    /// Forgets what [`Gate::blocked`] tells of: the attempt that it came up in counts no more.
    fn forgive(&self) {}

    /// Puts the model's questions to the person, when their turn comes. `None` = nobody is there to answer.
    async fn consult(&self, _inquiry: Inquiry, _cancel: &CancellationToken) -> Option<Answers> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(reach: Reach, rules: &[(&str, &str, Action)]) -> Layer {
        Layer { origin: "test".into(), reach, rules: rules.iter().map(|(p, w, a)| Rule::new(*p, *w, *a)).collect() }
    }

    #[test]
    fn the_last_match_of_the_most_specific_layer_wins() {
        let policy = Policy {
            layers: vec![
                layer(Reach::Full, &[("read", "*", Action::Allow), ("bash", "*", Action::Deny)]),
                layer(Reach::Full, &[("bash", "*", Action::Ask), ("bash", "git *", Action::Allow)]),
            ],
        };
        assert_eq!(policy.decide("bash", "git log").action, Action::Allow);
        assert_eq!(policy.decide("bash", "ls").action, Action::Ask);
        assert_eq!(policy.decide("read", "a").action, Action::Allow);
        assert_eq!(policy.decide("edit", "a").action, Action::Ask);
    }

    #[test]
    fn a_rule_that_allows_means_the_host_that_it_names() {
        for (pattern, url, allows, denies) in [
            ("*", "https://evil.org/x", true, true),
            ("https://*.example.com/*", "https://a.example.com/x", true, true),
            ("https://*.example.com/*", "https://evil.org/.example.com/", false, true),
            ("https://a.example.com/*", "https://a.example.com/*", true, true),
            ("https://a.example.com/v1/*", "https://a.example.com/*", false, false),
            ("https://*.example.com/*", "no URL", false, false),
            ("no *", "no URL", false, true),
        ] {
            for (action, want) in [(Action::Allow, allows), (Action::Deny, denies)] {
                assert_eq!(Rule::new("net", pattern, action).matches("net", url), want, "{action:?} {pattern} {url}");
            }
        }
    }

    #[test]
    fn a_rule_that_denies_means_what_it_could_mean() {
        for pattern in
            ["evil.org", "https://evil.org", "https://evil.org:443/*", "https://EVIL.org/*", "evil.org/*", "*.org"]
        {
            let rule = Rule::new("net", pattern, Action::Deny);
            assert!(rule.matches("net", "https://evil.org/x"), "{pattern}");
            assert!(rule.matches("net", "https://evil.org/*"), "{pattern}: the whole host");
            assert!(!rule.matches("net", "https://good.com/evil"), "{pattern}");
            assert!(!Rule::new("net", pattern, Action::Allow).matches("net", "https://good.com/x"), "{pattern}");
        }
    }

    #[test]
    fn an_untrusted_layer_only_narrows() {
        let narrow = layer(Reach::NarrowOnly, &[("edit", "*", Action::Allow), ("read", "secret", Action::Deny)]);
        let policy = Policy { layers: vec![layer(Reach::Full, &[("read", "*", Action::Allow)]), narrow] };
        assert_eq!(policy.decide("edit", "a").action, Action::Ask);
        assert_eq!(policy.decide("read", "secret").action, Action::Deny);
        assert_eq!(policy.decide("read", "other").action, Action::Allow);
    }

    #[test]
    fn a_tool_is_hidden_only_when_all_is_denied() {
        let policy = Policy { layers: vec![layer(Reach::Full, &[("edit", "*", Action::Deny)])] };
        assert!(policy.denies_all("edit"));
        let partly = Policy {
            layers: vec![layer(Reach::Full, &[("edit", "*", Action::Deny), ("edit", "docs/*", Action::Allow)])],
        };
        assert!(!partly.denies_all("edit"));
        let narrow = Policy { layers: vec![layer(Reach::NarrowOnly, &[("edit", "*", Action::Deny)])] };
        assert!(narrow.denies_all("edit"), "a narrow layer denies");
        assert!(
            policy.narrowed("x", vec![Rule::new("edit", "*", Action::Allow)]).denies_all("edit"),
            "and never undoes"
        );
    }

    #[test]
    fn a_narrowed_policy_is_never_wider() {
        use Action::{Allow, Ask, Deny};
        for (mine, theirs, want) in [
            (Allow, Allow, Allow),
            (Allow, Ask, Ask),
            (Allow, Deny, Deny),
            (Ask, Allow, Ask),
            (Ask, Ask, Ask),
            (Ask, Deny, Deny),
            (Deny, Allow, Deny),
            (Deny, Ask, Deny),
        ] {
            let parent = Policy { layers: vec![layer(Reach::Full, &[("edit", "*", mine)])] };
            let child = parent.narrowed("agent x", vec![Rule::new("edit", "*", theirs)]);
            assert_eq!(child.decide("edit", "a").action, want, "{mine:?} {theirs:?}");
        }
    }
}
