//! What holds where nobody has said anything (agent-core, section 0), and the short forms in which people write rules.

use model::permission::{Action, Layer, Reach, Rule};
use std::path::Path;

/// Reads inside the workspace are allowed, but for files that hold secrets by custom; everything else asks.
#[must_use]
pub fn default_rules() -> Layer {
    let rule = |permission: &str, pattern: &str, action| Rule::new(permission, pattern, action);
    let rules = vec![
        rule("read", "*", Action::Allow),
        rule("read", "*.env", Action::Ask),
        rule("read", "*.env.*", Action::Ask),
        rule("read", "*.env.example", Action::Allow),
        rule("glob", "*", Action::Allow),
        rule("grep", "*", Action::Allow),
        rule("list", "*", Action::Allow),
        rule("todowrite", "*", Action::Allow),
        rule("skill", "*", Action::Allow),
        rule("question", "*", Action::Allow),
        rule("task", "*", Action::Allow),
        // Only the planner's own rules open it.
        rule("plan_exit", "*", Action::Deny),
        rule("checkpoint", "*", Action::Allow),
        // What may be seen and ended was let begin.
        rule("bash_output", "*", Action::Allow),
        rule("bash_stop", "*", Action::Allow),
        // Only a rule of the person's own, or of an agent of theirs, opens it.
        rule("rewind", "*", Action::Deny),
        rule("tail", "*", Action::Deny),
    ];
    Layer { origin: "defaults".to_owned(), reach: Reach::Full, rules }
}

/// Files outside that may be read without a question, the least specific layer of all: any rule of the person's own weighs more.
#[must_use]
pub fn readable_rules(pattern: &Path) -> Layer {
    let rule = |permission: &str| Rule::new(permission, pattern.to_string_lossy(), Action::Allow);
    Layer {
        origin: "kept outputs".to_owned(),
        reach: Reach::Full,
        rules: vec![rule("external_directory"), rule("read")],
    }
}

/// `~`, `$HOME` and `${HOME}` at the start of a pattern, where a whole path component; done once, when rules are read.
#[must_use]
pub fn expand_home(pattern: &str, home: Option<&Path>) -> String {
    let Some(home) = home else { return pattern.to_owned() };
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|short| {
        let rest = pattern.strip_prefix(short)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    });
    rest.map_or_else(|| pattern.to_owned(), |rest| format!("{}{rest}", home.to_string_lossy()))
}
