//! `airlock session diff`: what a session changed, as a patch; and the patch that a failed run leaves behind.

use super::parse_id;
use crate::cli::{Format, print, print_foreign, print_json};
use crate::report::Report;
use crate::wire;
use agent::journal::{Changes, FileChange, UndoError, changes, patch_of};
use clap::Args;
use model::id::SessionId;
use model::store::Store;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use store::Ledger;

#[derive(Debug, Args)]
pub struct DiffArgs {
    id: String,
    /// Compare with the files as they stand now, not as the session left them
    #[arg(long)]
    now: bool,
    /// A patch, or a JSON object a file
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &DiffArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let ledger = super::ledger().await?;
    let patch = Patch::of(ledger, &id).await?;
    if args.format == Format::Text {
        show(&patch.moves())?;
    }
    for change in &patch.changes.files {
        let text = patch.piece(change, args.now).await?;
        match args.format {
            Format::Text => show(&text)?,
            Format::Json => print_json(
                &json!({ "file": change.path, "before": change.before, "after": change.after, "patch": text }),
            )?,
        }
    }
    Ok(())
}

/// A patch goes to a file or a program as it is; only a terminal gets it cleaned.
fn show(text: &str) -> Result<(), Report> {
    if std::io::stdout().is_terminal() { print_foreign(text) } else { print(text) }
}

/// What a session changed, with what is needed to write it as a patch.
pub struct Patch {
    ledger: Arc<Ledger>,
    worktree: std::path::PathBuf,
    changes: Changes,
}

impl Patch {
    pub async fn of(ledger: Arc<Ledger>, session: &SessionId) -> Result<Self, UndoError> {
        let worktree = ledger.session(session).await?.worktree;
        let changes = changes(ledger.as_ref(), session).await?;
        Ok(Self { ledger, worktree, changes })
    }

    fn moves(&self) -> String {
        let line = |(from, to): &(std::path::PathBuf, std::path::PathBuf)| {
            format!("# the folder {} became {}\n", from.display(), to.display())
        };
        self.changes.moved.iter().map(line).collect()
    }

    async fn piece(&self, change: &FileChange, now: bool) -> Result<String, UndoError> {
        patch_of(self.ledger.as_ref(), wire::disk().as_ref(), &self.worktree, change, now).await
    }

    /// Writes the patch to a file.
    ///
    /// # Errors
    /// A ledger that fails, a file that can't be written.
    pub async fn write_to(&self, file: &Path) -> Result<(), Report> {
        let bad = |e: std::io::Error| {
            let what = format!("the patch could not be written to {}: {e}", file.display());
            Report::internal(what)
        };
        let mut out = std::io::BufWriter::new(std::fs::File::create(file).map_err(bad)?);
        out.write_all(self.moves().as_bytes()).map_err(bad)?;
        for change in &self.changes.files {
            let text = self.piece(change, false).await?;
            out.write_all(text.as_bytes()).map_err(bad)?;
        }
        out.flush().map_err(bad)
    }
}
