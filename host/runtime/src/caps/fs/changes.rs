//! What the call changes and reads: journal entries from begin to finish, and what the session has seen.
//!
//! *Stale*: the session saw a file, somebody else changed it since, and now the call wants to change it too. What counts is what
//! was seen before this call, so that the call's own read hides no foreign change; and what this call itself read, so that a
//! change between its read and its write counts too.

use super::Failure;
use super::handle::{self, Handle};
use super::image;
use crate::caps::{Funnel, Refused};
use model::fault::FailureKind;
use model::journal::{Entry, EntryId, Image, Op, Seen};
use model::tool::ToolFailure;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Acts that change something, in one call. More is a flood.
pub(super) const MOST_CHANGES: usize = 16_384;

pub(super) struct Changes {
    funnel: Arc<Funnel>,
    /// Files let through for writing, until nobody can write to them any more.
    writing: Vec<Writing>,
    /// Real paths that this call changed.
    own: HashSet<PathBuf>,
    /// Files that the call names and read, as they were before the first read.
    read: HashMap<PathBuf, Seen>,
    begun: usize,
}

/// A file that is open for writing, its journal entry begun.
pub(super) struct Writing {
    pub(super) id: EntryId,
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
    /// As it was before the first write; `None` = this call made it.
    pub(super) found: Option<(Seen, Image)>,
    /// As it was when the guest let go of it.
    pub(super) left: Option<Seen>,
}

impl Writing {
    /// Whether nobody but us holds the handle: no descriptor and no stream.
    fn is_over(&self) -> bool {
        Arc::strong_count(&self.file) == 1
    }
}

impl Changes {
    pub(super) fn new(funnel: Arc<Funnel>) -> Self {
        Self { funnel, writing: Vec::new(), own: HashSet::new(), read: HashMap::new(), begun: 0 }
    }

    /// Whether a file may be changed that stands so now.
    ///
    /// # Errors
    /// Refused as stale.
    pub(super) async fn check_stale(&mut self, path: &Path, now: &Seen) -> Result<(), Failure> {
        if self.own.contains(path) {
            return Ok(());
        }
        let remembered = self.remembered(path).await?;
        if [remembered.as_ref(), self.read.get(path)].into_iter().flatten().all(|seen| seen == now) {
            return Ok(());
        }
        let what = format!(
            "{} was changed by someone else since it was read: read it again, then repeat the change.",
            path.display()
        );
        Err(self.funnel.refuse(ToolFailure::new(FailureKind::Stale, what)).into())
    }

    async fn remembered(&self, path: &Path) -> Result<Option<Seen>, Failure> {
        let seen = self.funnel.journal.seen(&self.funnel.actor.session, path).await;
        seen.map_err(|why| image::unkept(&self.funnel, &why))
    }

    /// The call is about to read this file. Only one that it names counts as seen.
    pub(super) fn note_read(&mut self, path: &Path, seen: Seen) {
        if self.funnel.names(path) && !self.own.contains(path) && !self.read.contains_key(path) {
            self.read.insert(path.into(), seen);
        }
    }

    /// Notes an act before it is done.
    ///
    /// # Errors
    /// Refused when the journal fails, or after too many acts.
    pub(super) async fn begin(&mut self, op: Op, path: &Path, before: &Image) -> Result<EntryId, Failure> {
        self.count()?;
        let actor = &self.funnel.actor;
        let entry = Entry {
            session: actor.session.clone(),
            message: actor.message.clone(),
            call: actor.call.clone(),
            tool: actor.tool.clone(),
            op,
            path: path.into(),
            before: before.clone(),
            time: now_ms(),
        };
        self.funnel.journal.begin(entry).await.map_err(|why| image::unkept(&self.funnel, &why))
    }

    fn count(&mut self) -> Result<(), Refused> {
        self.begun += 1;
        if self.begun <= MOST_CHANGES {
            return Ok(());
        }
        let what = format!("One call may change at most {MOST_CHANGES} files: do it in several.");
        Err(self.funnel.refuse(ToolFailure::new(FailureKind::Limit, what)))
    }

    /// Notes what stands there after an act.
    pub(super) async fn finish(&mut self, id: EntryId, after: Image) {
        if let Err(why) = self.funnel.journal.finish(id, after).await {
            // The act is done and its before is kept: undo still works, only redo does not.
            tracing::warn!(%why, "a change is journalled without its after");
        }
    }

    /// This call changed what stands at `path`, and left it so; `None` = nothing is there any more.
    pub(super) async fn mark_own(&mut self, path: &Path, left: Option<Seen>) {
        self.read.remove(path);
        self.own.insert(path.into());
        if let Some(seen) = left {
            self.mark(path, seen).await;
        }
    }

    /// This call changed names or times of a file, not its content: whoever had seen it before still has.
    pub(super) async fn carry(&mut self, path: &Path, before: &Seen, after: &Seen) {
        if let Some(seen) = self.read.get_mut(path).filter(|seen| *seen == before) {
            *seen = after.clone();
        }
        if self.remembered(path).await.is_ok_and(|seen| seen.as_ref() == Some(before)) {
            self.mark(path, after.clone()).await;
        }
    }

    async fn mark(&self, path: &Path, seen: Seen) {
        if let Err(why) = self.funnel.journal.mark_seen(&self.funnel.actor.session, path, seen).await {
            // The older mark stands: the next change is refused until the file is read again.
            tracing::warn!(%why, "a file is not marked as seen");
        }
    }

    pub(super) fn own(&self) -> &HashSet<PathBuf> {
        &self.own
    }

    pub(super) fn write(&mut self, writing: Writing) {
        self.own.insert(writing.path.clone());
        self.writing.push(writing);
    }

    /// A descriptor was dropped: how did the guest leave the file? Taken at once, since others may write to it from now on.
    pub(super) fn look_at_left(&mut self) {
        for writing in self.writing.iter_mut().filter(|w| w.is_over() && w.left.is_none()) {
            writing.left = handle::seen(&*writing.file).ok();
        }
    }

    /// Finishes the entries of files that the guest let go of.
    pub(super) async fn finish_left(&mut self) {
        while let Some(at) = self.writing.iter().position(Writing::is_over) {
            let writing = self.writing.swap_remove(at);
            self.finish_writing(writing).await;
        }
    }

    pub(super) async fn settle(&mut self, ok: bool) {
        for writing in std::mem::take(&mut self.writing) {
            self.finish_writing(writing).await;
        }
        for (path, seen) in std::mem::take(&mut self.read) {
            if ok {
                self.mark(&path, seen).await;
            }
        }
    }

    async fn finish_writing(&mut self, writing: Writing) {
        let Ok(handle) = Handle::behind(&*writing.file) else { return };
        let now = handle.seen();
        let untouched = writing.found.filter(|(seen, _)| *seen == now);
        if let Some((_, before)) = untouched {
            self.finish(writing.id, before).await;
            return;
        }
        let after = image::take(&self.funnel, &handle).await;
        // It may have another name by now; a name that this call gave it is as much its own. Said first: it is stored with the after.
        if let Some(path) = handle.real().ok().filter(|real| self.own.contains(real)) {
            self.mark_own(&path, Some(writing.left.unwrap_or(now))).await;
        }
        if let Ok(after) = after {
            self.finish(writing.id, after).await;
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
