//! The command line: what may be written, one file a command.

pub mod agents;
pub mod auth;
pub mod cassette;
pub mod commands;
pub mod completions;
pub mod config;
pub mod cost;
pub mod doctor;
pub mod inbox;
pub mod models;
pub mod permission;
pub mod plugin;
pub mod provider;
pub mod providers;
pub mod run;
pub mod secret;
pub mod session;
pub mod skills;
pub mod trust;

use crate::config::keys::Keys;
use crate::config::names::{self, Known};
use crate::config::paths::{Paths, Place};
use crate::config::sources::Sources;
use crate::config::{Config, Overrides};
use crate::report::Report;
use crate::skills::Skills;
use crate::tui::clean::clean_for;
use clap::{Args, Parser, Subcommand, ValueEnum};
use model::permission::{Action, Rule};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Runs AI agents whose every tool, hook and model adapter is a WebAssembly component.
#[derive(Debug, Parser)]
#[command(name = "airlock", version, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Give the agent a task and let it work
    Run(Box<run::RunArgs>),
    /// Look at, export and delete sessions
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Look at plugins and call their tools
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// List what was approved for good, and take it back
    #[command(subcommand)]
    Permission(permission::PermissionCommand),
    /// List the models that can be used here
    Models(models::ModelsArgs),
    /// List the providers, and where each one's key is looked for
    Providers(Listing),
    /// Keep, list and forget keys of providers
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Keep, list and forget secrets for tools
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Try a provider out
    #[command(subcommand)]
    Provider(provider::ProviderCommand),
    /// List the agents
    Agents(Listing),
    /// List the commands: prompts under a name, for `airlock run "/NAME …"`
    Commands(Listing),
    /// List the skills that the model can load
    Skills(Listing),
    /// Let the airlock.toml of a workspace count in full, as it is now
    Trust(trust::TrustArgs),
    /// Show the config in force, or check the files
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Check what this machine offers: sandbox, paths, plugins, ledger, models
    Doctor(doctor::DoctorArgs),
    /// Compile one component, from standard input to standard output, within limits: what other commands start by themselves
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// The command under which this program compiles a component apart.
pub const COMPILE: &str = "__compile";

#[derive(Debug, Args)]
pub struct CompileArgs {
    /// Kind of the engine
    pub kind: String,
    /// Bytes of memory
    pub memory: u64,
    /// Seconds of computing
    pub cpu: u64,
}

/// How a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Debug, Args)]
pub struct Listing {
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// The folder to look from, instead of the working directory
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// How asks are answered without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Yes {
    Once,
    Always,
}

/// Rules and answers of this one command.
#[derive(Clone, Debug, Default, Args)]
pub struct Permits {
    /// Allow a permission, or only what fits a pattern (repeatable)
    #[arg(long, value_name = "PERMISSION[:PATTERN]")]
    pub allow: Vec<String>,
    /// Deny a permission, or only what fits a pattern (repeatable)
    #[arg(long, value_name = "PERMISSION[:PATTERN]")]
    pub deny: Vec<String>,
    /// Answer every ask; a deny stays a deny
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "once")]
    pub yes: Option<Yes>,
}

impl Permits {
    fn rules(texts: &[String], flag: &str, action: Action, home: Option<&Path>) -> Result<Vec<Rule>, Report> {
        let bad = |text: &String| {
            let what = format!("`{flag} {text}` names no permission");
            Report::usage(
                what,
                format!("Write it as {flag} edit, {flag} \"bash:git status *\" or {flag} read:~/notes/*."),
            )
        };
        let rule = |t: &String| crate::config::rules::from_flag(t, action, home).ok_or_else(|| bad(t));
        texts.iter().map(rule).collect()
    }

    /// Lays the rules into the overrides of a command.
    pub fn lay_into(&self, flags: &mut Overrides, paths: &Paths) -> Result<(), Report> {
        let home = paths.home.as_deref();
        flags.allow = Self::rules(&self.allow, "--allow", Action::Allow, home)?;
        flags.deny = Self::rules(&self.deny, "--deny", Action::Deny, home)?;
        Ok(())
    }
}

/// Where a command stands: folders, workspace and config.
pub struct Ground {
    pub paths: Paths,
    pub place: Place,
    pub config: Config,
    /// Those that `airlock auth add` kept.
    pub keys: Keys,
}

impl Ground {
    /// # Errors
    /// A folder that is not there, a config that is wrong.
    pub fn find(dir: Option<&Path>, permits: &Permits, flags: Overrides) -> Result<Self, Report> {
        Self::of_owner(Paths::find()?, dir, permits, flags)
    }

    /// As [`Self::find`], where these folders are somebody's home.
    ///
    /// # Errors
    /// As there.
    pub fn of_owner(paths: Paths, dir: Option<&Path>, permits: &Permits, mut flags: Overrides) -> Result<Self, Report> {
        let place = place(dir)?;
        permits.lay_into(&mut flags, &paths)?;
        let config = Config::load(&paths, &place, flags)?;
        let keys = Keys::load(&paths.data)?.looking_in(Sources::of(&paths));
        Ok(Self { paths, place, config, keys })
    }

    /// For commands that only show something.
    pub fn of(listing: &Listing) -> Result<Self, Report> {
        Self::find(listing.dir.as_deref(), &Permits::default(), Overrides::default())
    }

