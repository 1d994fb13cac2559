//! Agents that are written as Markdown files (agent-core, section 8): front matter with the fields of an agent, and the prompt as the
//! text. The person's own and the workspace's, also those that were written for other programs.
//!
//! A file that cannot be used is named and left out; all else works.

use super::file::AgentEntry;
use super::paths::{Paths, Place};
use super::rules::{self, Permissions};
use crate::front_matter::{self, FrontMatter};
use model::permission::{Action, Reach, Rule};
use model::profile::AgentMode;
use model::provider::ModelRef;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Bytes of one file.
const MAX_FILE: u64 = 256 << 10;
/// Files of one folder.
const MAX_FILES: usize = 200;

/// Below the workspace, at each level from the working directory up.
const IN_WORKSPACE: &[&str] = &[".airlock/agents", ".opencode/agent", ".opencode/agents", ".claude/agents"];

/// An agent as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFile {
    pub name: String,
    pub entry: AgentEntry,
    pub path: PathBuf,
    pub reach: Reach,
}

/// What was found, the person's own first, and what was left out with the reason.
#[derive(Debug, Default)]
pub struct Found {
    pub files: Vec<AgentFile>,
    pub notices: Vec<String>,
    /// Folders that were read: where somebody works in the home folder, the person's own is the workspace's as well.
    read: Vec<PathBuf>,
}

/// Reads all files that there are.
#[must_use]
pub fn read(paths: &Paths, place: &Place) -> Found {
    let mut found = Found::default();
    let others = paths.config.parent().map(|c| c.join("opencode"));
    let opencode = others.iter().flat_map(|o| [o.join("agent"), o.join("agents")]);
    let claude = paths.home.iter().map(|h| h.join(".claude/agents"));
    for folder in std::iter::once(paths.config.join("agents")).chain(opencode).chain(claude) {
        found.folder(&folder, Reach::Full, None, paths.home.as_deref());
    }
    let levels = place.upwards().flat_map(|d| IN_WORKSPACE.iter().map(move |f| d.join(f)));
    for folder in levels {
        found.folder(&folder, Reach::NarrowOnly, Some(&place.worktree), paths.home.as_deref());
    }
    found
}

impl Found {
    fn folder(&mut self, folder: &Path, reach: Reach, within: Option<&Path>, home: Option<&Path>) {
        let Ok(real) = folder.canonicalize() else { return };
        if self.read.contains(&real) {
            return;
        }
        self.read.push(real);
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let is_markdown = |p: &PathBuf| p.extension().is_some_and(|e| e == "md");
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_markdown).take(MAX_FILES).collect();
        paths.sort();
        for path in paths {
            match file(&path, within, home) {
                Ok(Some((name, entry))) => self.files.push(AgentFile { name, entry, path, reach }),
                Ok(None) => {}
                Err(why) => self.notices.push(format!("the agent {} is left out: {why}", path.display())),
            }
        }
    }
}

/// `None` where the file says that it is switched off.
fn file(path: &Path, within: Option<&Path>, home: Option<&Path>) -> Result<Option<(String, AgentEntry)>, String> {
    let real = path.canonicalize().map_err(|e| e.to_string())?;
    // A repository that somebody else wrote must not lead to a file outside of it by a link.
    if within.is_some_and(|w| !real.starts_with(w)) {
        return Err("it is a link that leads out of the workspace".into());
    }
    let meta = std::fs::metadata(&real).map_err(|e| e.to_string())?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err("it is no file of 256 KiB or less".into());
    }
    let text = std::fs::read_to_string(&real).map_err(|e| e.to_string())?;
    let front = front_matter::read(&text)?;
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let is_claudes = path.parent().is_some_and(|p| p.ends_with(".claude/agents"));
    let mode = if is_claudes { AgentMode::Subagent } else { AgentMode::All };
    agent(&front, stem, mode, home)
}

/// Fields that are not known belong to other programs.
fn agent(
    front: &FrontMatter,
    stem: &str,
    mode: AgentMode,
    home: Option<&Path>,
) -> Result<Option<(String, AgentEntry)>, String> {
    let fields = &front.fields;
    if fields.get("disable") == Some(&Value::Bool(true)) {
        return Ok(None);
    }
    let name = text(fields, "name")?.unwrap_or_else(|| stem.to_owned());
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("{name:?} is no name for an agent: use letters, digits, `-`, `_` and `.`"));
    }
    let prompt = front.body.trim();
    let (tools, mut rules) = tools(fields)?;
    rules.extend(permissions(fields, home)?);
    let entry = AgentEntry {
        description: text(fields, "description")?.map(|d| d.trim().to_owned()),
        mode: Some(read_mode(fields)?.unwrap_or(mode)),
        prompt: (!prompt.is_empty()).then(|| prompt.to_owned()),
        tools,
        permissions: Permissions { rules, ..Permissions::default() },
        // `inherit`, and the short names of one provider, mean the model of the run.
        model: text(fields, "model")?.and_then(|m| ModelRef::parse(&m)),
        temperature: temperature(fields)?,
        steps: steps(fields)?,
    };
    Ok(Some((name, entry)))
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(n)) => Ok(Some(n.to_string())),
        Some(_) => Err(format!("`{key}` should be text")),
    }
}

