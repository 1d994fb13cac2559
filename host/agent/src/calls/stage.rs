//! The stages of one call. Each is a type that only the stage before can make: nothing runs that was not permitted, nothing is
//! permitted that was not prepared.

use super::crew::Bench;
use super::doom;
use super::flow;
use super::output;
use super::scopes::{self, Footprint, Survey};
use crate::loop_guard::{CallMark, Circle};
use crate::shell;
use crate::toolset::Tool;
use crate::transcript::data_url;
use futures::FutureExt;
use model::fault::FailureKind;
use model::grant::CallGrant;
use model::hook::{CallContext, ResultView};
use model::permission::{Act, Action, Actor, Denial, Rule};
use model::provider::ModelCall;
use model::tool::{ProgressSink, ToolAttachment, ToolCall, ToolFailure, ToolOutput};
use model::tool_state::{Attachment, Done, Metadata};
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Bytes of broken arguments that are kept and quoted.
const MAX_QUOTE: usize = 2000;
/// The tool whose files have surroundings.
const READ: &str = "read";
/// Attachments of one result, together.
const MAX_ATTACHED: usize = 16 << 20;

/// A call whose tool exists, whose input fits and that no hook refused.
pub(crate) struct Prepared {
    call: ModelCall,
    tool: Arc<Tool>,
    input: Value,
    footprint: Footprint,
}

/// A prepared call that may happen, with what it may touch.
struct Permitted {
    prepared: Prepared,
    grant: CallGrant,
}

/// How a call ended, as it is stored.
#[derive(Clone)]
pub(crate) struct Settled {
    pub outcome: Outcome,
    /// Why the run has to end once the step is settled.
    pub halt: Option<Halt>,
}

/// Why a call ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A no, or nobody there to say yes.
    Denied(String),
    /// It goes round in circles, and nobody is there to let it.
    Looped(String),
}

#[derive(Clone)]
pub(crate) enum Outcome {
    Completed(Done),
    Failed { kind: FailureKind, message: String, metadata: Metadata },
}

impl Outcome {
    fn metadata(&mut self) -> &mut Metadata {
        match self {
            Self::Completed(done) => &mut done.metadata,
            Self::Failed { metadata, .. } => metadata,
        }
    }
}

/// A call that will not run, and why.
pub(crate) struct Refused {
    pub failure: ToolFailure,
    /// Boxed: most refusals have none, and a result is handed on by value.
    pub metadata: Box<Metadata>,
    halt: Option<Halt>,
}

impl Refused {
    pub(super) fn halting(failure: ToolFailure, halt: Option<Halt>) -> Self {
        Self { failure, metadata: Box::default(), halt }
    }
}

impl From<ToolFailure> for Refused {
    fn from(failure: ToolFailure) -> Self {
        Self::halting(failure, None)
    }
}

impl From<Refused> for Settled {
    fn from(refused: Refused) -> Self {
        let Refused { failure, metadata, halt } = refused;
        Self { outcome: Outcome::Failed { kind: failure.kind, message: failure.message, metadata: *metadata }, halt }
    }
}

impl Refused {
    /// The mark that the call will have once it is stored.
    pub(crate) fn mark(&self, call: &ModelCall) -> CallMark {
        let input = match serde_json::from_str(&call.input) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::Object(Map::new()),
        };
        CallMark::new(&call.name, &input, self.metadata.get("raw").and_then(Value::as_str))
    }
}

impl Prepared {
    pub(crate) fn input(&self) -> &Value {
        &self.input
    }

    pub(crate) fn tool_name(&self) -> &str {
        &self.tool.spec.name
    }

    pub(crate) fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    pub(crate) fn mark(&self) -> CallMark {
        CallMark::new(self.tool_name(), &self.input, None)
    }

    /// Whether it may have effects: such a call waits for the end of the model's step.
    pub(crate) fn acts(&self) -> bool {
        scopes::acts(&self.tool.spec)
    }