    /// Fails for a rule whose permission nobody asks for, before anything is judged by it.
    ///
    /// # Errors
    /// The first of them, with its place.
    pub fn check_permissions(&self, runtime: &runtime::Runtime) -> Result<(), Report> {
        Ok(names::permissions(&self.config, &Known::tools(runtime.tool_names()))?)
    }

    /// Says that the workspace is wider than anybody means it to be.
    pub fn warn_if_wide(&self) {
        if let Some(notice) = wide(&self.place.worktree, self.paths.home.as_deref()) {
            say(&notice);
        }
    }

    /// The skills that can be loaded here.
    #[must_use]
    pub fn skills(&self) -> Skills {
        let (paths, place) = (&self.paths, &self.place);
        let folders = self.config.inputs.skills.iter().flat_map(|pattern| {
            let all = pattern.places(paths.home.as_deref(), place);
            all.into_iter().filter(|f| pattern.admits(f, place))
        });
        crate::skills::find(paths, place, &folders.collect::<Vec<_>>())
    }

    /// Says what was left out of the config. To stderr: stdout may be for a program.
    pub fn print_notices(&self) {
        for notice in &self.config.notices {
            say(notice);
        }
    }
}

/// What to tell of a workspace that holds the home folder or everything; `None` of any other.
fn wide(worktree: &Path, home: Option<&Path>) -> Option<String> {
    let next = "go into a project's folder, or name one with --dir";
    if worktree.parent().is_none() {
        return Some(format!(
            "the workspace is {}, the whole file system: all of it counts as inside, and shell lines can read but not change it; {next}",
            worktree.display()
        ));
    }
    home.filter(|home| home.starts_with(worktree)).map(|_| {
        format!(
            "the workspace is {}, which holds your home folder: all of it counts as inside; {next}",
            worktree.display()
        )
    })
}

fn place(dir: Option<&Path>) -> Result<Place, Report> {
    let dir = dir.unwrap_or(Path::new("."));
    Place::at(dir).map_err(|e| {
        Report::usage(format!("the folder {} cannot be worked in: {e}", dir.display()), "Name another one with --dir.")
    })
}

/// One line to stderr, in words of whomever. A closed stderr is no reason to stop.
pub fn say(line: &str) {
    let is_terminal = std::io::stderr().is_terminal();
    say_styled(&clean_for(is_terminal, line));
}

/// As [`say`], for lines with colour: what is not the program's own word in them is clean already.
pub fn say_styled(line: &str) {
    let mut err = std::io::stderr().lock();
    // In one piece: the parts of a line would be a write each.
    let line = match anstream::AutoStream::choice(&err) {
        anstream::ColorChoice::Never => format!("{}\n", anstream::adapter::strip_str(line)),
        _ => format!("{line}\n"),
    };
    let _ = err.write_all(line.as_bytes());
}

/// Words of a tool or a file to stdout.
pub fn print_foreign(text: &str) -> Result<(), Report> {
    print(&clean_for(std::io::stdout().is_terminal(), text))
}

/// Text to stdout. Whoever closed it wants no more, and that is no failure.
pub fn print(text: &str) -> Result<(), Report> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Report::internal(format!("the output could not be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// One JSON value on a line of its own.
pub fn print_json(value: &impl Serialize) -> Result<(), Report> {
    let text = serde_json::to_string(value)
        .map_err(|e| Report::internal(format!("the output could not be written as JSON: {e}")))?;
    print(&(text + "\n"))
}

/// Rows in columns, as wide as their widest cell; the last column is free.
#[must_use]
pub fn columns(rows: &[Vec<String>]) -> String {
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}", w = *w));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_args(line: &[&str]) -> run::RunArgs {
        let all = ["airlock", "run"].iter().chain(line);
        match Cli::try_parse_from(all).unwrap().command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn yes_stands_alone_or_with_a_value_behind_an_equals_sign() {
        for (line, want) in [
            (&["a"][..], None),
            (&["--yes", "a"], Some(Yes::Once)),
            (&["--yes=once", "a"], Some(Yes::Once)),
            (&["--yes=always", "a"], Some(Yes::Always)),
        ] {
            let args = run_args(line);
            assert_eq!((args.permits.yes, args.prompt), (want, vec!["a".to_owned()]), "{line:?}");
        }
    }

    #[test]
    fn flags_may_stand_behind_the_prompt() {
        let args = run_args(&["do", "this", "--allow", "edit", "--allow", "bash:ls *", "--deny", "net", "-f", "a.png"]);
        assert_eq!(args.prompt, ["do", "this"]);
        assert_eq!((args.permits.allow.len(), args.permits.deny.len(), args.file.len()), (2, 1, 1));
    }

    #[test]
    fn a_workspace_that_is_too_wide_is_told() {
        for (worktree, word) in [
            ("/", Some("whole file system")),
            ("/home", Some("holds your home")),
            ("/home/u", Some("holds your home")),
            ("/home/u/project", None),
            ("/srv/x", None),
        ] {
            let told = wide(Path::new(worktree), Some(Path::new("/home/u")));
            assert_eq!(told.is_some(), word.is_some(), "{worktree}");
            assert!(told.unwrap_or_default().contains(word.unwrap_or_default()), "{worktree}");
        }
    }

    #[test]
    fn the_surface_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "bc".into()], vec!["def".into(), "g".into(), "h".into()]];
        assert_eq!(columns(&rows), "a    bc\ndef  g   h\n");
    }
}
