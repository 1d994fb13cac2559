//! A run, once everything is known that it needs: wired, carried out, settled.

use super::RunArgs;
use super::told::{Shown, Stood, broke_off, screen, tell};
use crate::attempts::Trials;
use crate::cli::session::diff::Patch;
use crate::cli::{Ground, say};
use crate::inputs::{Ask, Desk, Wanted};
use crate::minds::ByName;
use crate::naming::Naming;
use crate::report::{Exit, Report};
use crate::wire::{self, Rooms};
use crate::{review, signals};
use agent::{Job, Ports};
use model::event::{Ending, RunOutcome};
use model::id::SessionId;
use model::permission::Asker;
use model::provider::Provider;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a run is carried out with.
pub(super) struct Laid<'a> {
    pub args: &'a RunArgs,
    pub ground: &'a Ground,
    pub rooms: &'a Rooms,
    pub provider: Arc<dyn Provider>,
    pub minds: Arc<ByName>,
}

/// A run under way.
struct Going<'a> {
    laid: &'a Laid<'a>,
    shown: Shown,
    asker: Arc<dyn Asker>,
    ports: Ports,
    cancel: CancellationToken,
    checklist: Option<Option<String>>,
}

impl Laid<'_> {
    pub(super) async fn drive(&self, mut job: Job, wanted: Wanted) -> Result<Exit, Report> {
        let Self { args, ground, rooms, .. } = self;
        let screen = screen();
        let shown = Shown::new(args.format, &screen);
        let asker = wire::asker(args.permits.yes, &screen, ground);
        let (session, model) = (job.session.id.clone(), job.session.model.to_string());
        let (provider, minds) = (self.provider.clone(), self.minds.clone());
        let ports = wire::ports(ground, rooms, provider, minds, &job, asker.clone(), shown.sink()).await?;
        let cancel = signals::cancel_on_interrupt();
        let checklist = args.review.as_deref().map(checklist).transpose()?;
        let is_quiet = args.no_reply || matches!(wanted.ask, Ask::Shell(_));
        let desk = Desk { ground, ports: &ports, session: &job.session, cancel: &cancel };
        let composed = desk.compose(wanted).await.map_err(|report| broke_off(&shown, &session, report))?;
        job.prompt = composed.prompt;
        let going = Going { laid: self, shown, asker, ports, cancel, checklist };
        let ended = match is_quiet {
            true => going.noted(job, composed.printed).await,
            false => going.carried_out(job).await,
        };
        going.ports.hooks.settle().await;
        let stood = match ended {
            Ok(stood) => stood,
            Err(report) => {
                self.leave_patch(&session).await;
                return Err(broke_off(&going.shown, &session, report));
            }
        };
        // What the bounds of the ledger ask for is no part of the run's own success.
        if let Err(why) = rooms.ledger.keep_tidy(ground.config.storage, wire::now_ms()).await {
            say(&format!("the ledger was not brought within its bounds: {why}"));
        }
        if !matches!(stood.outcome.ending, Ending::Done) {
            self.leave_patch(&stood.session).await;
        }
        Ok(tell(&going.shown, &model, &stood))
    }

    /// The run failed: what was changed is not to be looked for. A patch that fails too says so and hides nothing.
    async fn leave_patch(&self, session: &SessionId) {
        let Some(file) = &self.args.on_error_patch else { return };
        let left = async { Patch::of(self.rooms.ledger.clone(), session).await?.write_to(file).await };
        match left.await {
            Ok(()) => say(&format!("what the session changed is in {}", file.display())),
            Err(report) => report.print(),
        }
    }
}

impl Going<'_> {
    /// The prompt is kept, and nobody is asked.
    async fn noted(&self, job: Job, printed: String) -> Result<Stood, Report> {
        let session = job.session.id.clone();
        let outcome = agent::note(job, &self.ports, self.cancel.clone()).await?;
        Ok(Stood { session, outcome: RunOutcome { text: printed, ..outcome }, attempts: vec![] })
    }

    async fn carried_out(&self, job: Job) -> Result<Stood, Report> {
        match self.laid.args.attempts {
            Some(most @ 2..) => self.tried(job, most).await,
            _ => self.once(job).await,
        }
    }

    async fn once(&self, job: Job) -> Result<Stood, Report> {
        let Laid { args, ground, rooms, .. } = self.laid;
        let session = job.session.id.clone();
        let naming = Naming::begin(ground, &self.ports, &job, args.title.is_some(), &self.cancel);
        let reviewed = self.checklist.clone().map(|checklist| (job.clone(), checklist));
        let mut ended = agent::run(job, &self.ports, self.cancel.clone()).await.map_err(Report::from);
        if let (Ok(first), Some((job, checklist))) = (&ended, reviewed) {
            let desk = review::Desk { ground, rooms, ports: &self.ports, checklist };
            ended = desk.second_look(job, first.clone(), &self.cancel).await;
        }
        if let Some(naming) = naming {
            naming.settle(&rooms.ledger).await;
        }
        Ok(Stood { session, outcome: ended?, attempts: vec![] })
    }

    async fn tried(&self, job: Job, most: u32) -> Result<Stood, Report> {
        let Laid { ground, rooms, .. } = self.laid;
        let trials = Trials {
            ground,
            rooms,
            ports: &self.ports,
            asker: &self.asker,
            sink: self.shown.sink(),
            checklist: self.checklist.clone().flatten(),
            cancel: &self.cancel,
            most,
        };
        let (trial, attempts, outcome) = trials.run(job).await?;
        Ok(Stood { session: trial, outcome, attempts })
    }
}

/// The points of a review; without a file the built-in ones.
fn checklist(file: &str) -> Result<Option<String>, Report> {
    if file.is_empty() {
        return Ok(None);
    }
    let bad = |e: std::io::Error| {
        let what = format!("the checklist {file} cannot be read: {e}");
        Report::usage(what, "Give a file with the points to check, or --review alone.")
    };
    std::fs::read_to_string(file).map(Some).map_err(bad)
}
