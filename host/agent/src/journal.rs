//! Undo and redo, from recorded writes. Everything is planned and checked before anything is done; what is done is written down
//! before it is begun, so that an undo that was cut short can be finished or taken back.

mod apply;
mod diff;
mod error;
mod plan;
mod select;
#[cfg(test)]
mod tests;
mod tree;

pub use diff::{Changes, FileChange, changes, patch_of};
pub use error::{Obstacle, UndoError};
pub use plan::lost_by;

use crate::input::Drafting;
use crate::run::Clock;
use apply::{Worker, on_disk, resume_at, return_from};
use model::id::{MessageId, SessionId};
use model::journal::{EntryId, Image};
use model::message::WithParts;
use model::store::Claim;
use model::undo::{Disk, Reach, Recorded, Step, StoredUndo, Target, Told, Undo, UndoLedger, UndoState};
use plan::Plan;
use select::Meant;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Lines of what changed that the model is told.
const TOLD: usize = 50;

/// Takes back, and puts back.
pub struct Rewinder {
    pub ledger: Arc<dyn UndoLedger>,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
}

/// Contents up to this size are kept.
const KEPT: u64 = 8 << 20;

/// What becomes of contents that are in no journal yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unseen {
    Keep,
    Leave,
}

/// An undo with the parts that only its making needs.
struct Draft {
    undo: Undo,
    obstacles: Vec<Obstacle>,
}

impl Rewinder {
    /// What an undo would do; nothing is changed.
    ///
    /// # Errors
    /// Everything that would keep it from being done, obstacles excepted: they are in the answer.
    pub async fn preview(
        &self,
        session: &SessionId,
        target: Option<Target>,
        reach: Reach,
    ) -> Result<(Undo, Vec<Obstacle>), UndoError> {
        if self.half_done(session).await?.is_some() {
            return Err(UndoError::HalfDone(session.clone()));
        }
        let draft = self.draft(session, target, reach, Unseen::Leave).await?;
        Ok((draft.undo, draft.obstacles))
    }

    /// Takes back what is meant; without a target, the newest prompt and everything after it. An undo that was cut short is
    /// finished instead.
    ///
    /// # Errors
    /// [`UndoError`]; unless it says that work is half done, nothing was changed.
    pub async fn undo(
        &self,
        session: &SessionId,
        target: Option<Target>,
        reach: Reach,
    ) -> Result<StoredUndo, UndoError> {
        let _claims = self.claim(session).await?;
        if let Some(half) = self.half_done(session).await? {
            return self.finish(half).await;
        }
        let draft = self.draft(session, target, reach, Unseen::Keep).await?;
        self.carry_out(session, draft).await
    }

    /// The session goes back itself: this message and everything after it leaves its talk, and `letter` joins it. Its claim is held
    /// by whoever asks; nobody may work on a session below it.
    ///
    /// # Errors
    /// As [`Rewinder::undo`].
    pub(crate) async fn go_back(
        &self,
        session: &SessionId,
        message: MessageId,
        reach: Reach,
        letter: String,
    ) -> Result<StoredUndo, UndoError> {
        let _claims = self.claim_below(session).await?;
        let target = Some(Target::Since { message });
        let mut draft = self.draft(session, target, reach, Unseen::Keep).await?;
        draft.undo.note = Some(MessageId::new());
        draft.undo.letter = Some(letter);
        self.carry_out(session, draft).await
    }

    async fn carry_out(&self, session: &SessionId, draft: Draft) -> Result<StoredUndo, UndoError> {
        let Draft { undo, obstacles } = draft;
        if !obstacles.is_empty() {
            return Err(UndoError::Obstacles(obstacles));
        }
        let id = self.ledger.begin_undo(session, &undo).await?;
        let stored = StoredUndo { id, session: session.clone(), state: UndoState::Applying, done: 0, undo };
        self.finish(stored).await
    }

    /// Puts back what was taken back last. An undo that was cut short is taken back instead.
    ///
    /// # Errors
    /// As [`Rewinder::undo`].
    pub async fn redo(&self, session: &SessionId, reach: Reach) -> Result<StoredUndo, UndoError> {
        let _claims = self.claim(session).await?;
        let undos = self.ledger.undos(session).await?;
        let newest = undos.into_iter().rev().find(|u| u.state != UndoState::Redone);
        let stored = newest.ok_or_else(|| UndoError::NothingToRedo(session.clone()))?;
        let talk = reach != Reach::Files;
        if stored.state == UndoState::Done {
            if talk {
                self.check_talk(&stored).await?;
            }
            self.check_files(&stored.undo.steps).await?;
        }
        let from = return_from(&stored);
        self.worker().back(stored.id, &stored.undo.steps, from).await?;
        self.ledger.redone(stored.id, talk).await?;
        Ok(StoredUndo { state: UndoState::Redone, done: 0, ..stored })
    }

