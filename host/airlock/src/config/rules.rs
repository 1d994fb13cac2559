//! Rules as people write them: in `[permission]` tables and behind `--allow` and `--deny`.

use super::error::{ConfigError, Place};
use super::read::Node;
use agent::gate::expand_home;
use model::permission::{Action, Rule};
use std::path::Path;
use toml::de::DeValue;

/// What a `[permission]` table says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// In the order written.
    pub rules: Vec<Rule>,
    /// Every permission that is named, and where.
    pub named: Vec<(String, Place)>,
    /// `permission.continue`: a refusal is a result for the model and the run goes on.
    pub go_on: Option<bool>,
}

/// The key of `[permission]` that is no permission.
const CONTINUE: &str = "continue";
const ACTIONS: &str = "Use \"allow\", \"ask\" or \"deny\".";

/// Reads `permission = "ask"`, `permission = { key = "ask" }` and `permission = { key = { pattern = "ask" } }`.
pub fn read(node: &Node<'_>, home: Option<&Path>) -> Result<Permissions, ConfigError> {
    if node.value().is_str() {
        let rules = vec![Rule::new("*", "*", action(node)?)];
        return Ok(Permissions { rules, ..Permissions::default() });
    }
    let mut found = Permissions::default();
    for (key, entry) in node.table()?.entries() {
        if key == CONTINUE {
            found.go_on = Some(entry.flag()?);
        } else {
            found.named.push((known(key).to_owned(), entry.place()));
            found.rules.extend(one_permission(key, &entry, home)?);
        }
    }
    Ok(found)
}

/// Rules go by what is done, not by which tool does it: the names of the tools that edit mean `edit` (agent-core, section 7.2), that
/// of the one that fetches means every request.
pub(super) fn known(permission: &str) -> &str {
    match permission {
        "write" | "patch" | "apply_patch" => "edit",
        "webfetch" => "net",
        other => other,
    }
}

fn one_permission(permission: &str, entry: &Node<'_>, home: Option<&Path>) -> Result<Vec<Rule>, ConfigError> {
    let permission = known(permission);
    match entry.value() {
        DeValue::String(_) => Ok(vec![Rule::new(permission, "*", action(entry)?)]),
        DeValue::Table(_) => {
            let rule = |(p, n): (&str, Node<'_>)| Ok(Rule::new(permission, expand_home(p, home), action(&n)?));
            entry.table()?.entries().map(rule).collect()
        }
        _ => Err(entry.wrong("\"allow\", \"ask\", \"deny\" or a table of patterns")),
    }
}

pub(super) fn action(node: &Node<'_>) -> Result<Action, ConfigError> {
    match node.text()?.as_str() {
        "allow" => Ok(Action::Allow),
        "ask" => Ok(Action::Ask),
        "deny" => Ok(Action::Deny),
        other => Err(node.bad(format!("`{other}` is no answer"), ACTIONS)),
    }
}

/// `permission[:pattern]`, as behind `--allow`. `None` where no permission is named.
#[must_use]
pub fn from_flag(text: &str, action: Action, home: Option<&Path>) -> Option<Rule> {
    let (permission, pattern) = text.split_once(':').unwrap_or((text, "*"));
    let fits = !permission.trim().is_empty() && !pattern.is_empty();
    fits.then(|| Rule::new(known(permission.trim()), expand_home(pattern, home), action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_a_permission_with_or_without_a_pattern() {
        let home = Some(Path::new("/home/x"));
        for (text, want) in [
            ("edit", Some(("edit", "*"))),
            ("bash:git status *", Some(("bash", "git status *"))),
            ("net:http://a:80/*", Some(("net", "http://a:80/*"))),
            ("webfetch:https://a/*", Some(("net", "https://a/*"))),
            ("read:~/notes/*", Some(("read", "/home/x/notes/*"))),
            ("read:~", Some(("read", "/home/x"))),
            ("read:$HOME/a", Some(("read", "/home/x/a"))),
            ("read:$HOMER/a", Some(("read", "$HOMER/a"))),
            ("read:~other/a", Some(("read", "~other/a"))),
            (":x", None),
            ("bash:", None),
            ("", None),
        ] {
            let want = want.map(|(p, w)| Rule::new(p, w, Action::Deny));
            assert_eq!(from_flag(text, Action::Deny, home), want, "{text}");
        }
    }
}