    /// Whether the same call once more would come to the same.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.tool.spec.annotations.read_only || self.tool.spec.annotations.idempotent
    }

    fn survey(&self, bench: &Bench) -> Survey {
        scopes::survey(&self.tool.spec, &self.input, &bench.session.directory, bench.places.as_ref())
    }

    fn context(&self, bench: &Bench) -> CallContext {
        bench.context(&self.call, self.tool_name())
    }
}

/// Parses, validates and lets the hooks see a call.
pub(crate) async fn prepare(call: ModelCall, bench: Arc<Bench>) -> Result<Prepared, Refused> {
    let guarded = AssertUnwindSafe(prepare_inner(call, &bench)).catch_unwind().await;
    guarded.unwrap_or_else(|_| Err(ToolFailure::new(FailureKind::Trap, "A hook before the call failed.").into()))
}

async fn prepare_inner(call: ModelCall, bench: &Bench) -> Result<Prepared, Refused> {
    let tool = bench.toolset.get(&call.name)?;
    let input = parse(&call.input)?;
    tool.validate(&input)?;
    let context = bench.context(&call, &tool.spec.name);
    let changed = bench.hooks.tool_before(&context, input.clone()).await.map_err(|denial| {
        ToolFailure::new(FailureKind::Denied, format!("The hook {} refused this call: {}", denial.hook, denial.reason))
    })?;
    if changed != input {
        tool.validate(&changed)?;
    }
    let mut prepared = Prepared { call, tool, input: changed, footprint: Footprint::Everything };
    prepared.footprint = prepared.survey(bench).footprint;
    Ok(prepared)
}

/// The arguments as an object. Nothing at all is an empty object; what is broken is never mended: a file would get half its text.
fn parse(raw: &str) -> Result<Value, Refused> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let problem = match serde_json::from_str::<Value>(raw) {
        Ok(object @ Value::Object(_)) => return Ok(object),
        Ok(_) => "they are JSON, but not an object".to_owned(),
        Err(why) => format!("they are not JSON: {why}"),
    };
    Err(broken(raw, &problem))
}

/// The refusal of arguments that cannot be read.
pub(crate) fn broken(raw: &str, problem: &str) -> Refused {
    let quote = &raw[..raw.floor_char_boundary(MAX_QUOTE)];
    let text = format!(
        "The arguments of this call cannot be used, {problem}. The call was not run. Write it again, whole. It ended in: {}",
        tail(raw, 80)
    );
    let mut metadata = Metadata::new();
    metadata.insert("raw".into(), Value::String(quote.to_owned()));
    Refused { failure: ToolFailure::new(FailureKind::InvalidInput, text), metadata: Box::new(metadata), halt: None }
}

fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// The whole way of a prepared call.
pub(crate) async fn carry_out(
    prepared: Prepared,
    suspicion: Option<Circle>,
    bench: Arc<Bench>,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
) -> Settled {
    if let Some(circle) = suspicion {
        let actor = bench.actor(&prepared.call, prepared.tool_name());
        if let Err(refused) = doom::confirm(circle, &actor, &prepared.input, &bench, &cancel).await {
            return refused.into();
        }
    }
    let tool = prepared.tool_name().to_owned();
    let around = Around::of(&prepared, &bench);
    let before = bench.gate.labels(&bench.session.id);
    let mut settled = match act(prepared, &bench, progress, cancel).await {
        Err(refused) => refused.into(),
        Ok(output) => complete(&tool, output, around, &bench).await,
    };
    let after = bench.gate.labels(&bench.session.id);
    if after != before {
        flow::note(settled.outcome.metadata(), &after);
    }
    settled
}

