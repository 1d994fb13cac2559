//! What a config says of the things that go into a session: instructions, skills, commands. They only inform, so that a workspace's
//! file is heard too: for what lies inside the workspace, and without a choice of model.

use super::error::ConfigError;
use super::file::CommandEntry;
use super::models::{self, Aliases};
use super::read::{Node, Table};
use crate::config::paths::Place;
use indexmap::IndexMap;
use std::path::{Path, PathBuf};

/// The keys of the root that are read here.
pub const KEYS: [&str; 3] = ["instructions", "skills", "commands"];
const SKILLS: &[&str] = &["paths"];
const COMMAND: &[&str] = &["template", "description", "agent", "model"];

/// As written in one file, or merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputConfig {
    /// Patterns of files.
    pub instructions: Vec<Pattern>,
    /// Folders with skills.
    pub skills: Vec<Pattern>,
    pub commands: IndexMap<String, CommandEntry>,
}

/// A path or pattern, and who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub text: String,
    /// Of an untrusted file: only what lies inside the workspace counts.
    pub inside_only: bool,
}

impl InputConfig {
    pub fn read(root: &Table<'_>, aliases: &Aliases) -> Result<Self, ConfigError> {
        let skills = root.read("skills", |n| {
            let table = n.table()?;
            table.only(SKILLS)?;
            table.read("paths", Node::texts)
        })?;
        let pattern = |text| Pattern { text, inside_only: false };
        let commands = match root.get("commands") {
            None => IndexMap::new(),
            Some(node) => node
                .table()?
                .entries()
                .map(|(name, n)| Ok((name.to_owned(), command(&n, aliases)?)))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            instructions: root
                .read("instructions", Node::texts)?
                .unwrap_or_default()
                .into_iter()
                .map(pattern)
                .collect(),
            skills: skills.flatten().unwrap_or_default().into_iter().map(pattern).collect(),
            commands,
        })
    }

    /// Adds what an untrusted file says.
    pub fn add_untrusted(&mut self, other: Self) {
        let narrow = |p: Pattern| Pattern { inside_only: true, ..p };
        self.instructions.extend(other.instructions.into_iter().map(narrow));
        self.skills.extend(other.skills.into_iter().map(narrow));
        let without_model = |(name, entry)| (name, CommandEntry { model: None, ..entry });
        self.commands.extend(other.commands.into_iter().map(without_model));
    }
}

impl Pattern {
    /// Where a pattern may lie: an absolute one where it says, a relative one at each folder from the working directory up to the
    /// workspace's root, the root first.
    #[must_use]
    pub fn places(&self, home: Option<&Path>, place: &Place) -> Vec<PathBuf> {
        let expanded = match (self.text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(&self.text),
        };
        let mut upwards: Vec<PathBuf> = match expanded.is_absolute() {
            true => vec![expanded],
            false => place.upwards().map(|d| d.join(&expanded)).collect(),
        };
        upwards.reverse();
        upwards
    }

    /// Whether what was found by it counts.
    #[must_use]
    pub fn admits(&self, found: &Path, place: &Place) -> bool {
        !self.inside_only || found.canonicalize().is_ok_and(|real| real.starts_with(&place.worktree))
    }
}

fn command(node: &Node<'_>, aliases: &Aliases) -> Result<CommandEntry, ConfigError> {
    let table = node.table()?;
    table.only(COMMAND)?;
    Ok(CommandEntry {
        template: table.need("template", "Write what the command says: template = \"…\".", Node::text)?,
        description: table.read("description", Node::text)?,
        agent: table.read("agent", Node::text)?,
        model: table.read("model", |n| models::reference(n, aliases))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;

    #[test]
    fn an_untrusted_file_informs_from_inside_alone() {
        let text = "instructions = [\"docs/*.md\"]\nskills = { paths = [\"more\"] }\n[commands.a]\ntemplate = \"t\"\nmodel = \"p/m\"\n";
        let read = || FileConfig::parse(Path::new("c"), text, None).unwrap().inputs;
        assert!(read().commands["a"].model.is_some());
        let mut all = InputConfig::default();
        all.add_untrusted(read());
        assert!(all.commands["a"].model.is_none());
        let inside = |text: &str| Pattern { text: text.into(), inside_only: true };
        assert_eq!(
            (all.instructions.as_slice(), all.skills.as_slice()),
            (&[inside("docs/*.md")][..], &[inside("more")][..])
        );
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        let place = Place::at(&dir.path().join("repo")).unwrap();
        assert!(all.skills[0].admits(&place.worktree, &place));
        assert!(!all.skills[0].admits(dir.path(), &place));
        assert!(read().skills[0].admits(dir.path(), &place));
    }

    #[test]
    fn a_command_needs_its_template() {
        let error = FileConfig::parse(Path::new("c"), "[commands.a]\nagent = \"plan\"\n", None).unwrap_err();
        assert!(error.to_string().contains("template"), "{error}");
    }
}
