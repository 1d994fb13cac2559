//! `airlock doctor`: what this machine offers, line by line. A line that fails does not hide the others.

mod attack;

use super::{Format, Ground, Listing, columns, print_foreign, print_json};
use crate::config::choice::{self, Context};
use crate::config::probe;
use crate::report::{Exit, Report};
use crate::wire;
use clap::Args;
use model::store::{Kin, Store};
use serde::Serialize;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    listing: Listing,
    /// Attack the boundary with components that harm nothing, and show how each attack ends
    #[arg(long)]
    attack: bool,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    weight: Weight,
    found: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Fine,
    /// Everything works, with less protection or more slowly.
    Warning,
    /// Something cannot work.
    Failure,
}

impl Finding {
    fn of<E: std::fmt::Display>(what: &'static str, found: Result<String, E>) -> Self {
        match found {
            Ok(found) => Self::new(what, Weight::Fine, found),
            Err(why) => Self::new(what, Weight::Failure, why.to_string()),
        }
    }

    fn new(what: &'static str, weight: Weight, found: String) -> Self {
        Self { what, ok: weight == Weight::Fine, weight, found }
    }

    /// What would be a failure elsewhere is bearable here.
    fn bearable(self) -> Self {
        let weight = if self.weight == Weight::Failure { Weight::Warning } else { self.weight };
        Self { weight, ..self }
    }
}

pub async fn main(args: &DoctorArgs) -> Result<Exit, Report> {
    let ground = Ground::of(&args.listing)?;
    ground.print_notices();
    let findings = if args.attack { attack::findings().await? } else { findings(&ground).await };
    match args.listing.format {
        Format::Json => findings.iter().try_for_each(print_json)?,
        Format::Text => print_foreign(&columns(&findings.iter().map(row).collect::<Vec<_>>()))?,
    }
    Ok(if findings.iter().any(|f| f.weight == Weight::Failure) { Exit::Failed } else { Exit::Well })
}

fn row(f: &Finding) -> Vec<String> {
    let mark = match f.weight {
        Weight::Fine => "ok",
        Weight::Warning => "!!",
        Weight::Failure => "NO",
    };
    vec![mark.into(), f.what.into(), f.found.clone()]
}

async fn findings(ground: &Ground) -> Vec<Finding> {
    let paths = &ground.paths;
    let fine = |what, found: String| Finding::new(what, Weight::Fine, found);
    let files: Vec<String> = ground.config.files.iter().map(|f| f.display().to_string()).collect();
    vec![
        fine("version", env!("CARGO_PKG_VERSION").into()),
        fine("config", if files.is_empty() { "none; the defaults hold".into() } else { files.join(", ") }),
        fine("workspace", ground.place.worktree.display().to_string()),
        Finding::of("ledger", ledger(ground).await),
        Finding::of("outputs", writable(&paths.data.join("outputs"))),
        Finding::of("cache", writable(&paths.cache.join("compiled"))).bearable(),
        Finding::of("plugins", plugins().await),
        wire::sandbox().map_or_else(
            || {
                Finding::new(
                    "sandbox",
                    Weight::Warning,
                    "none: programs run without one (see --require-sandbox)".into(),
                )
            },
            |level| fine("sandbox", level),
        ),
        fine("model", model(ground).await),
    ]
}

async fn ledger(ground: &Ground) -> Result<String, model::store::StoreError> {
    let ledger = wire::ledger(&ground.paths)?;
    ledger.try_out().await?;
    let newest = ledger.sessions(Kin::All, 1).await?;
    let state = if newest.is_empty() { "no session yet" } else { "sound" };
    Ok(format!("{} ({state})", ground.paths.data.join("airlock.db").display()))
}

/// Tried with a file: what is full or read-only looks as sound as anything.
fn writable(folder: &Path) -> Result<String, String> {
    let at = folder.display();
    let try_out = || -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&[0; 4096])?;
        file.as_file().sync_data()
    };
    try_out().map(|()| at.to_string()).map_err(|e| format!("{at} cannot be written: {e}"))
}

async fn plugins() -> Result<String, Report> {
    let runtime = wire::runtime().await?;
    match runtime.unsound()?.into_iter().next() {
        Some(why) => Err(why.into()),
        None => Ok(runtime.names().join(", ")),
    }
}

async fn model(ground: &Ground) -> String {
    let answers = probe::local_servers().await;
    let chosen = choice::without_looking(&ground.config, Context::default(), |k| ground.keys.find(k))
        .unwrap_or_else(|| choice::after_looking(&answers));
    let served: Vec<String> =
        answers.iter().map(|a| format!("port {} serves {}", a.server.port, a.models.join(", "))).collect();
    let served = if served.is_empty() { "no local server answers".into() } else { served.join("; ") };
    format!("{} ({served})", chosen.model)
}
