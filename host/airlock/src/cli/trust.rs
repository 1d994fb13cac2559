//! `airlock trust`: what a repository's `airlock.toml` may do beyond making things stricter.

use super::{Format, columns, place, print_foreign, print_json};
use crate::config::paths::Paths;
use crate::config::trust::{Trust, TrustError};
use crate::config::{Untrusted, untrusted};
use crate::report::Report;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrustArgs {
    #[command(subcommand)]
    command: Option<TrustCommand>,
    /// A folder of the workspace, instead of the working directory
    dir: Option<PathBuf>,
    /// The same, as other commands have it
    #[arg(long = "dir", value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List what is trusted
    List {
        /// Text for people or JSON for programs
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Trust a workspace no longer
    Revoke {
        /// A folder of the workspace, instead of the working directory
        dir: Option<PathBuf>,
    },
}

pub fn main(args: &TrustArgs) -> Result<(), Report> {
    let paths = Paths::find()?;
    let folder = args.folder.as_deref();
    match &args.command {
        None => trust(&paths, args.dir.as_deref().or(folder)),
        Some(TrustCommand::List { format }) => list(&paths, *format),
        Some(TrustCommand::Revoke { dir }) => revoke(&paths, dir.as_deref()),
    }
}

fn file_of(dir: Option<&Path>) -> Result<PathBuf, Report> {
    let place = place(dir)?;
    place.workspace_config().ok_or_else(|| {
        let what = format!("there is no airlock.toml in {} or above it", place.directory.display());
        Report::usage(what, "There is nothing to trust: what a workspace may do is said there.")
    })
}

fn trust(paths: &Paths, dir: Option<&Path>) -> Result<(), Report> {
    let file = file_of(dir)?;
    let Untrusted { keys, digest, plugins } = untrusted(&file, paths.home.as_deref())?;
    let digest = digest.ok_or_else(|| {
        let what = format!("{} names a file (a component, or `http.ca_file`) that cannot be read", file.display());
        Report::usage(what, "Put it where the config says, relative to its folder, or take it out of there.")
    })?;
    Trust::add(&paths.data, &file, &digest)?;
    let counts = if keys.is_empty() { "nothing yet that needed it".into() } else { keys.join(", ") };
    let plugins: String = plugins.iter().map(|p| format!("  {p}\n")).collect();
    print_foreign(&format!("{} is trusted as it is now; this counts: {counts}\n{plugins}", file.display()))
}

fn list(paths: &Paths, format: Format) -> Result<(), Report> {
    let trust = Trust::load(&paths.data)?;
    let state = |file: &Path, known: &str| match untrusted(file, paths.home.as_deref()) {
        Ok(Untrusted { digest: Some(now), .. }) if now == known => "trusted",
        Ok(_) => "changed since: not trusted",
        Err(_) => "gone, or cannot be read",
    };
    let rows = trust.workspaces.iter().map(|(file, known)| (file, state(file, known)));
    match format {
        Format::Json => {
            rows.map(|(file, state)| json!({ "file": file, "state": state })).try_for_each(|r| print_json(&r))
        }
        Format::Text => {
            let rows: Vec<_> = rows.map(|(file, state)| vec![file.display().to_string(), state.to_owned()]).collect();
            print_foreign(&columns(&rows))
        }
    }
}

fn revoke(paths: &Paths, dir: Option<&Path>) -> Result<(), Report> {
    let file = match remembered(paths, dir.unwrap_or(Path::new(".")))? {
        Some(file) => file,
        None => file_of(dir)?,
    };
    Trust::revoke(&paths.data, &file)?;
    print_foreign(&format!("{} is not trusted any more\n", file.display()))
}

/// What is trusted there, whether or not it still is there: `trust list` shows files that are gone too.
fn remembered(paths: &Paths, dir: &Path) -> Result<Option<PathBuf>, Report> {
    let trust = Trust::load(&paths.data)?;
    let whole = dir.canonicalize().or_else(|_| std::path::absolute(dir)).unwrap_or_else(|_| dir.to_owned());
    let candidates = [whole.join("airlock.toml"), whole];
    Ok(candidates.into_iter().find(|file| trust.workspaces.contains_key(file)))
}

impl From<TrustError> for Report {
    fn from(error: TrustError) -> Self {
        Self::usage(error.to_string(), error.hint())
    }
}
