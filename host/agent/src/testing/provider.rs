//! A provider that answers from a script, and refuses what breaks the law.

use async_trait::async_trait;
use futures::StreamExt;
use model::budget::Tokens;
use model::id::CallId;
use model::message::FinishReason;
use model::provider::{ChatPart, EventStream, FailureKind, ModelCall, Provider, ProviderFailure, Request, StreamEvent};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A pause in milliseconds, then a batch.
pub(crate) type Beat = (u64, Vec<StreamEvent>);

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Stream(Vec<Beat>),
    /// The stream, and then silence.
    Hang(Vec<Beat>),
    Refuse(ProviderFailure),
    /// Never answers at all.
    Silence,
    Panic,
}

#[derive(Default)]
pub(crate) struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<(Instant, Request)>>,
    chooser: Mutex<Option<Box<Chooser>>>,
}

/// Picks the answer by what is asked, where several sessions ask at once.
type Chooser = dyn Fn(&Request) -> Reply + Send + Sync;

/// The newest words of a person, or of the host, in a request.
pub(crate) fn asked(request: &Request) -> String {
    let users = request.messages.iter().rev().find(|m| m.role == model::provider::Role::User);
    let texts = users.into_iter().flat_map(|m| &m.parts).filter_map(|p| match p {
        ChatPart::Text(t) => Some(t.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The first words of a person in a request: what the session is about.
pub(crate) fn begun_with(request: &Request) -> String {
    let first = request.messages.first().and_then(|m| m.parts.first());
    first.map_or_else(String::new, |p| if let ChatPart::Text(t) = p { t.clone() } else { String::new() })
}

/// Results of calls that a request holds.
pub(crate) fn results_in(request: &Request) -> Vec<String> {
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    parts.filter_map(|p| if let ChatPart::ToolResult(r) = p { Some(r.text.clone()) } else { None }).collect()
}

impl Script {
    pub(crate) fn new(replies: Vec<Reply>) -> Self {
        Self { replies: Mutex::new(replies.into()), requests: Mutex::default(), chooser: Mutex::default() }
    }

    /// From now on, answers come from here.
    pub(crate) fn by(&self, chooser: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        *self.chooser.lock().unwrap() = Some(Box::new(chooser));
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().iter().map(|(_, r)| r.clone()).collect()
    }

    /// Milliseconds between the requests.
    pub(crate) fn gaps(&self) -> Vec<u64> {
        let requests = self.requests.lock().unwrap();
        requests.windows(2).map(|w| (w[1].0 - w[0].0).as_millis() as u64).collect()
    }
}

#[async_trait]
impl Provider for Script {
    async fn stream(&self, request: Request, _: CancellationToken) -> Result<EventStream, ProviderFailure> {
        let same = |r: &&Request| r.session == request.session && !is_aside(r);
        let last = self.requests.lock().unwrap().iter().rev().map(|(_, r)| r).find(same).cloned();
        law(&request, last.as_ref().filter(|l| !is_aside(&request) && !begins_anew(&request, l)));
        let chosen = self.chooser.lock().unwrap().as_ref().map(|choose| choose(&request));
        self.requests.lock().unwrap().push((Instant::now(), request));
        let next = || self.replies.lock().unwrap().pop_front().expect("a request more than the script has");
        match chosen.unwrap_or_else(next) {
            Reply::Refuse(failure) => Err(failure),
            Reply::Stream(beats) => Ok(play(beats).boxed()),
            Reply::Hang(beats) => Ok(play(beats).chain(futures::stream::pending()).boxed()),
            Reply::Silence => std::future::pending().await,
            Reply::Panic => panic!("asked to"),
        }
    }
}

/// A question of its own, apart from the conversation.
pub(crate) fn is_aside(request: &Request) -> bool {
    request.tools.is_empty() && request.messages.len() == 1 && request.system.len() == 1
}

/// A summary stands where the old conversation stood.
fn begins_anew(request: &Request, last: &Request) -> bool {
    let head = |r: &Request| r.messages.iter().take(2).cloned().collect::<Vec<_>>();
    format!("{:?}", request.messages[0]).contains("What did we do so far?") && head(request) != head(last)
}

fn play(beats: Vec<Beat>) -> impl futures::Stream<Item = Vec<StreamEvent>> {
    futures::stream::iter(beats).then(|(ms, batch)| async move {
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        batch
    })
}

/// Every call has its result and every result its call, no message is empty, and what was sent before is sent again unchanged.
fn law(request: &Request, last: Option<&Request>) {
    let mut open: Vec<CallId> = vec![];
    for message in &request.messages {
        assert!(!message.parts.is_empty(), "an empty message");
        for part in &message.parts {
            match part {
                ChatPart::Text(t) => assert!(!t.is_empty(), "an empty text"),
                ChatPart::ToolCall(c) => {
                    assert!(serde_json::from_str::<Value>(&c.input).unwrap().is_object(), "arguments: {}", c.input);
                    open.push(c.id.clone());
                }
                ChatPart::ToolResult(r) => {
                    let at = open.iter().position(|id| *id == r.call_id).expect("a result without its call");
                    open.remove(at);
                }
                _ => (),
            }
        }
        assert!(matches!(message.role, model::provider::Role::Assistant) || open.is_empty(), "no result for {open:?}");
    }
    if let Some(last) = last {
        assert_eq!(request.system, last.system, "the system prompt changed");
        let sent = &last.messages;
        assert_eq!(&request.messages[..sent.len()], &sent[..], "the prefix changed");
    }
}

pub(crate) fn failure(kind: FailureKind, retryable: bool) -> ProviderFailure {
    ProviderFailure { kind, message: format!("{kind:?}"), retryable, retry_after: None }
}

pub(crate) fn said(text: &str) -> Vec<StreamEvent> {
    let id = "t".to_owned();
    vec![
        StreamEvent::TextStart { id: id.clone() },
        StreamEvent::TextDelta { id: id.clone(), text: text.into() },
        StreamEvent::TextEnd { id, opaque: None },
    ]
}

pub(crate) fn call(id: &str, name: &str, input: &str) -> StreamEvent {
    StreamEvent::ToolCall(ModelCall { id: CallId::given(id), name: name.into(), input: input.into(), opaque: None })
}

pub(crate) fn finish(reason: FinishReason) -> StreamEvent {
    let usage = Some(Tokens { input: 1_000_000, output: 2, ..Tokens::default() });
    StreamEvent::StepFinish { reason, usage, metadata: None }
}

/// `reply` with so many tokens of input.
pub(crate) fn using(input: u64, mut reply: Reply) -> Reply {
    if let Reply::Stream(beats) = &mut reply {
        for event in beats.iter_mut().flat_map(|(_, batch)| batch) {
            if let StreamEvent::StepFinish { usage, .. } = event {
                *usage = Some(Tokens { input, ..Tokens::default() });
            }
        }
    }
    reply
}

/// A whole answer in text.
pub(crate) fn answers(text: &str) -> Reply {
    let mut events = said(text);
    events.push(finish(FinishReason::Stop));
    Reply::Stream(vec![(0, events)])
}

/// A whole answer of calls: id, name, arguments.
pub(crate) fn calls(made: &[(&str, &str, &str)]) -> Reply {
    let mut events: Vec<StreamEvent> = made.iter().map(|(id, name, input)| call(id, name, input)).collect();
    events.push(finish(FinishReason::ToolCalls));
    Reply::Stream(vec![(0, events)])
}

pub(crate) fn shared(replies: Vec<Reply>) -> Arc<Script> {
    Arc::new(Script::new(replies))
}
