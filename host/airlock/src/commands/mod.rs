//! Commands: prompts that people keep under a name, with places for arguments. Built in, in the config, in Markdown files, or a skill
//! (agent-core, section 2.9).

pub mod expand;

use crate::config::file::CommandEntry;
use crate::config::paths::{Paths, Place};
use crate::documents::{Document, files};
use crate::skills::Skills;
use indexmap::IndexMap;
use model::provider::ModelRef;
use std::fmt;
use std::path::{Path, PathBuf};

const INIT: &str = include_str!("init.txt");
const REVIEW: &str = include_str!("review.txt");

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub name: String,
    pub description: Option<String>,
    pub agent: Option<String>,
    pub model: Option<ModelRef>,
    pub template: String,
    pub source: Source,
}

/// Who wrote a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    Config,
    /// A file of the person's own.
    Own(PathBuf),
    /// A file of the repository.
    Workspace(PathBuf),
    Skill,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Config => f.write_str("config"),
            Self::Own(file) | Self::Workspace(file) => write!(f, "{}", file.display()),
            Self::Skill => f.write_str("skill"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Commands {
    pub all: IndexMap<String, Command>,
    /// For the person: what was left out, and why.
    pub notices: Vec<String>,
}

/// Finds them all. Built-in ones come first, then the person's files, the config, the repository's files; a later one of the same
/// name stands. A skill is a command where its name is free.
#[must_use]
pub fn find(paths: &Paths, place: &Place, config: &IndexMap<String, CommandEntry>, skills: &Skills) -> Commands {
    let mut commands = Commands::default();
    commands.put(built_in("init", "Writes AGENTS.md: what an agent has to know of this repository.", INIT));
    commands.put(built_in("review", "Reviews the changes that are not committed, or what is named.", REVIEW));
    let home = paths.home.iter().map(|h| h.join(".claude/commands"));
    for folder in home.chain([paths.config.join("command"), paths.config.join("commands")]) {
        commands.add(&folder, None);
    }
    config.iter().for_each(|(name, entry)| commands.put(configured(name, entry)));
    const OF_WORKSPACE: [&str; 4] =
        [".claude/commands", ".opencode/command", ".opencode/commands", ".airlock/commands"];
    let mut upwards: Vec<&Path> = place.upwards().collect();
    upwards.reverse();
    for folder in upwards.into_iter().flat_map(|d| OF_WORKSPACE.map(|f| d.join(f))) {
        commands.add(&folder, Some(&place.worktree));
    }
    for skill in skills.all.values().filter(|s| s.description.is_some()) {
        if !commands.all.contains_key(&skill.name) {
            let template = format!("Load the skill `{}` and do what it says.", skill.name);
            let mut command = built_in(&skill.name, "", &template);
            command.description.clone_from(&skill.description);
            commands.put(Command { source: Source::Skill, ..command });
        }
    }
    commands
}

fn built_in(name: &str, description: &str, template: &str) -> Command {
    Command {
        name: name.into(),
        description: Some(description.into()),
        agent: None,
        model: None,
        template: template.trim().into(),
        source: Source::BuiltIn,
    }
}

fn configured(name: &str, entry: &CommandEntry) -> Command {
    Command {
        name: name.into(),
        description: entry.description.clone(),
        agent: entry.agent.clone(),
        model: entry.model.clone(),
        template: entry.template.clone(),
        source: Source::Config,
    }
}

impl Commands {
    fn put(&mut self, command: Command) {
        self.all.insert(command.name.clone(), command);
    }

    fn add(&mut self, folder: &Path, within: Option<&Path>) {
        for file in files(folder, &|p| p.extension().is_some_and(|e| e == "md"), within) {
            match read(folder, &file, within.is_some()) {
                Ok(command) => self.put(command),
                Err(why) => self.notices.push(format!("the command {} is left out: {why}", file.display())),
            }
        }
    }
}

/// A command of a repository chooses no model: that would be spending other people's money.
fn read(folder: &Path, file: &Path, is_workspaces: bool) -> Result<Command, String> {
    let document = Document::read(file)?;
    let name = file.strip_prefix(folder).unwrap_or(file).with_extension("").to_string_lossy().replace('\\', "/");
    let model = match document.text("model")?.filter(|_| !is_workspaces) {
        None => None,
        Some(text) => Some(ModelRef::parse(&text).ok_or_else(|| format!("`model: {text}` is not provider/model"))?),
    };
    if document.body.is_empty() {
        return Err("it is empty".into());
    }
    let source = if is_workspaces { Source::Workspace(file.into()) } else { Source::Own(file.into()) };
    Ok(Command {
        description: document.text("description")?,
        agent: document.text("agent")?,
        model,
        template: document.body,
        name,
        source,
    })
}

#[cfg(test)]
mod tests;
