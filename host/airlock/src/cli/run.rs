//! `airlock run`: one task, from its prompt to its result.

mod drive;
mod told;

use super::session::{fork, parse_id};
use super::{Format, Ground, Permits, cassette, say};
use crate::config::choice::Choice;
use crate::config::models::VARIANTS;
use crate::config::{Origin, Overrides, agents};
use crate::inputs::Wanted;
use crate::instructions::Near;
use crate::minds::ByName;
use crate::report::{Exit, Report};
use crate::skills::{self, Skills};
use crate::wire::{self, Rooms};
use crate::{attach, commands, instructions};
use agent::journal::UndoError;
use agent::{Instruction, Job, Prompt, RunOptions};
use clap::Args;
use drive::Laid;
use model::budget::{Limits, Tokens};
use model::id::SessionId;
use model::permission::Policy;
use model::profile::Profile;
use model::session::{Session, SessionTime};
use model::store::Store;
use model::wildcard;
use rust_decimal::Decimal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to do. Text on standard input is appended
    pub prompt: Vec<String>,
    /// The model, as provider/model or a name of [aliases]; with `:high` and its like behind it, how much it thinks
    #[arg(short, long, value_name = "P/M")]
    model: Option<String>,
    /// How much the model thinks before it answers
    #[arg(long, value_name = "V", value_parser = clap::builder::PossibleValuesParser::new(VARIANTS))]
    variant: Option<String>,
    /// The agent; `airlock agents` lists them
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Go on with this session
    #[arg(short, long, value_name = "ID", conflicts_with = "continue_last")]
    session: Option<String>,
    /// Go on with the newest session of this folder
    #[arg(short, long = "continue")]
    continue_last: bool,
    /// Work on a copy of the session
    #[arg(long)]
    fork: bool,
    /// Work in this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Give the model a text file or an image (repeatable)
    #[arg(short, long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Run this command; the prompt is its arguments. `airlock run "/NAME …"` does the same
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// Have the answer looked at by an agent that saw nothing of the work; FILE holds the points to check
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    review: Option<String>,
    /// Try the task up to N times, each time from the same start; the attempt that a reviewer finds best stands, the files of the
    /// others are taken back. The limits are for all of them together. Ctrl-C ends the trying: the best one up to then stands
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20), conflicts_with_all = ["fork", "no_reply"])]
    attempts: Option<u32>,
    /// Store the prompt and ask nobody: the model reads it with the next one
    #[arg(long)]
    no_reply: bool,
    #[command(flatten)]
    pub permits: Permits,
    /// Text for people, or a JSON object a line for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Requests to the model, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// Cost in USD, at most
    #[arg(long, value_name = "USD", value_parser = amount)]
    cost: Option<Decimal>,
    /// Time, at most: 90s, 30m
    #[arg(long, value_name = "T", value_parser = humantime::parse_duration)]
    wall: Option<Duration>,
    /// Tokens of all requests together, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,
    /// Tokens of one answer, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_output_tokens: Option<u32>,
    /// How freely the model chooses its words, from 0 to 2
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f64>,
    /// A JSON Schema that the answer has to fit
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// How often the model may try again where its answer does not fit the schema
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(..=10))]
    schema_retries: u32,
    /// The session's title
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Where the run fails, leave what the session changed here, as a patch
    #[arg(long, value_name = "FILE")]
    on_error_patch: Option<PathBuf>,
    /// Keep all that is exchanged with the model in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from what was kept in this folder, without any network
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    /// With --replay: with the pauses that were recorded
    #[arg(long, requires = "replay")]
    replay_pauses: bool,
    /// Refuse to run programs without the OS sandbox
    #[arg(long)]
    require_sandbox: bool,
}

fn amount(text: &str) -> Result<Decimal, String> {
    let amount: Option<Decimal> = text.parse().ok();
    amount.filter(|a| !a.is_sign_negative()).ok_or_else(|| "an amount is written as 0.50".into())
}

fn temperature(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|t| (0.0..=2.0).contains(t)).ok_or_else(|| "it is a number from 0 to 2".into())
}

