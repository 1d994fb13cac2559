//! What programs changed on the disk. A program is native code and its writes pass through no funnel, so the folders that its sandbox
//! lets it change are looked at before and after, within bounds; what differs is journalled like any other act.
//!
//! What lies outside the bounds is not guessed at: the call's metadata say so (`scan.uncovered`), and so does an undo.

mod look;
mod spool;

use super::Funnel;
use super::fs::image_at;
use look::{Found, Look};
use model::fault::FailureKind;
use model::journal::{Entry, Image, JournalError, Op};
use model::tool::ToolFailure;
use serde_json::{Value, json};
use spool::Spool;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Changes that are journalled of one call; more are counted only.
const MOST_CHANGES: usize = 2000;

/// What is remembered between calls: contents as they were last seen. One a runtime.
#[derive(Default)]
pub struct Scanner {
    spool: Mutex<Spool>,
}

/// The eye of one call. Looks before its first program, and after its last.
pub struct Watch {
    scanner: Arc<Scanner>,
    roots: Vec<PathBuf>,
    /// Never looked at.
    hidden: Vec<PathBuf>,
    before: Mutex<Option<Look>>,
    /// Known not to be seen, beside what the look itself leaves out.
    unseen: Mutex<Vec<String>>,
}

impl Watch {
    #[must_use]
    pub fn new(scanner: Arc<Scanner>, roots: Vec<PathBuf>, hidden: Vec<PathBuf>) -> Self {
        Self { scanner, roots, hidden, before: Mutex::new(None), unseen: Mutex::default() }
    }

    /// A program is about to start. Only the first time counts.
    pub async fn before(self: &Arc<Self>) {
        if self.lock().is_some() {
            return;
        }
        let watch = Arc::clone(self);
        let look = move || {
            let mut spool = watch.scanner.spool.lock().unwrap_or_else(PoisonError::into_inner);
            let mut look = Look::at(&watch.roots, &watch.hidden);
            spool.take_in(&mut look);
            drop(spool);
            *watch.lock() = Some(look);
        };
        if let Err(why) = tokio::task::spawn_blocking(look).await {
            tracing::warn!(%why, "the folders of a program were not looked at");
        }
    }

    /// Says what its programs may change that no look sees.
    pub fn leaves_out(&self, what: Vec<String>) {
        let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.extend(what);
    }

    /// A program runs on: what was changed is not known before it ends, and nothing of it is journalled.
    pub fn gives_up(&self) -> Option<Value> {
        self.lock().take()?;
        Some(json!({ "changed": 0, "uncovered": ["what a program in the background changes"] }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Look>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All programs of the call have ended. Journals what they changed, but for what the call changed itself; answers with what a
    /// program may want to know, `None` where none ran.
    pub async fn after(self: &Arc<Self>, funnel: &Funnel, own: &HashSet<PathBuf>) -> Option<Value> {
        let before = self.lock().take()?;
        let watch = Arc::clone(self);
        let look = tokio::task::spawn_blocking(move || Look::at(&watch.roots, &watch.hidden));
        let Ok(after) = look.await else { return None };
        let mut uncovered = before.uncovered.clone();
        uncovered.append(&mut self.unseen.lock().unwrap_or_else(PoisonError::into_inner));
        let mut changes = changes(&before, &after, &mut uncovered);
        changes.retain(|change| !own.contains(&change.path));
        if changes.len() > MOST_CHANGES {
            uncovered.push(format!("{} further changes", changes.len() - MOST_CHANGES));
            changes.truncate(MOST_CHANGES);
        }
        let mut noted = 0;
        for change in changes {
            match self.note(funnel, change).await {
                Ok(was_one) => noted += usize::from(was_one),
                Err(why) => {
                    // The program has run: all that is left is to say it.
                    funnel.refuse(ToolFailure::new(
                        FailureKind::Failed,
                        format!("Its changes were not journalled: {why}."),
                    ));
                    uncovered.push(format!("changes that were not journalled ({why})"));
                    break;
                }
            }
        }
        Some(json!({ "changed": noted, "uncovered": uncovered }))
    }

    /// False = it was none after all.
    async fn note(&self, funnel: &Funnel, change: Change) -> Result<bool, JournalError> {
        let path = change.path;
        let Some(after) = image_at(funnel, &path).await else { return Ok(false) };
        if after == change.before {
            return Ok(false);
        }
        if let Image::File { hash, kept: true, .. } = &change.before {
            let content = self.scanner.spool.lock().unwrap_or_else(PoisonError::into_inner).content(hash);
            if let Some(content) = content {
                funnel.journal.keep(hash, content).await?;
            }
        }
        let actor = &funnel.actor;
        let entry = Entry {
            session: actor.session.clone(),
            message: actor.message.clone(),
            call: actor.call.clone(),
            tool: actor.tool.clone(),
            op: op(&change.before, &after),
            path,
            before: change.before,
            time: now_ms(),
        };
        let id = funnel.journal.begin(entry).await?;
        funnel.journal.finish(id, after).await?;
        Ok(true)
    }
}

struct Change {
    path: PathBuf,
    before: Image,
}

/// Where the two looks differ. Pure but for asking whether what is missing in the second is really gone.
fn changes(before: &Look, after: &Look, uncovered: &mut Vec<String>) -> Vec<Change> {
    let mut changes = vec![];
    for (path, found) in &before.found {
        let is_same = after.found.get(path).is_some_and(|now| now.is_as(found));
        if !is_same {
            changes.push(Change { path: path.clone(), before: found.image.clone() });
        }
    }
    let new: Vec<(&PathBuf, &Found)> =
        after.found.iter().filter(|(path, _)| !before.found.contains_key(*path)).collect();
    // What was not looked at before may have been there.
    if before.is_whole && before.rules() == after.rules() {
        changes.extend(new.into_iter().map(|(path, _)| Change { path: path.clone(), before: Image::Absent }));
    } else if !new.is_empty() {
        uncovered.push(format!("{} paths that may be new", new.len()));
    }
    changes
}

fn op(before: &Image, after: &Image) -> Op {
    match (before, after) {
        (Image::Folder, _) => Op::RemoveFolder,
        (_, Image::Absent) => Op::Unlink,
        (_, Image::Folder) => Op::MakeFolder,
        (_, Image::Link { .. }) => Op::Symlink,
        (Image::Absent, _) => Op::Create,
        (_, _) => Op::Write,
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a path lies in one of these.
fn lies_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests;
