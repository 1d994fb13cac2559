//! `airlock provider test NAME`: three small requests that show what an endpoint can do: text, a tool call, an error.

use super::cassette::Cassette;
use super::{Format, Ground, Listing, columns, print_foreign, print_json, say};
use crate::config::providers::{KNOWN, LOCAL, OFFLINE, OFFLINE_MODEL};
use crate::config::{Config, models, probe};
use crate::minds::ByName;
use crate::report::{self, Exit, Report};
use crate::wire;
use clap::{Args, Subcommand};
use futures::StreamExt;
use model::budget::Tokens;
use model::id::SessionId;
use model::message::FinishReason;
use model::provider::{
    ChatMessage, ChatPart, Extra, FailureKind, Mind, ModelRef, ProviderFailure, Request, Role, StreamEvent, ToolChoice,
    ToolDecl,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    /// Ask a provider three small things, and say what it can do
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub struct TestArgs {
    /// A provider, a model as provider/model, or a name of [aliases]
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    listing: Listing,
}

/// Tokens of an answer: enough for a model that thinks before it says a word.
const ANSWER: u32 = 512;
/// One request, from its sending to the end of its answer.
const PATIENCE: Duration = Duration::from_secs(90);
/// No server has a model that is called so.
const NO_MODEL: &str = "airlock-no-such-model";
const TOOL: &str = "report";
const NUMBER: u64 = 4217;

pub async fn main(command: &ProviderCommand) -> Result<Exit, Report> {
    let ProviderCommand::Test(args) = command;
    let ground = Ground::of(&args.listing)?;
    ground.print_notices();
    let model = named(&args.name, &ground.config).await?;
    let rooms = wire::open(&ground, false).ready().await?;
    let (mind, _) = ByName::new(&ground, &rooms, Cassette::None).find(&model)?;
    say(&format!("asking {model} three times, for {ANSWER} tokens at most each"));
    let findings = probe(&mind).await;
    match args.listing.format {
        Format::Json => findings.iter().try_for_each(|f| print_json(&as_json(f, &model)))?,
        Format::Text => print_foreign(&columns(&findings.iter().map(row).collect::<Vec<_>>()))?,
    }
    match findings.first().and_then(|f| f.failure.as_ref()) {
        None => Ok(Exit::Well),
        Some(failure) => Err(report::of_failure(failure, &model.to_string())),
    }
}

/// The model that stands for a provider: the first of the config, the known one, the first that is served.
async fn named(name: &str, config: &Config) -> Result<ModelRef, Report> {
    if let Ok(model) = models::named(name, &config.aliases) {
        return Ok(model);
    }
    let of = |model: &str| ModelRef { provider: name.into(), model: model.into() };
    if let Some(first) = config.providers.get(name).and_then(|p| p.models.first()) {
        return Ok(of(&first.id));
    }
    if let Some(service) = KNOWN.iter().find(|k| k.id == name) {
        return Ok(of(service.model));
    }
    if LOCAL.iter().any(|l| l.id == name) {
        let answers = probe::local_servers().await;
        let served = answers.iter().find(|a| a.server.id == name).and_then(|a| a.models.first());
        let silent =
            || Report::new(Exit::Failed, format!("no server of {name} answers"), "Start it, and load a model.");
        return served.map(|m| of(m)).ok_or_else(silent);
    }
    if name == OFFLINE {
        return Ok(of(OFFLINE_MODEL));
    }
    let what = format!("`{name}` names no model that could be asked");
    Err(Report::usage(what, "Name one as provider/model; `airlock providers` lists what can stand before the slash."))
}

/// What one request showed.
struct Finding {
    what: &'static str,
    ok: bool,
    found: String,
    took: Duration,
    tokens: Option<Tokens>,
    cost: Decimal,
    failure: Option<ProviderFailure>,
}

async fn probe(mind: &Mind) -> Vec<Finding> {
    let text = check(mind, "text", ask(&mind.model.id, "Answer with the one word: pong", &[]), said).await;
    if text.failure.is_some() {
        // Who does not answer at all is not asked for more.
        return vec![text];
    }
    let tool = ToolDecl {
        name: TOOL.into(),
        description: "Reports a number.".into(),
        input_schema: r#"{"type":"object","properties":{"value":{"type":"integer"}},"required":["value"]}"#.into(),
    };
    let prompt = format!("Call the tool `{TOOL}` with the value {NUMBER}.");
    let call = check(mind, "tool call", ask(&mind.model.id, &prompt, &[tool]), called).await;
    let error = check(mind, "error", ask(NO_MODEL, "Hello", &[]), refused).await;
    vec![text, call, error]
}

fn ask(model: &str, prompt: &str, tools: &[ToolDecl]) -> Request {
    Request {
        session: SessionId::new(),
        model: model.into(),
        system: vec![],
        messages: vec![Arc::new(ChatMessage { role: Role::User, parts: vec![ChatPart::Text(prompt.into())] })],
        tools: tools.into(),
        tool_choice: if tools.is_empty() { ToolChoice::None } else { ToolChoice::Auto },
        max_output_tokens: Some(ANSWER),
        temperature: None,
        response_schema: None,
        extra: Extra::default(),
    }
}

/// What came of a request.
#[derive(Default)]
struct Heard {
    text: String,
    reasoning: bool,
    call: Option<(String, String)>,
    finish: Option<FinishReason>,
    usage: Option<Tokens>,
    failure: Option<ProviderFailure>,
}

async fn check(
    mind: &Mind,
    what: &'static str,
    request: Request,
    judge: fn(&Heard) -> Result<String, String>,
) -> Finding {
    let begun = Instant::now();
    let heard = tokio::time::timeout(PATIENCE, listen(mind, request))
        .await
        .unwrap_or_else(|_| Heard { failure: Some(late()), ..Heard::default() });
    let (ok, found) = match judge(&heard) {
        Ok(found) => (true, found),
        Err(found) => (false, found),
    };
    let cost = mind.model.price.as_ref().zip(heard.usage.as_ref()).map_or(Decimal::ZERO, |(p, t)| p.cost(t));
    Finding { what, ok, found, took: begun.elapsed(), tokens: heard.usage, cost, failure: heard.failure }
}

fn late() -> ProviderFailure {
    let message = format!("it took longer than {} s", PATIENCE.as_secs());
    ProviderFailure { kind: FailureKind::Transport, message, retryable: true, retry_after: None }
}

async fn listen(mind: &Mind, request: Request) -> Heard {
    let mut heard = Heard::default();
    match mind.provider.stream(request, CancellationToken::new()).await {
        Err(failure) => heard.failure = Some(failure),
        Ok(mut stream) => {
            while let Some(batch) = stream.next().await {
                batch.into_iter().for_each(|event| heard.take(event));
            }
        }
    }
    heard
}

impl Heard {
    fn take(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::TextDelta { text, .. } => self.text += &text,
            StreamEvent::ReasoningDelta { .. } => self.reasoning = true,
            StreamEvent::ToolCall(call) => self.call = Some((call.name, call.input)),
            StreamEvent::StepFinish { reason, usage, .. } => (self.finish, self.usage) = (Some(reason), usage),
            StreamEvent::Failure(failure) => self.failure = Some(failure),
            StreamEvent::StepStart
            | StreamEvent::TextStart { .. }
            | StreamEvent::TextEnd { .. }
            | StreamEvent::ReasoningStart { .. }
            | StreamEvent::ReasoningEnd { .. }
            | StreamEvent::ToolInputStart { .. }
            | StreamEvent::ToolInputDelta { .. }
            | StreamEvent::ToolInputEnd { .. }
            | StreamEvent::ToolResult(_) => {}
        }
    }

    fn whole(&self) -> Result<(), String> {
        match (&self.failure, self.finish) {
            (Some(failure), _) => Err(format!("failed ({}): {}", kind(failure.kind), failure.message)),
            (None, None) => Err("the answer had no end".into()),
            (None, Some(_)) => Ok(()),
        }
    }
}