impl RunArgs {
    fn overrides(&self) -> Overrides {
        Overrides {
            model_name: self.model.clone(),
            agent: self.agent.clone(),
            limits: Limits {
                steps: self.steps,
                cost_usd: self.cost,
                wall: self.wall,
                tokens: self.tokens,
                ..Limits::default()
            },
            ..Overrides::default()
        }
    }

    fn ground(&self, dir: Option<&Path>) -> Result<Ground, Report> {
        Ground::find(dir, &self.permits, self.overrides())
    }

    fn goes_on(&self) -> bool {
        self.session.is_some() || self.continue_last
    }
}

/// Runs, prints, and says with which code to leave.
pub async fn main(args: &RunArgs) -> Result<Exit, Report> {
    if args.fork && !args.goes_on() {
        return Err(Report::usage("there is no session to copy", "Name it with --session, or use --continue."));
    }
    let ground = args.ground(args.dir.as_deref())?;
    ground.print_notices();
    // Both take a while: they open while the rest is read.
    let rooms = wire::open(&ground, args.require_sandbox);
    let given = attach::given(&args.prompt, &args.file)?;
    let schema = args.schema.as_deref().map(schema).transpose()?;
    let skills = Arc::new(ground.skills());
    let commands = commands::find(&ground.paths, &ground.place, &ground.config.inputs.commands, &skills);
    skills.notices.iter().chain(&commands.notices).for_each(|n| say(n));
    let wanted = Wanted::of(given, args.command.as_deref(), &commands)?;
    if wanted.is_empty() && !args.goes_on() {
        return Err(Report::usage("there is no prompt", "Say what to do: airlock run \"What is in this folder?\"."));
    }
    let rooms = rooms.ready().await?;
    let folder = ground.place.directory.clone();
    let (mut ground, old) = find_session(args, ground, &rooms).await?;
    // The session's own folder may be another one, whose config has other components, secrets and bounds.
    let rooms = match ground.place.directory == folder {
        true => rooms,
        false => wire::open(&ground, args.require_sandbox).ready().await?,
    };
    wanted.lay_into(&mut ground.config);
    start(args, &ground, &rooms, old, wanted, skills, schema).await
}

fn schema(file: &Path) -> Result<Value, Report> {
    let bad = |why: String| {
        let what = format!("the schema {} cannot be used: {why}", file.display());
        Report::usage(what, "Give a file that holds a JSON Schema.")
    };
    let text = std::fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| bad(format!("not JSON: {e}")))
}

/// The session that goes on, with the ground that it stands on: its own folder, unless another one is named.
async fn find_session(args: &RunArgs, ground: Ground, rooms: &Rooms) -> Result<(Ground, Option<Session>), Report> {
    let found = if let Some(id) = &args.session {
        Some(rooms.ledger.session(&parse_id(id)?).await?)
    } else if args.continue_last {
        Some(latest(&ground, rooms).await?)
    } else {
        None
    };
    let found = match found {
        Some(old) if args.fork => Some(fork::fork(&rooms.ledger, &old, None).await?),
        found => found,
    };
    if let Some(session) = &found {
        whole(session, rooms).await?;
    }
    let moved = found.as_ref().filter(|s| args.dir.is_none() && s.directory != ground.place.directory);
    let ground = match moved {
        Some(session) => args.ground(Some(&session.directory))?,
        None => ground,
    };
    Ok((ground, found))
}

/// A session whose files stand half before and half after an undo is not worked on.
pub(super) async fn whole(session: &Session, rooms: &Rooms) -> Result<(), Report> {
    match wire::rewinder(rooms.ledger.clone()).half_done(&session.id).await? {
        Some(_) => Err(UndoError::HalfDone(session.id.clone()).into()),
        None => Ok(()),
    }
}

async fn latest(ground: &Ground, rooms: &Rooms) -> Result<Session, Report> {
    let directory = &ground.place.directory;
    let none = || {
        let what = format!("there is no session of the folder {} to go on with", directory.display());
        Report::usage(what, "`airlock session list` shows those that exist.")
    };
    rooms.ledger.latest(directory).await?.ok_or_else(none)
}

