//! `airlock session compact`: what was said so far is replaced by a summary before the window is full.

use super::parse_id;
use crate::cli::cassette::Cassette;
use crate::cli::{Format, Ground, Permits, print_foreign, print_json, run};
use crate::config::Overrides;
use crate::minds::ByName;
use crate::report::{self, Report};
use crate::signals;
use crate::tui::asker::Nobody;
use crate::wire::{self, Rooms};
use agent::{Job, Prompt, RunOptions};
use clap::Args;
use model::event::{Event, EventSink};
use model::provider::Provider;
use model::session::Session;
use model::store::Store;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Args)]
pub struct CompactArgs {
    id: String,
    /// The model that writes the summary, as provider/model; without it, `small_model` or that of the session
    #[arg(short, long, value_name = "P/M")]
    model: Option<String>,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Keeps what a summary came to: tokens before and after.
#[derive(Default)]
struct Heard(Mutex<Option<(u64, u64)>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        if let Event::Compacted { before, after, .. } = event {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((before, after));
        }
    }
}

pub async fn main(args: &CompactArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let session = super::ledger().await?.session(&id).await?;
    let flags = Overrides { model_name: args.model.clone(), ..Overrides::default() };
    let ground = Ground::find(Some(&session.directory), &Permits::default(), flags)?;
    let rooms = wire::open(&ground, false).ready().await?;
    run::whole(&session, &rooms).await?;
    let (job, provider, minds) = job(&ground, &rooms, session, args.model.is_some()).await?;
    let (heard, model) = (Arc::new(Heard::default()), job.session.model.to_string());
    let ports = wire::ports(&ground, &rooms, provider, minds, &job, Arc::new(Nobody), heard.clone()).await?;
    let outcome = agent::summarise(job, &ports, signals::cancel_on_interrupt()).await?;
    ports.hooks.settle().await;
    if let Some(report) = report::of_ending(&outcome.ending, &model) {
        return Err(report);
    }
    let (before, after) = heard.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    match args.format {
        Format::Json => print_json(&json!({ "sessionID": id, "before": before, "after": after })),
        Format::Text => print_foreign(&format!("summarised: about {before} tokens became {after}\n")),
    }
}

/// The session's own agent and model. A model that was named for the summary does not stay the session's.
async fn job(
    ground: &Ground,
    rooms: &Rooms,
    session: Session,
    named: bool,
) -> Result<(Job, Arc<dyn Provider>, Arc<ByName>), Report> {
    let profile = run::profile(ground, Some(&session))?;
    let choice = wire::choose(ground, &profile, Some(&session)).await;
    let minds = Arc::new(ByName::new(ground, rooms, Cassette::default()));
    let (mind, _) = minds.find(&choice.model)?;
    let policy = wire::policy(ground, &profile);
    let small = ground.config.small_model.as_ref().map(|m| m.value.clone());
    let options = RunOptions {
        instructions: run::told(ground, &ground.skills(), &profile, &policy),
        retry: wire::retry_policy(ground)?,
        compaction: ground.config.compaction,
        small: if named { Some(choice.model.clone()) } else { small },
        ..RunOptions::default()
    };
    let job = Job {
        session,
        is_new: false,
        prompt: Prompt::default(),
        profile,
        model: mind.model,
        policy,
        limits: ground.config.limits.clone(),
        options,
        roster: wire::roster(ground),
        offspring: ground.config.offspring,
    };
    Ok((job, mind.provider, minds))
}