fn read_mode(fields: &Map<String, Value>) -> Result<Option<AgentMode>, String> {
    match text(fields, "mode")?.as_deref() {
        None => Ok(None),
        Some("primary") => Ok(Some(AgentMode::Primary)),
        Some("subagent") => Ok(Some(AgentMode::Subagent)),
        Some("all") => Ok(Some(AgentMode::All)),
        Some(other) => Err(format!("`{other}` is no mode: use primary, subagent or all")),
    }
}

fn temperature(fields: &Map<String, Value>) -> Result<Option<f64>, String> {
    let wrong = || "`temperature` should be a number from 0 to 2".to_owned();
    let Some(value) = fields.get("temperature").filter(|v| !v.is_null()) else { return Ok(None) };
    value.as_f64().filter(|t| (0.0..=2.0).contains(t)).map(Some).ok_or_else(wrong)
}

fn steps(fields: &Map<String, Value>) -> Result<Option<u32>, String> {
    let value = ["steps", "maxSteps"].iter().find_map(|k| fields.get(*k)).filter(|v| !v.is_null());
    let Some(value) = value else { return Ok(None) };
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    number.map(Some).ok_or_else(|| "`steps` should be a whole number from 1".to_owned())
}

/// `Read, Grep`, a list, or a table of names that are switched on or off. Names are those of this program, whatever their case.
fn tools(fields: &Map<String, Value>) -> Result<(Option<Vec<String>>, Vec<Rule>), String> {
    let wrong = || "`tools` should be names".to_owned();
    let lower = |name: &str| name.trim().to_lowercase();
    let named = |list: Vec<String>| (Some(list).filter(|l| !l.is_empty()), vec![]);
    match fields.get("tools") {
        None | Some(Value::Null) => Ok((None, vec![])),
        Some(Value::String(text)) if text.trim() == "*" => Ok((None, vec![])),
        Some(Value::String(text)) => Ok(named(text.split(',').map(lower).filter(|n| !n.is_empty()).collect())),
        Some(Value::Array(items)) => {
            let names = items.iter().map(|i| i.as_str().map(lower).ok_or_else(wrong));
            Ok(named(names.collect::<Result<_, _>>()?))
        }
        Some(Value::Object(table)) => {
            let off = table.iter().filter(|(_, on)| **on == Value::Bool(false));
            let deny = |(name, _): (&String, &Value)| Rule::new(rules::known(&lower(name)), "*", Action::Deny);
            Ok((None, off.map(deny).collect()))
        }
        Some(_) => Err(wrong()),
    }
}

/// As in a config: one answer, an answer a permission, or an answer a permission and pattern.
fn permissions(fields: &Map<String, Value>, home: Option<&Path>) -> Result<Vec<Rule>, String> {
    match fields.get("permission") {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Object(table)) => {
            let mut all = vec![];
            for (permission, value) in table {
                all.extend(one_permission(permission, value, home)?);
            }
            Ok(all)
        }
        Some(value) => Ok(vec![Rule::new("*", "*", action(value)?)]),
    }
}

fn one_permission(permission: &str, value: &Value, home: Option<&Path>) -> Result<Vec<Rule>, String> {
    let permission = rules::known(permission);
    let Value::Object(patterns) = value else { return Ok(vec![Rule::new(permission, "*", action(value)?)]) };
    let rule = |(pattern, value): (&String, &Value)| {
        Ok(Rule::new(permission, agent::gate::expand_home(pattern, home), action(value)?))
    };
    patterns.iter().map(rule).collect()
}

fn action(value: &Value) -> Result<Action, String> {
    match value.as_str() {
        Some("allow") => Ok(Action::Allow),
        Some("ask") => Ok(Action::Ask),
        Some("deny") => Ok(Action::Deny),
        _ => Err(format!("{value} is no answer of a permission: use allow, ask or deny")),
    }
}

#[cfg(test)]
mod tests;