async fn start(
    args: &RunArgs,
    ground: &Ground,
    rooms: &Rooms,
    old: Option<Session>,
    wanted: Wanted,
    skills: Arc<Skills>,
    schema: Option<Value>,
) -> Result<Exit, Report> {
    ground.check_permissions(&rooms.runtime)?;
    ground.warn_if_wide();
    let profile = profile(ground, old.as_ref())?;
    let choice = wire::choose(ground, &profile, old.as_ref()).await.with_variant(args.variant.as_deref());
    if let Some(notice) = choice.notice() {
        say(&notice);
    }
    let tape = cassette::load(args.record.as_deref(), args.replay.as_deref(), args.replay_pauses, ground)?;
    let minds = Arc::new(ByName::new(ground, rooms, tape));
    let (mind, notice) = minds.find(&choice.model)?;
    if let Some(notice) = notice {
        say(&notice);
    }
    let policy = wire::policy(ground, &profile);
    let is_new = old.is_none();
    let options = RunOptions {
        max_output_tokens: args.max_output_tokens,
        temperature: args.temperature,
        schema,
        schema_retries: Some(args.schema_retries),
        continue_on_deny: ground.config.go_on,
        instructions: told(ground, &skills, &profile, &policy),
        nearby: Some(Arc::new(Near { worktree: ground.place.worktree.clone() })),
        retry: wire::retry_policy(ground)?,
        compaction: ground.config.compaction,
        small: ground.config.small_model.as_ref().map(|m| m.value.clone()),
        fallback: ground.config.fallback.clone(),
    };
    let mut session = session(args, ground, old, &profile, &choice);
    if let Some(title) = wanted.title().filter(|_| session.title.is_empty()) {
        session.title = title;
    }
    let job = Job {
        session,
        is_new,
        prompt: Prompt::default(),
        profile,
        model: mind.model.clone(),
        policy,
        limits: ground.config.limits.clone(),
        options,
        roster: wire::roster(ground),
        offspring: ground.config.offspring,
    };
    Laid { args, ground, rooms, provider: mind.provider, minds }.drive(job, wanted).await
}

/// What holds for all of the session. Skills are told of where the agent can load one.
pub(super) fn told(ground: &Ground, skills: &Skills, profile: &Profile, policy: &Policy) -> Vec<Instruction> {
    let mut all = instructions::read(&ground.paths, &ground.place, &ground.config.inputs.instructions);
    let named = profile.tools.as_ref().is_none_or(|names| names.iter().any(|n| wildcard::matches(n, skills::TOOL)));
    if named && !policy.denies_all(skills::TOOL) {
        all.extend(skills.listing());
    }
    all
}

/// The agent of a session stays, unless a flag names another one.
pub(super) fn profile(ground: &Ground, old: Option<&Session>) -> Result<Profile, Report> {
    let said = &ground.config.agent;
    let kept = old.filter(|_| !matches!(said.by, Origin::Flag(_))).map(|s| s.agent.as_str());
    Ok(agents::pick(&ground.config.agents, kept.unwrap_or(&said.value))?)
}

fn session(args: &RunArgs, ground: &Ground, old: Option<Session>, profile: &Profile, choice: &Choice) -> Session {
    let now = wire::now_ms();
    let mut session = old.unwrap_or_else(|| Session {
        id: SessionId::new(),
        parent_id: None,
        summary: None,
        labels: model::flow::Labels::default(),
        title: String::new(),
        directory: PathBuf::new(),
        worktree: PathBuf::new(),
        agent: String::new(),
        model: choice.model.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        cost: Decimal::ZERO,
        tokens: Tokens::default(),
        time: SessionTime { created: now, updated: now },
    });
    session.directory.clone_from(&ground.place.directory);
    session.worktree.clone_from(&ground.place.worktree);
    session.agent.clone_from(&profile.name);
    session.model = choice.model.clone();
    if let Some(title) = &args.title {
        session.title.clone_from(title);
    }
    session
}