fn kind(kind: FailureKind) -> String {
    json!(kind).as_str().unwrap_or_default().to_owned()
}

fn said(heard: &Heard) -> Result<String, String> {
    heard.whole()?;
    let usage =
        if heard.usage.is_some() { "tells its usage" } else { "does not tell its usage: its cost is not known" };
    let thinks = if heard.reasoning { ", shows its reasoning" } else { "" };
    match (heard.text.trim(), heard.finish) {
        ("", Some(FinishReason::Length)) => Err(format!("{ANSWER} tokens were not enough for a word")),
        ("", _) => Err("the answer was empty".into()),
        (text, _) => Ok(format!("said {:?}{thinks}, {usage}", text.chars().take(40).collect::<String>())),
    }
}

fn called(heard: &Heard) -> Result<String, String> {
    heard.whole()?;
    let Some((name, input)) = &heard.call else { return Err("answered in text: tools are not for this model".into()) };
    let given: Option<Value> = serde_json::from_str(input).ok();
    match given.as_ref().and_then(|g| g["value"].as_u64()) {
        Some(NUMBER) if name == TOOL => Ok("called the tool as it was asked to".into()),
        _ => Err(format!("called `{name}` with {}", input.chars().take(80).collect::<String>())),
    }
}

fn refused(heard: &Heard) -> Result<String, String> {
    match &heard.failure {
        Some(failure) => Ok(format!("an unknown model is told ({}): {}", kind(failure.kind), failure.message)),
        None => Err("answers for any model's name".into()),
    }
}

fn row(f: &Finding) -> Vec<String> {
    let mark = if f.ok { "ok" } else { "NO" };
    vec![mark.into(), f.what.into(), format!("{} ms", f.took.as_millis()), format!("${}", f.cost), f.found.clone()]
}

fn as_json(f: &Finding, model: &ModelRef) -> Value {
    json!({
        "model": model.to_string(), "check": f.what, "ok": f.ok, "found": f.found, "ms": u64::try_from(f.took.as_millis()).ok(),
        "tokens": f.tokens, "cost": f.cost.to_f64().unwrap_or_default(),
    })
}
