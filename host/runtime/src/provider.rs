//! A model behind its adapter: the codec writes the request and reads the answer, the host does everything between.

use crate::codec::Session;
use crate::conversation::{AdapterId, Conversation};
use crate::demand::Demand;
use crate::destination::Destination;
use crate::error::RuntimeError;
use crate::fault::Fault;
use crate::http::{Body, Http, HttpOptions, Outgoing, Reply};
use crate::open::Runtime;
use crate::registry::{Plugin, ProviderInfo};
use crate::secret::{Secret, Secrets};
use crate::tape::Tape;
use crate::text_calls::TextCalls;
use crate::v0_1::Encoding;
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use model::provider::{EventStream, FailureKind, Provider, ProviderFailure, Request, StreamEvent};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Bytes of one answer, unpacked: the longest one that models give takes a tenth of it.
const ANSWER: usize = 64 << 20;
/// How long the end of the body is waited for once the step is whole.
const LINGER: Duration = Duration::from_secs(1);

/// What the person's configuration says of a provider.
#[derive(Clone, Default)]
pub struct ProviderConfig {
    /// Name of the component.
    pub adapter: String,
    /// In place of the adapter's own.
    pub base_url: Option<String>,
    /// By name; they are sent to the base URL only.
    pub secrets: BTreeMap<String, Secret>,
    /// Take an answer that is nothing but a call, written as text, for one.
    pub text_calls: bool,
    /// JSON object for the adapter.
    pub options: Option<Value>,
    pub http: HttpOptions,
    /// Keeps what is exchanged, or answers in place of the network.
    pub tape: Option<Arc<Tape>>,
}

pub struct Adapter {
    runtime: Arc<Runtime>,
    plugin: Arc<Plugin>,
    http: Http,
    secrets: Secrets,
    options: Option<Value>,
    tape: Option<Arc<Tape>>,
    id: AdapterId,
    text_calls: bool,
}

impl Adapter {
    /// # Errors
    /// A base URL that cannot be used.
    pub fn new(
        runtime: Arc<Runtime>,
        plugin: Arc<Plugin>,
        info: &ProviderInfo,
        config: ProviderConfig,
    ) -> Result<Self, RuntimeError> {
        let url = config.base_url.unwrap_or_else(|| info.base_url.clone());
        let bad = |why| RuntimeError::BaseUrl { provider: config.adapter.clone(), url: url.clone(), why };
        let http = Destination::parse(&url).and_then(|to| Http::new(to, config.http)).map_err(bad)?;
        let (id, secrets) = (AdapterId::new(), Secrets::new(config.secrets));
        let (options, tape) = (config.options, config.tape);
        Ok(Self { runtime, plugin, http, secrets, options, tape, id, text_calls: config.text_calls })
    }

    fn failed(&self, fault: &Fault) -> ProviderFailure {
        adapter_failed(&self.plugin.label, fault)
    }

    fn session(&self, cancel: CancellationToken) -> Result<Session, ProviderFailure> {
        let loader = self.runtime.loader();
        let codec = self.plugin.codec(loader).map_err(|e| internal(e.to_string()))?;
        Session::new(&codec, loader.running(), Some(self.runtime.pool()), cancel).map_err(|fault| self.failed(&fault))
    }

    /// Goes on with the conversation that rests since the step before, or begins one.
    fn conversation(&self, request: &Request, cancel: &CancellationToken) -> Result<Conversation, ProviderFailure> {
        if let Some(mut resting) = self.runtime.shelf().take(self.id, request) {
            resting.session.wake(self.runtime.loader().running(), cancel.clone());
            // A codec that grew until it failed gets a second chance with fresh memory: it is pure.
            if resting.go_on(request).is_ok() {
                return Ok(resting);
            }
        }
        let session = self.session(cancel.clone())?;
        let url = self.http.destination().as_str();
        let encoding = Encoding::new(request, url, self.secrets.names(), self.options(request));
        Conversation::begin(self.id, session, request, &encoding).map_err(|fault| self.failed(&fault))
    }