/// Permitted, run, and seen by the hooks: the one way to a tool, whoever makes the call.
pub(crate) async fn act(
    prepared: Prepared,
    bench: &Bench,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
) -> Result<ToolOutput, Refused> {
    let permitted = permit(prepared, bench, &cancel).await?;
    let output = execute(&permitted, bench, progress, cancel.clone()).await;
    let prepared = permitted.prepared;
    match output {
        Ok(output) => Ok(seen(&prepared, output, bench, &cancel).await),
        Err(failure) => Err(failed(&prepared, failure, bench)),
    }
}

/// A call that will not run and is suspect all the same: whoever answers may end the circle of refusals.
pub(crate) async fn refuse(
    call: ModelCall,
    refused: Refused,
    circle: Circle,
    bench: Arc<Bench>,
    cancel: CancellationToken,
) -> Settled {
    let actor = bench.actor(&call, &call.name);
    match doom::confirm(circle, &actor, &Value::String(call.input), &bench, &cancel).await {
        Ok(()) => refused.into(),
        Err(instead) => instead.into(),
    }
}

async fn permit(prepared: Prepared, bench: &Bench, cancel: &CancellationToken) -> Result<Permitted, Refused> {
    // Looked up again: a call before this one may have made a link.
    let Survey { acts, grant, .. } = prepared.survey(bench);
    let actor = bench.actor(&prepared.call, prepared.tool_name());
    let metadata = json!({ "tool": prepared.tool_name(), "input": prepared.input });
    match bench.gate.permit(&actor, &acts, metadata, cancel).await {
        Ok(()) => Ok(Permitted { prepared, grant }),
        Err(denial) => Err(denied(prepared.tool_name(), &acts, denial, || bench.gate.missing(&actor, &acts))),
    }
}

/// A rule's no and a no with a reason are for the model to read; a bare no, or silence, is for the person to settle.
fn denied(tool: &str, acts: &[Act], denial: Denial, missing: impl FnOnce() -> Option<Vec<Rule>>) -> Refused {
    let what = acts.iter().map(|a| a.in_words(tool)).collect::<Vec<_>>().join(", ");
    let failure = denial.failure(&what);
    let why = || format!("{tool} was not permitted to {what}: {denial}; {}", hint(missing()));
    Refused::halting(failure, blocks(&denial).then(|| Halt::Denied(why())))
}

pub(crate) fn blocks(denial: &Denial) -> bool {
    match denial {
        Denial::Unanswered | Denial::Rejected(None) => true,
        Denial::Rejected(Some(feedback)) => feedback.trim().is_empty(),
        Denial::Rule(_) | Denial::Hook(_) | Denial::Flow(_) | Denial::Cancelled => false,
    }
}

/// What a person may add to the command line, safe to paste into a shell.
fn hint(missing: Option<Vec<Rule>>) -> String {
    let Some(rules) = missing.filter(|rules| !rules.is_empty()) else {
        return "no rule would permit just this, a person has to be asked".to_owned();
    };
    let flag = |rule: &Rule| match rule.pattern.as_str() {
        "*" => rule.permission.clone(),
        pattern => format!("{}:{pattern}", rule.permission),
    };
    let words: Vec<String> = rules.iter().flat_map(|rule| ["--allow".to_owned(), flag(rule)]).collect();
    format!("{} would permit it", shell::quote(&words))
}

async fn execute(
    permitted: &Permitted,
    bench: &Bench,
    progress: Arc<dyn ProgressSink>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let Permitted { prepared, grant } = permitted;
    let env = if prepared.acts() { bench.hooks.process_env(&prepared.context(bench)).await } else { vec![] };
    let call = ToolCall {
        session: bench.session.id.clone(),
        message: bench.message.clone(),
        call: prepared.call.id.clone(),
        agent: bench.agent.clone(),
        tool: prepared.tool_name().to_owned(),
        input: prepared.input.clone(),
        workspace: bench.session.directory.clone(),
        worktree: bench.session.worktree.clone(),
        grant: grant.clone(),
        env,
        now_ms: bench.clock.now_ms(),
    };
    let result = bench.tools.call(call, progress, cancel.clone()).await;
    // Whatever a call that was cancelled says of its failure, the reason is that it was cancelled.
    result.map_err(|failure| match cancel.is_cancelled() {
        true => ToolFailure::new(FailureKind::Interrupted, format!("The call was interrupted. {}", failure.message)),
        false => failure,
    })
}