    /// An undo of the session that was cut short, if there is one.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn half_done(&self, session: &SessionId) -> Result<Option<StoredUndo>, UndoError> {
        Ok(self.ledger.undos(session).await?.into_iter().find(|u| u.state.is_half_done()))
    }

    fn worker(&self) -> Worker {
        Worker { ledger: self.ledger.clone(), disk: self.disk.clone() }
    }

    /// Nobody works on the session, or on one below it, meanwhile.
    async fn claim(&self, session: &SessionId) -> Result<Vec<Box<dyn Claim>>, UndoError> {
        self.ledger.session(session).await?;
        let mut claims = vec![self.ledger.claim(session).await?];
        claims.append(&mut self.claim_below(session).await?);
        Ok(claims)
    }

    async fn claim_below(&self, session: &SessionId) -> Result<Vec<Box<dyn Claim>>, UndoError> {
        let mut claims = vec![];
        for id in self.ledger.family(session).await?.iter().filter(|id| *id != session) {
            claims.push(self.ledger.claim(id).await?);
        }
        Ok(claims)
    }

    async fn finish(&self, stored: StoredUndo) -> Result<StoredUndo, UndoError> {
        let from = resume_at(&stored);
        if stored.state == UndoState::Returning {
            self.ledger.progress(stored.id, UndoState::Applying, from).await?;
        }
        self.worker().forward(stored.id, &stored.undo.steps, from).await?;
        let note = self.note(&stored).await?;
        self.ledger.undone(stored.id, note).await?;
        Ok(StoredUndo { state: UndoState::Done, done: stored.undo.steps.len(), ..stored })
    }

    /// Keeps contents that acts left whose end nobody saw, so that they can be put back.
    async fn keep(&self, unseen: &[(PathBuf, Image)]) -> Result<(), UndoError> {
        for (path, image) in unseen {
            if !matches!(image, Image::File { .. }) {
                continue;
            }
            let (disk, path) = (self.disk.clone(), path.clone());
            if let Some((hash, content)) = on_disk(move || Ok(disk.read(&path)?)).await? {
                self.ledger.keep(&hash, content).await?;
            }
        }
        Ok(())
    }

    async fn draft(
        &self,
        session: &SessionId,
        target: Option<Target>,
        reach: Reach,
        unseen: Unseen,
    ) -> Result<Draft, UndoError> {
        let info = self.ledger.session(session).await?;
        let told = self.ledger.told(session).await?;
        let target = target.or_else(|| select::newest_prompt(&told));
        let target = target.ok_or_else(|| UndoError::NothingToUndo(session.clone()))?;
        let mut meant = select::resolve(session, &told, &target)?;
        if reach == Reach::Talk && matches!(target, Target::Call { .. } | Target::Child { .. }) {
            return Err(UndoError::NoTalkAlone);
        }
        let family = self.ledger.family(&info.id).await?;
        let below = self.below(session, &family, &target, &mut meant).await?;
        let acts = if reach == Reach::Talk { vec![] } else { self.ledger.recorded(&family).await? };
        let (theirs, others): (Vec<&Recorded>, Vec<&Recorded>) = acts.iter().partition(|a| meant.covers(a, &below));
        let entries: Vec<EntryId> = theirs.iter().map(|a| a.id).collect();
        let messages = if reach == Reach::Files { vec![] } else { std::mem::take(&mut meant.messages) };
        if entries.is_empty() && messages.is_empty() {
            return Err(nothing(session, &told, target));
        }
        let mut plan = plan::plan(&theirs, &others, self.disk.as_ref())?;
        if unseen == Unseen::Keep {
            self.keep(&plan.unseen).await?;
        }
        self.weigh(&mut plan).await?;
        plan.remarks.append(&mut meant.uncovered);
        let note = (messages.is_empty() && !plan.steps.is_empty()).then(MessageId::new);
        let undo = Undo {
            target,
            reach,
            steps: plan.steps,
            entries,
            messages,
            note,
            letter: None,
            remarks: plan.remarks,
            time: self.clock.now_ms(),
        };
        Ok(Draft { undo, obstacles: plan.obstacles })
    }

    /// The sessions that are meant, with all below them, and what their calls did not cover.
    async fn below(
        &self,
        session: &SessionId,
        family: &[SessionId],
        target: &Target,
        meant: &mut Meant,
    ) -> Result<HashSet<SessionId>, UndoError> {
        let mut below = HashSet::new();
        for child in std::mem::take(&mut meant.children) {
            let is_below = child != *session && family.contains(&child);
            match target {
                _ if is_below => below.extend(self.ledger.family(&child).await?),
                Target::Child { .. } => return Err(UndoError::NoChild(session.clone(), child)),
                // It was deleted, or this is a fork of the talk that began it.
                Target::Since { .. } | Target::Step { .. } | Target::Call { .. } => {}
            }
        }
        for child in &below {
            if self.half_done(child).await?.is_some() {
                return Err(UndoError::HalfDone(child.clone()));
            }
            let told = self.ledger.told(child).await?;
            meant.add_uncovered(&told);
        }
        Ok(below)
    }

    async fn weigh(&self, plan: &mut Plan) -> Result<(), UndoError> {
        let wanted = plan::hashes(&plan.steps).into_iter().collect();
        let mut missing: HashSet<String> = self.ledger.missing(wanted).await?.into_iter().collect();
        for (_, image) in &plan.unseen {
            if let Image::File { hash, size: ..=KEPT, .. } = image {
                missing.remove(hash);
            }
        }
        plan::weigh(plan, &missing);
        Ok(())
    }

    /// Messages are put back only where they stood: at the end.
    async fn check_talk(&self, stored: &StoredUndo) -> Result<(), UndoError> {
        let (Target::Since { .. }, Some(last)) = (&stored.undo.target, stored.undo.messages.last()) else {
            return Ok(());
        };
        let told = self.ledger.told(&stored.session).await?;
        let after = told.iter().rev().take_while(|t| t.message.info.id() != last);
        let is_its_own = |t: &&Told| stored.undo.note.as_ref() == Some(t.message.info.id());
        let went_on = after.into_iter().filter(|t| !is_its_own(t)).any(|t| t.undone_by.is_none());
        if went_on { Err(UndoError::TalkWentOn(stored.session.clone())) } else { Ok(()) }
    }

    async fn check_files(&self, steps: &[Step]) -> Result<(), UndoError> {
        let back: Vec<Step> = steps.iter().rev().map(Step::reversed).collect();
        let (disk, plan) = (self.disk.clone(), back.clone());
        let obstacles = on_disk(move || Ok(plan::rehearse(plan.into_iter(), disk.as_ref())?)).await?;
        let mut plan = Plan { steps: back, obstacles, ..Plan::default() };
        self.weigh(&mut plan).await?;
        if plan.obstacles.is_empty() { Ok(()) } else { Err(UndoError::Obstacles(plan.obstacles)) }
    }

    /// What the model is told where its words stay and its work does not.
    async fn note(&self, stored: &StoredUndo) -> Result<Option<WithParts>, UndoError> {
        let Some(id) = &stored.undo.note else { return Ok(None) };
        let session = self.ledger.session(&stored.session).await?;
        let agent = session.agent.clone();
        let drafting = Drafting { session: &session, agent: &agent, schema: None, now: self.clock.now_ms() };
        let said = stored.undo.letter.clone().unwrap_or_else(|| told_to_model(&stored.undo));
        Ok(Some(drafting.note_as(id.clone(), said)))
    }
}