    /// What a hook says lies over what the config says.
    fn options(&self, request: &Request) -> Option<String> {
        let mut all = self.options.clone();
        match (&mut all, &request.extra.options) {
            (Some(Value::Object(all)), Some(Value::Object(more))) => {
                all.extend(more.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            (_, Some(more)) => all = Some(more.clone()),
            (_, None) => {}
        }
        all.map(|o| o.to_string())
    }

    async fn open(&self, request: &Request, cancel: &CancellationToken) -> Result<Answering, ProviderFailure> {
        let slot = self.runtime.codec_slot().await;
        let mut conversation = self.conversation(request, cancel)?;
        let encoded = conversation.encode().map_err(|f| self.failed(&f))?;
        let mut outgoing = encoded.map_err(|why| invalid(self.secrets.blank(why)))?;
        outgoing.add_headers(&request.extra.headers);
        match self.exchange(outgoing, request).await? {
            Reply::Refused(answer) => {
                let classified = conversation.session.call(|live, store| live.classify(store, &answer));
                let classified = classified.map_err(|f| self.failed(&f))?;
                self.runtime.shelf().keep(conversation);
                Err(ProviderFailure { message: self.secrets.blank(classified.message), ..classified })
            }
            Reply::Stream { head, body } => {
                let begun =
                    conversation.session.call(|live, store| live.begin(store, &request.model, head.content_type()));
                begun.map_err(|f| self.failed(&f))?;
                Ok(Answering {
                    conversation: Some(conversation),
                    runtime: Arc::clone(&self.runtime),
                    body,
                    text_calls: self.text_calls.then(|| TextCalls::new(request)),
                    demand: Demand::new(request.tool_choice.clone()),
                    name: Arc::clone(&self.plugin.label),
                    taken: 0,
                    ended: false,
                    cancel: cancel.clone(),
                    _slot: slot,
                })
            }
        }
    }

    async fn exchange(&self, outgoing: Outgoing, request: &Request) -> Result<Reply, ProviderFailure> {
        let send = |outgoing| self.http.send(outgoing, &self.secrets);
        let Some(tape) = &self.tape else { return send(outgoing).await };
        let base_url = self.http.destination().as_str().to_owned();
        let own = [(base_url, "{{base_url}}"), (request.session.to_string(), "{{session}}")];
        tape.exchange(outgoing, &own, send).await
    }
}

#[async_trait]
impl Provider for Adapter {
    async fn stream(&self, request: Request, cancel: CancellationToken) -> Result<EventStream, ProviderFailure> {
        // Cancelled by the caller, or when the stream is dropped: a codec that computes must notice either.
        let cancel = cancel.child_token();
        let guard = cancel.clone().drop_guard();
        let answering = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(interrupted()),
            opened = self.open(&request, &cancel) => opened?,
        };
        Ok(events(answering, guard))
    }
}

/// Reads only when it is asked for more: a slow reader holds back the sender, and the more has arrived, the larger the batch.
fn events(answering: Answering, guard: DropGuard) -> EventStream {
    let state = (answering, guard);
    futures::stream::unfold(state, |(mut answering, guard)| async {
        let batch = answering.next().await?;
        Some((batch, (answering, guard)))
    })
    .boxed()
}

/// An answer that is being read.
struct Answering {
    /// None once the step is whole: the next one may go on with it while the rest of the body is read.
    conversation: Option<Conversation>,
    runtime: Arc<Runtime>,
    body: Body,
    text_calls: Option<TextCalls>,
    demand: Demand,
    name: Arc<str>,
    taken: usize,
    ended: bool,
    cancel: CancellationToken,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Answering {
    /// The events of one read; `None` after the end or a failure.
    async fn next(&mut self) -> Option<Vec<StreamEvent>> {
        while !self.ended {
            let cancel = self.cancel.clone();
            let read = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(interrupted()),
                read = self.read() => read,
            };
            let batch = self.decode(read);
            self.settle(&batch);
            if !batch.is_empty() {
                return Some(batch);
            }
        }
        None
    }

    /// A server that keeps the line open after the step is whole, or breaks it then, takes nothing away.
    async fn read(&mut self) -> Result<Option<Bytes>, ProviderFailure> {
        if self.conversation.is_some() {
            return self.body.read().await;
        }
        let rest = tokio::time::timeout(LINGER, self.body.read()).await;
        Ok(rest.ok().and_then(Result::ok).flatten())
    }

    fn decode(&mut self, read: Result<Option<Bytes>, ProviderFailure>) -> Vec<StreamEvent> {
        let session = self.conversation.as_mut().map(|c| &mut c.session);
        let events = match (read, session) {
            (Err(failure), _) => return vec![StreamEvent::Failure(failure)],
            (Ok(Some(bytes)), session) => {
                self.taken += bytes.len();
                session.map_or(Ok(vec![]), |s| s.call(|live, store| live.push(store, &bytes)))
            }
            (Ok(None), session) => {
                self.ended = true;
                session.map_or(Ok(vec![]), |s| s.call(|live, store| live.finish(store)))
            }
        };
        match events {
            Ok(_) if self.taken > ANSWER => {
                vec![StreamEvent::Failure(internal("The answer is larger than 64 MiB.".into()))]
            }
            Ok(events) => {
                let events = match &mut self.text_calls {
                    Some(reader) => reader.read(events),
                    None => events,
                };
                terminated(self.demand.check(events))
            }
            Err(fault) => vec![StreamEvent::Failure(adapter_failed(&self.name, &fault))],
        }
    }

    /// After a whole step the codec rests; after a failure, which may be a fault of its own, it is gone.
    fn settle(&mut self, batch: &[StreamEvent]) {
        if batch.iter().any(|e| matches!(e, StreamEvent::Failure(_))) {
            self.ended = true;
            self.conversation = None;
        }
        if batch.iter().any(|e| matches!(e, StreamEvent::StepFinish { .. })) {
            self.conversation.take().into_iter().for_each(|c| self.runtime.shelf().keep(c));
        }
    }
}

/// A failure is terminal, whatever the codec says after it.
fn terminated(mut events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    if let Some(at) = events.iter().position(|e| matches!(e, StreamEvent::Failure(_))) {
        events.truncate(at + 1);
    }
    events
}

fn adapter_failed(name: &str, fault: &Fault) -> ProviderFailure {
    if *fault == Fault::Cancelled {
        return interrupted();
    }
    internal(format!("The model adapter `{name}` failed: {fault}."))
}

fn internal(message: String) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Unknown, message, retryable: false, retry_after: None }
}

fn interrupted() -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Unknown, message: "Interrupted.".into(), retryable: false, retry_after: None }
}

fn invalid(why: String) -> ProviderFailure {
    let message = format!("The conversation cannot be sent to this model: {why}");
    ProviderFailure { kind: FailureKind::InvalidRequest, message, retryable: false, retry_after: None }
}
