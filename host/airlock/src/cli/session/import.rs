//! `airlock session import`: an export of ours, or of a host with the same shapes.

use crate::cli::{Format, print_foreign, print_json, say};
use crate::report::Report;
use crate::wire;
use agent::import::{Defaults, ImportError, Outline, messages, outline};
use clap::Args;
use model::id::{MessageId, PartId, SessionId};
use model::message::WithParts;
use model::session::Session;
use model::store::{Change, Store};
use serde_json::json;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Ledger, Renames, rename};
use tokio::sync::mpsc;

/// Messages of one transaction.
const BATCH: usize = 200;

#[derive(Debug, Args)]
pub struct ImportArgs {
    file: PathBuf,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &ImportArgs) -> Result<(), Report> {
    let bad = |why: String| {
        let what = format!("{} was not imported: {why}", args.file.display());
        Report::usage(what, "Give a file that `airlock session export ID` wrote.")
    };
    let open = || File::open(&args.file).map_err(|e| bad(e.to_string()));
    let found = outline(open()?, &defaults()?).map_err(|e| bad(e.to_string()))?;
    let ledger = super::ledger().await?;
    let names = names(&ledger, &found).await?;
    let session = renamed(found.session.clone(), &names)?;
    // Nobody may work on it before it is whole.
    let claim = ledger.claim(&session.id).await?;
    ledger.apply(vec![Change::Session(session.clone())]).await?;
    let file = open()?;
    let taken = take_over(&ledger, file, &found.session, &names, &bad).await;
    drop(claim);
    if let Err(report) = taken {
        ledger.delete(&session.id).await?;
        return Err(report);
    }
    tell(args.format, &found, &session)
}

fn defaults() -> Result<Defaults, Report> {
    let directory = std::env::current_dir()
        .map_err(|e| Report::usage(format!("the working directory can't be used: {e}"), "Go to another one."))?;
    let version = env!("CARGO_PKG_VERSION").into();
    Ok(Defaults { directory, agent: "build".into(), version, now: wire::now_ms() })
}

/// New names for all ids, where one of them is in use here; none otherwise.
async fn names(ledger: &Ledger, found: &Outline) -> Result<Renames, Report> {
    let mut seen = std::collections::HashSet::new();
    let is_unique = found.ids.iter().all(|id| seen.insert(id));
    if is_unique && !ledger.is_taken(found.ids.clone()).await? {
        return Ok(Renames::new());
    }
    let new = |id: &String| match id.split_once('_') {
        Some(("ses", _)) => SessionId::new().to_string(),
        Some(("msg", _)) => MessageId::new().to_string(),
        _ => PartId::new().to_string(),
    };
    Ok(found.ids.iter().map(|id| (id.clone(), new(id))).collect())
}

fn renamed<T: serde::Serialize + serde::de::DeserializeOwned>(record: T, names: &Renames) -> Result<T, Report> {
    if names.is_empty() {
        return Ok(record);
    }
    let broken = |e: serde_json::Error| Report::internal(format!("a record could not be renamed: {e}"));
    let mut value = serde_json::to_value(record).map_err(broken)?;
    rename(&mut value, names);
    serde_json::from_value(value).map_err(broken)
}

/// Reads on one thread, writes on the ledger's: a few batches are between them at most.
async fn take_over(
    ledger: &Arc<Ledger>,
    file: File,
    session: &Session,
    names: &Renames,
    bad: &impl Fn(String) -> Report,
) -> Result<(), Report> {
    let (batches, mut inbox) = mpsc::channel::<Vec<WithParts>>(2);
    let session = session.clone();
    let reading = tokio::task::spawn_blocking(move || read(file, &session, &batches));
    while let Some(batch) = inbox.recv().await {
        let batch = batch.into_iter().map(|m| renamed(m, names)).collect::<Result<Vec<_>, _>>()?;
        ledger.add(batch).await?;
    }
    match reading.await {
        Ok(done) => done.map_err(|e| bad(e.to_string())),
        Err(e) => Err(Report::internal(format!("the import broke off: {e}"))),
    }
}

fn read(file: File, session: &Session, batches: &mpsc::Sender<Vec<WithParts>>) -> Result<(), ImportError> {
    let mut batch = Vec::with_capacity(BATCH);
    let send = |batch: Vec<WithParts>| {
        batches.blocking_send(batch).map_err(|_| ImportError::Sink("the ledger takes no more".into()))
    };
    messages(file, session, &mut |message| {
        batch.push(message);
        if batch.len() < BATCH { Ok(()) } else { send(std::mem::take(&mut batch)) }
    })?;
    send(batch)
}

fn tell(format: Format, found: &Outline, session: &Session) -> Result<(), Report> {
    for (kind, n) in &found.left_out {
        say(&format!("left out: {n} parts of the kind {kind}"));
    }
    match format {
        Format::Json => print_json(&json!({
            "info": session, "messages": found.messages, "leftOut": found.left_out,
        })),
        Format::Text => print_foreign(&format!("{} {} ({} messages)\n", session.id, session.title, found.messages)),
    }
}
