//! Does the steps of an undo, or takes them back, in a way that can be cut short at any point and picked up again.
//!
//! Between two moves each path has one step, and the step can tell from what stands there whether it is done. A move changes names,
//! so the place before and after each is written down. That is all that has to be known to go on, either way.

use super::error::UndoError;
use super::tree::same;
use model::journal::Image;
use model::undo::{Disk, Step, StoredUndo, UndoId, UndoLedger, UndoState};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Contents that are in memory at once: so many steps, so many bytes.
const CHUNK: usize = 128;
const CHUNK_BYTES: u64 = 32 << 20;

pub(super) struct Worker {
    pub ledger: Arc<dyn UndoLedger>,
    pub disk: Arc<dyn Disk>,
}

/// Where work goes on, forward: every step before it is in place.
pub(super) fn resume_at(stored: &StoredUndo) -> usize {
    let steps = &stored.undo.steps;
    let done = stored.done.min(steps.len());
    match stored.state {
        UndoState::Applying => done,
        // The last piece may be half gone.
        UndoState::Returning if done > 0 && is_move(&steps[done - 1]) => done - 1,
        UndoState::Returning => steps[..done].iter().rposition(is_move).map_or(0, |at| at + 1),
        UndoState::Done | UndoState::Redone => 0,
    }
}

/// Where taking back begins: no step from it on is in place.
pub(super) fn return_from(stored: &StoredUndo) -> usize {
    let steps = &stored.undo.steps;
    let done = stored.done.min(steps.len());
    match stored.state {
        UndoState::Done => steps.len(),
        UndoState::Returning => done,
        UndoState::Applying if steps.get(done).is_some_and(is_move) => done + 1,
        UndoState::Applying => steps[done..].iter().position(is_move).map_or(steps.len(), |at| done + at),
        UndoState::Redone => 0,
    }
}

fn is_move(step: &Step) -> bool {
    matches!(step, Step::Move { .. })
}

impl Worker {
    /// Does all steps from `from` on.
    pub(super) async fn forward(&self, id: UndoId, steps: &[Step], from: usize) -> Result<(), UndoError> {
        let state = UndoState::Applying;
        let mut puts = vec![];
        for (at, step) in steps.iter().enumerate().skip(from) {
            if !is_move(step) {
                puts.push(step.clone());
                continue;
            }
            self.put_all(std::mem::take(&mut puts)).await?;
            self.ledger.progress(id, state, at).await?;
            self.move_one(step.clone()).await?;
            self.ledger.progress(id, state, at + 1).await?;
        }
        self.put_all(puts).await
    }

    /// Takes back all steps before `from`, the last first.
    pub(super) async fn back(&self, id: UndoId, steps: &[Step], from: usize) -> Result<(), UndoError> {
        let state = UndoState::Returning;
        self.ledger.progress(id, state, from).await?;
        let mut puts = vec![];
        for (at, step) in steps.iter().enumerate().take(from).rev() {
            if !is_move(step) {
                puts.push(step.reversed());
                continue;
            }
            self.put_all(std::mem::take(&mut puts)).await?;
            self.ledger.progress(id, state, at + 1).await?;
            self.move_one(step.reversed()).await?;
            self.ledger.progress(id, state, at).await?;
        }
        self.put_all(puts).await
    }

    async fn put_all(&self, steps: Vec<Step>) -> Result<(), UndoError> {
        let mut chunk = vec![];
        let mut bytes = 0;
        for step in steps {
            bytes += size(&step);
            chunk.push(step);
            if chunk.len() >= CHUNK || bytes >= CHUNK_BYTES {
                self.put_chunk(std::mem::take(&mut chunk)).await?;
                bytes = 0;
            }
        }
        self.put_chunk(chunk).await
    }

    async fn put_chunk(&self, steps: Vec<Step>) -> Result<(), UndoError> {
        if steps.is_empty() {
            return Ok(());
        }
        let wanted = steps.iter().filter_map(wanted).collect();
        let contents: HashMap<_, _> = self.ledger.contents(wanted).await?.into_iter().collect();
        let disk = self.disk.clone();
        on_disk(move || steps.iter().try_for_each(|step| put_one(disk.as_ref(), step, &contents))).await
    }

    async fn move_one(&self, step: Step) -> Result<(), UndoError> {
        let disk = self.disk.clone();
        on_disk(move || rename_one(disk.as_ref(), &step)).await
    }
}

/// Work on the disk, where it holds up nobody.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UndoError> + Send + 'static,
) -> Result<T, UndoError> {
    tokio::task::spawn_blocking(work).await.map_err(|e| UndoError::BrokeOff(e.to_string()))?
}

fn size(step: &Step) -> u64 {
    match step {
        Step::Put { to: Image::File { size, .. }, .. } => *size,
        Step::Put { .. } | Step::Move { .. } => 0,
    }
}

/// The content that a step writes; none where only the mode changes.
fn wanted(step: &Step) -> Option<String> {
    match step {
        Step::Put { from: Image::File { hash: old, .. }, to: Image::File { hash, .. }, shared: false, .. }
            if old == hash =>
        {
            None
        }
        Step::Put { to: Image::File { hash, .. }, .. } => Some(hash.clone()),
        Step::Put { .. } | Step::Move { .. } => None,
    }
}

fn put_one(disk: &dyn Disk, step: &Step, contents: &HashMap<String, Vec<u8>>) -> Result<(), UndoError> {
    let Step::Put { path, from, to, shared } = step else { return Ok(()) };
    let now = disk.look(path)?.image;
    if same(&now, to) {
        return Ok(());
    }
    // A file that is written where it is may have been left half written.
    let torn = *shared && matches!(now, Image::File { .. });
    if !same(&now, from) && !torn {
        return Err(UndoError::Interfered(path.clone()));
    }
    let content = wanted(step).and_then(|hash| contents.get(&hash));
    if content.is_none() && wanted(step).is_some() {
        return Err(UndoError::BrokeOff(format!("the content of {} is not in the journal any more", path.display())));
    }
    Ok(disk.put(path, to, content.map(Vec::as_slice), *shared)?)
}

fn rename_one(disk: &dyn Disk, step: &Step) -> Result<(), UndoError> {
    let Step::Move { from, to } = step else { return Ok(()) };
    match (is_there(disk, from)?, is_there(disk, to)?) {
        (true, false) => Ok(disk.rename(from, to)?),
        (false, true) => Ok(()),
        (true, true) => Err(UndoError::Interfered(to.clone())),
        (false, false) => Err(UndoError::Interfered(PathBuf::from(from))),
    }
}

fn is_there(disk: &dyn Disk, path: &Path) -> Result<bool, UndoError> {
    Ok(disk.look(path)?.image != Image::Absent)
}