/// An act beyond the scopes is asked for while the call runs: the gate remembers how that ended.
fn failed(prepared: &Prepared, failure: ToolFailure, bench: &Bench) -> Refused {
    let asked = if failure.kind == FailureKind::Denied { bench.gate.blocked() } else { None };
    let why = |d| format!("{}: {d} ({})", prepared.tool_name(), failure.message);
    let halt = asked.filter(blocks).map(|d| Halt::Denied(why(d)));
    Refused::halting(failure, halt)
}

/// What the model and the ledger get for a result that a hook was still at work on when the run was stopped: the call has happened,
/// and what the hook would have taken out must not be told.
const WITHHELD: &str =
    "The call ended well. The run was interrupted before its result was through the hooks, so the result is not shown.";

async fn seen(prepared: &Prepared, output: ToolOutput, bench: &Bench, cancel: &CancellationToken) -> ToolOutput {
    let ToolOutput { title, text, metadata, attachments } = output;
    let (context, view) = (prepared.context(bench), ResultView { title, text, metadata });
    tokio::select! {
        biased;
        view = bench.hooks.tool_after(&context, &prepared.input, view) => {
            ToolOutput { title: view.title, text: view.text, metadata: view.metadata, attachments }
        }
        () = cancel.cancelled() => ToolOutput { text: WITHHELD.into(), ..ToolOutput::default() },
    }
}

async fn complete(tool: &str, output: ToolOutput, around: Option<Around>, bench: &Bench) -> Settled {
    let ToolOutput { title, text, mut metadata, attachments } = output;
    let mut output = output::bound(text, &mut metadata, bench.store.as_ref()).await;
    if let Some(around) = around {
        around.tell(bench, &mut output, &mut metadata);
    }
    let title = if title.is_empty() { tool.to_owned() } else { title };
    match attach(attachments) {
        Ok(attachments) => {
            Settled { outcome: Outcome::Completed(Done { title, output, metadata, attachments }), halt: None }
        }
        Err(failure) => Refused::from(failure).into(),
    }
}

/// The files that a call has read. They bring the instructions along that lie near them; their reader has nothing to do with that.
struct Around {
    actor: Actor,
    files: Vec<PathBuf>,
}

impl Around {
    fn of(prepared: &Prepared, bench: &Bench) -> Option<Self> {
        bench.surroundings.as_ref().filter(|_| prepared.tool_name() == READ)?;
        let actor = bench.actor(&prepared.call, prepared.tool_name());
        Some(Self { actor, files: prepared.survey(bench).grant.reads })
    }

    fn tell(self, bench: &Bench, output: &mut String, metadata: &mut Metadata) {
        let Some(surroundings) = &bench.surroundings else { return };
        let may_read =
            |path: &Path| bench.gate.decide(&self.actor, &Act::Read { path: path.to_owned() }) == Action::Allow;
        self.files.iter().for_each(|file| surroundings.tell(file, output, metadata, may_read));
    }
}

fn attach(files: Vec<ToolAttachment>) -> Result<Vec<Attachment>, ToolFailure> {
    let bytes: usize = files.iter().map(|f| f.data.len()).sum();
    if bytes > MAX_ATTACHED {
        let text = format!("The attachments of the result are {bytes} bytes; at most {MAX_ATTACHED} fit.");
        return Err(ToolFailure::new(FailureKind::Limit, text));
    }
    let attached =
        files.into_iter().map(|f| Attachment { url: data_url(&f.mime, &f.data), mime: f.mime, filename: f.name });
    Ok(attached.collect())
}
