//! `--attempts`: one task, tried several times from the same start in the same workspace. Each attempt is a session of its own; a reviewer
//! gives it a score, its files are taken back, and the best one is put back at the end. How budgets are shared and which one is best is
//! decided in `agent::attempts`.

use crate::cli::session::fork::fork;
use crate::cli::{Ground, say};
use crate::report::{self, Exit, Report};
use crate::review::{self, with_costs_of};
use crate::wire::{self, Rooms};
use agent::attempts::{Tried, best, share, used_by};
use agent::journal::{Rewinder, UndoError, lost_by};
use agent::{Job, Ports};
use model::budget::{Limits, Used};
use model::event::{Ending, EventSink, RunOutcome};
use model::id::SessionId;
use model::permission::Asker;
use model::session::Session;
use model::store::{Change, Store};
use model::undo::{Reach, Target};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What the attempts are made with.
pub struct Trials<'a> {
    pub ground: &'a Ground,
    pub rooms: &'a Rooms,
    /// Of the first attempt; the others are wired anew, so that none inherits what a gate remembers.
    pub ports: &'a Ports,
    pub asker: &'a Arc<dyn Asker>,
    pub sink: Arc<dyn EventSink>,
    /// The person's own points to check.
    pub checklist: Option<String>,
    pub cancel: &'a CancellationToken,
    /// At most so many.
    pub most: u32,
}

/// One attempt, as it is told of.
#[derive(Clone, Debug)]
pub struct Trial {
    pub session: SessionId,
    pub outcome: RunOutcome,
    pub score: Option<u8>,
    pub problems: Vec<String>,
    pub stands: bool,
    /// Messages that its session began with.
    before: usize,
    /// Whether its files lie in the journal, ready to be put back.
    is_taken_back: bool,
}

impl Trial {
    fn tried(&self) -> Tried {
        let ended_well = self.outcome.ending == Ending::Done;
        Tried { ended_well, score: self.score, problems: self.problems.len() }
    }

    /// As programs read it.
    #[must_use]
    pub fn as_json(&self) -> Value {
        json!({
            "sessionID": self.session, "exit": report::exit_of(&self.outcome).code(), "score": self.score,
            "problems": self.problems, "stands": self.stands,
        })
    }
}