fn nothing(session: &SessionId, told: &[Told], target: Target) -> UndoError {
    match target {
        Target::Since { message } | Target::Step { message }
            if told.iter().any(|t| *t.message.info.id() == message && t.undone_by.is_some()) =>
        {
            UndoError::AlreadyUndone(message)
        }
        _ => UndoError::NothingToUndo(session.clone()),
    }
}

fn told_to_model(undo: &Undo) -> String {
    let mut lines: Vec<String> = undo.steps.iter().take(TOLD).map(|step| format!("- {}", describe(step))).collect();
    if undo.steps.len() > TOLD {
        lines.push(format!("- and {} more", undo.steps.len() - TOLD));
    }
    let what = match &undo.target {
        Target::Call { call } => format!("what the call {call} had changed"),
        Target::Child { .. } => "what a sub-agent had changed".into(),
        Target::Since { .. } | Target::Step { .. } => "changes that were made".into(),
    };
    format!("The person took back {what} on the disk:\n{}\nRead a file again before you rely on it.", lines.join("\n"))
}

/// A step as a person reads it.
#[must_use]
pub fn describe(step: &Step) -> String {
    match step {
        Step::Move { from, to } => format!("moved {} back to {}", from.display(), to.display()),
        Step::Put { path, from, to, .. } => format!("{} {}", deed(from, to), path.display()),
    }
}

fn deed(from: &Image, to: &Image) -> &'static str {
    match (from, to) {
        (_, Image::Absent) => "removed",
        (Image::Absent, Image::Folder) => "made the folder",
        (Image::Absent, _) => "brought back",
        (Image::File { hash, .. }, Image::File { hash: other, .. }) if hash == other => "set the mode of",
        _ => "restored",
    }
}