impl Trials<'_> {
    /// Tries until an attempt is without a fault, the attempts are used up, or what they may use together is.
    ///
    /// An attempt that breaks off ends the trying and leaves what the others came to.
    ///
    /// # Errors
    /// A first attempt that breaks off; work that cannot be put back.
    pub async fn run(&self, job: Job) -> Result<(SessionId, Vec<Trial>, RunOutcome), Report> {
        let begun = Instant::now();
        let (mut all, mut total): (Vec<Trial>, Option<RunOutcome>) = (vec![], None);
        let mut stuck = false;
        for number in 0..self.most {
            let used = spent_of(total.as_ref(), begun);
            let limits = match share(&job.limits, &used, self.most - number) {
                Err(_) if !all.is_empty() => break,
                shared => shared.unwrap_or_else(|_| job.limits.clone()),
            };
            if let Some(last) = all.last_mut()
                && !self.clear_away(last).await
            {
                stuck = true;
                break;
            }
            let mut trial = match self.attempt(&job, number, limits).await {
                Err(why) if !all.is_empty() => {
                    say(&format!("attempt {} broke off, so there is no further one: {why}", number + 1));
                    break;
                }
                tried => tried?,
            };
            total = Some(together(&trial.outcome, total));
            let mut is_last = false;
            if let Ok(left) = share(&job.limits, &spent_of(total.as_ref(), begun), 1) {
                match self.look_at(&mut trial, &job, left).await {
                    Ok(looked) => total = looked.map(|l| together(&l, total.take())).or(total),
                    Err(why) => {
                        say(&format!("the review broke off, so there is no further attempt: {why}"));
                        is_last = true;
                    }
                }
            }
            say(&told(number, self.most, &trial));
            is_last |= self.cancel.is_cancelled() || trial.tried().is_flawless();
            all.push(trial);
            if is_last {
                break;
            }
        }
        let is_cut_off = self.cancel.is_cancelled() && !all.last().is_some_and(|t| t.tried().is_flawless());
        let chosen = self.choose(&mut all, stuck).await?;
        self.adopt(&all, chosen).await?;
        all[chosen].stands = true;
        say(&format!("attempt {} stands: {}", chosen + 1, all[chosen].session));
        let mut own = all[chosen].outcome.clone();
        if is_cut_off && own.ending == Ending::Done {
            own.ending = Ending::Interrupted;
        }
        let outcome = match total {
            Some(total) => RunOutcome { cost: total.cost, tokens: total.tokens, steps: total.steps, ..own },
            None => own,
        };
        Ok((all[chosen].session.clone(), all, outcome))
    }

    async fn attempt(&self, job: &Job, number: u32, limits: Limits) -> Result<Trial, Report> {
        let job = Job { session: self.session_for(job, number).await?, limits, ..job.clone() };
        let session = job.session.id.clone();
        let before = if job.is_new { 0 } else { self.rooms.ledger.history(&session).await?.len() };
        let own;
        let ports = match number {
            0 => self.ports,
            _ => {
                own = self.wired(&job).await?;
                &own
            }
        };
        let outcome = match agent::run(job, ports, self.cancel.clone()).await {
            Ok(outcome) => outcome,
            Err(why) => {
                if number > 0 {
                    self.clear_away_half(&session, before).await;
                }
                return Err(why.into());
            }
        };
        Ok(Trial { session, outcome, score: None, problems: vec![], stands: false, before, is_taken_back: false })
    }

    /// Gives an attempt that ended well its score. With what the look used.
    async fn look_at(&self, trial: &mut Trial, job: &Job, limits: Limits) -> Result<Option<RunOutcome>, Report> {
        if trial.outcome.ending != Ending::Done || self.cancel.is_cancelled() {
            return Ok(None);
        }
        let session = self.rooms.ledger.session(&trial.session).await?;
        let job = Job { session, limits, ..job.clone() };
        let (ground, rooms, ports) = (self.ground, self.rooms, self.ports);
        let desk = review::Desk { ground, rooms, ports, checklist: self.checklist.clone() };
        let (verdict, looked) = desk.compare(&job, &trial.outcome.text, self.cancel).await?;
        if let Some(verdict) = verdict {
            (trial.score, trial.problems) = (verdict.score, verdict.problems);
        }
        Ok(Some(looked))
    }

    /// The session of an attempt: the job's own or a new one; where the talk goes on, a copy each, so that the start stays what it was.
    async fn session_for(&self, job: &Job, number: u32) -> Result<Session, Report> {
        if !job.is_new {
            let copy = fork(&self.rooms.ledger, &job.session, None).await?;
            return Ok(copy);
        }
        let id = if number == 0 { job.session.id.clone() } else { SessionId::new() };
        Ok(Session { id, ..job.session.clone() })
    }

    async fn wired(&self, job: &Job) -> Result<Ports, Report> {
        let (provider, minds) = (self.ports.provider.clone(), self.ports.minds.clone());
        wire::ports(self.ground, self.rooms, provider, minds, job, self.asker.clone(), self.sink.clone()).await
    }

    fn rewinder(&self) -> Rewinder {
        wire::rewinder(self.rooms.ledger.clone())
    }

    /// Takes the files of an attempt back. False where that cannot be done: then it has to stand, and nothing is tried on top of it.
    async fn clear_away(&self, trial: &mut Trial) -> bool {
        if trial.is_taken_back {
            return true;
        }
        if let Some(file) = self.lost_with(trial).await {
            let (file, session) = (file.display(), &trial.session);
            say(&format!(
                "{file} is too large to be kept aside, so the files of {session} are not taken back, and it stands"
            ));
            return false;
        }
        let taken = self.take_back(&trial.session, trial.before).await;
        trial.is_taken_back = matches!(taken, Ok(true));
        match taken {
            Ok(_) => true,
            Err(why) => {
                say(&format!("the files of {} cannot be taken back, so it stands: {why}", trial.session));
                false
            }
        }
    }

    /// A file of an attempt that could not be put back in its place if the attempt is to stand after all.
    async fn lost_with(&self, trial: &Trial) -> Option<PathBuf> {
        let history = self.rooms.ledger.history(&trial.session).await.ok()?;
        let target = Target::Since { message: history.get(trial.before)?.info.id().clone() };
        let (undo, obstacles) = self.rewinder().preview(&trial.session, Some(target), Reach::Files).await.ok()?;
        // Where something is in the way nothing is taken back, and the reason is another.
        lost_by(&undo).filter(|_| obstacles.is_empty()).map(Path::to_path_buf)
    }

    /// What an attempt left that broke off: it is none that could stand, and another one is to be put back in its place.
    async fn clear_away_half(&self, session: &SessionId, before: usize) {
        if let Err(why) = self.take_back(session, before).await {
            say(&format!("the files of {session} cannot be taken back: {why}"));
        }
    }

    /// False = there was nothing to take back.
    async fn take_back(&self, session: &SessionId, before: usize) -> Result<bool, UndoError> {
        let history = self.rooms.ledger.history(session).await?;
        let Some(first) = history.get(before) else { return Ok(false) };
        let target = Target::Since { message: first.info.id().clone() };
        match self.rewinder().undo(session, Some(target), Reach::Files).await {
            Ok(done) => {
                done.undo.remarks.iter().for_each(|remark| say(&format!("not taken back: {remark}")));
                Ok(true)
            }
            Err(UndoError::NothingToUndo(_)) => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Which one stands, with its files in place. One that was cut off by the person stands only where none before it ended well.
    async fn choose(&self, all: &mut [Trial], stuck: bool) -> Result<usize, Report> {
        let last = all.len().saturating_sub(1);
        let tried: Vec<Tried> = all.iter().map(Trial::tried).collect();
        let chosen = best(&tried).filter(|_| !stuck).unwrap_or(last);
        if chosen != last && !self.clear_away(&mut all[last]).await {
            return Ok(last);
        }
        if std::mem::take(&mut all[chosen].is_taken_back) {
            let back = self.rewinder().redo(&all[chosen].session, Reach::Files).await;
            back.map_err(|why| not_put_back(chosen, &all[chosen].session, &why))?;
        }
        Ok(chosen)
    }

    /// The others go below the one that stands, which is then the newest of its folder.
    async fn adopt(&self, all: &[Trial], chosen: usize) -> Result<(), Report> {
        let ledger = &self.rooms.ledger;
        let mut changes = vec![];
        for (at, trial) in all.iter().enumerate().filter(|(at, _)| *at != chosen) {
            let mut session = ledger.session(&trial.session).await?;
            session.parent_id = Some(all[chosen].session.clone());
            session.title = format!("{} (attempt {})", session.title, at + 1);
            changes.push(Change::Session(session));
        }
        changes.push(Change::Session(ledger.session(&all[chosen].session).await?));
        Ok(ledger.apply(changes).await?)
    }
}

/// The work is not lost: it lies in the journal.
fn not_put_back(chosen: usize, session: &SessionId, why: &UndoError) -> Report {
    let what = format!("attempt {} is to stand, and its files cannot be put back: {why}", chosen + 1);
    let next = format!("Once nothing stands in the way, `airlock session redo {session}` puts them back.");
    Report::new(Exit::Failed, what, next)
}

/// What all have used up to now.
fn spent_of(total: Option<&RunOutcome>, begun: Instant) -> Used {
    total.map_or_else(Used::default, |total| used_by(total, begun.elapsed()))
}

fn together(outcome: &RunOutcome, so_far: Option<RunOutcome>) -> RunOutcome {
    match so_far {
        Some(so_far) => with_costs_of(outcome.clone(), &so_far),
        None => outcome.clone(),
    }
}

fn told(number: u32, most: u32, trial: &Trial) -> String {
    let how = match (&trial.outcome.ending, trial.score) {
        (Ending::Done, Some(score)) => format!("score {score}, {} problems", trial.problems.len()),
        (Ending::Done, None) => "not reviewed".to_owned(),
        _ => "came to no good end".to_owned(),
    };
    let problems: String = trial.problems.iter().map(|p| format!("\n- {}", p.trim())).collect();
    format!("attempt {} of {most} ({}): {how}{problems}", number + 1, trial.session)
}
