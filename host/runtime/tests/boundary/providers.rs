//! Providers: the way from a request to events, and every way in which it breaks.

use crate::guests::{codec, guest};
use crate::server::{Server, Step};
use crate::stage::Stage;
use futures::StreamExt;
use model::id::SessionId;
use model::provider::{
    ChatMessage, ChatPart, Extra, FailureKind, Provider, ProviderFailure, Request, Role, StreamEvent, ToolChoice,
};
use runtime::{ProviderConfig, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub const KEY: &str = "sk-0123456789";

fn stage() -> Stage {
    Stage::new(&[("codec-lines", codec("codec-lines"))])
}

pub fn config(adapter: &str, base: Option<&str>) -> ProviderConfig {
    let secrets = BTreeMap::from([("KEY".to_owned(), Secret::new(KEY))]);
    ProviderConfig { adapter: adapter.into(), base_url: base.map(Into::into), secrets, ..ProviderConfig::default() }
}

fn provider(stage: &Stage, adapter: &str, base: Option<&str>) -> Arc<dyn Provider> {
    stage.runtime.provider(config(adapter, base)).unwrap()
}

pub fn request(model: &str, text: &str) -> Request {
    Request {
        session: SessionId::new(),
        model: model.into(),
        system: vec![],
        messages: vec![Arc::new(ChatMessage { role: Role::User, parts: vec![ChatPart::Text(text.into())] })],
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        temperature: None,
        response_schema: None,
        extra: Extra::default(),
    }
}

pub async fn stream(
    provider: &Arc<dyn Provider>,
    model: &str,
    text: &str,
) -> Result<Vec<StreamEvent>, ProviderFailure> {
    let stream = provider.stream(request(model, text), CancellationToken::new()).await?;
    Ok(stream.collect::<Vec<_>>().await.concat())
}

/// The texts, then whether the step was finished, then the failure.
pub fn told(events: &[StreamEvent]) -> (String, bool, Option<ProviderFailure>) {
    let (mut text, mut finished, mut failure) = (String::new(), false, None);
    for event in events {
        match event {
            StreamEvent::TextDelta { text: t, .. } => text += t,
            StreamEvent::StepFinish { .. } => finished = true,
            StreamEvent::Failure(f) => failure = Some(f.clone()),
            other => panic!("{other:?}"),
        }
    }
    (text, finished, failure)
}

async fn fails(stage: &Stage, base: &str, model: &str) -> ProviderFailure {
    let provider = provider(stage, "codec-lines", Some(base));
    match provider.stream(request(model, "x"), CancellationToken::new()).await {
        Ok(_) => panic!("it must fail"),
        Err(failure) => failure,
    }
}

#[test]
fn what_an_adapter_says_of_itself() {
    let info = stage().runtime.provider_info("codec-lines").unwrap();
    assert_eq!((info.id.as_str(), info.base_url.as_str(), info.secrets.len()), ("codec-lines", "echo:lines", 1));
    let price = info.models[0].price.clone().unwrap();
    assert_eq!(price.cache_write, "3.125".parse().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_echo_scheme_needs_no_network() {
    let events = stream(&provider(&stage(), "codec-lines", None), "m", "a\nb\n").await.unwrap();
    assert_eq!(told(&events), ("ab".into(), true, None));
}

/// Each step is answered with all texts that the codec was told, whether it went on, began anew, or was pushed off the shelf.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_from_step_to_step() {
    let provider = provider(&stage(), "codec-lines", None);
    let said = |text: &str| Arc::new(ChatMessage { role: Role::User, parts: vec![ChatPart::Text(text.into())] });
    let check = async |request: Request, expected: &str| {
        let stream = provider.stream(request, CancellationToken::new()).await.unwrap();
        assert_eq!(told(&stream.collect::<Vec<_>>().await.concat()).0, expected);
    };
    let first = request("m", "a\n");
    let with = |texts: &[&str]| Request { messages: texts.iter().map(|t| said(t)).collect(), ..first.clone() };
    check(first.clone(), "a").await;
    check(with(&["a\n", "b\n", "c\n"]), "abc").await;
    check(with(&["a\n", "b\n", "c\n", "d\n"]), "abcd").await;
    check(with(&["x\n", "d\n"]), "xd").await;
    for n in 0..40 {
        check(request("m", &format!("{n}\n")), &n.to_string()).await;
    }
    check(with(&["x\n", "d\n", "e\n"]), "xde").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_out_with_its_secret_and_the_answer_comes_back_as_events() {
    let server = Server::new(vec![vec![
        Step::Send(OK),
        Step::Send(b"one\ntw"),
        Step::Wait(Duration::from_millis(30)),
        Step::Send(b"o\n"),
    ]]);
    let stage = stage();
    let events = stream(&provider(&stage, "codec-lines", Some(&server.base)), "m", "body").await.unwrap();
    assert_eq!(told(&events), ("onetwo".into(), true, None));
    let sent = server.request();
    assert!(sent.starts_with("POST /v1/chat HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains(&format!("authorization: Bearer {KEY}\r\n")) && sent.ends_with("\r\n\r\nbody"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_outside_2xx_is_classified_without_secrets() {
    let refused = b"HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: 25\r\n\r\nkey sk-0123456789 is slow";
    let server = Server::new(vec![vec![Step::Send(refused)]]);
    let failure = fails(&stage(), &server.base, "m").await;
    assert_eq!(failure.kind, FailureKind::RateLimit);
    assert_eq!(failure.message, "429: key *** is slow");
    assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_never_sent() {
    let stage = stage();
    let free = Server::new(vec![]);
    for (model, kind, part) in [
        ("elsewhere", FailureKind::InvalidRequest, "does not lie below the base URL"),
        ("unspeakable", FailureKind::InvalidRequest, "no words for it"),
    ] {
        let failure = fails(&stage, &free.base, model).await;
        assert!(failure.kind == kind && failure.message.contains(part), "{failure:?}");
        assert!(!failure.retryable);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure = fails(&stage(), &format!("http://{closed}/v1"), "m").await;
    assert_eq!(failure.kind, FailureKind::Transport);
    assert!(failure.retryable && failure.message.contains("Is the server running there?"), "{failure}");
    assert!(failure.message.contains(&closed.to_string()), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let server = Server::new(vec![vec![Step::Send(
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/x\r\ncontent-length: 0\r\n\r\n",
    )]]);
    let failure = fails(&stage(), &server.base, "m").await;
    assert_eq!(failure.kind, FailureKind::InvalidRequest);
    assert!(failure.message.contains("http://127.0.0.1:9/x"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_keeps_what_came_before() {
    let server = Server::new(vec![vec![
        Step::Send(CHUNKED),
        Step::Send(b"4\r\none\n\r\n"),
        Step::Wait(Duration::from_millis(50)),
        Step::Reset,
    ]]);
    let stage = stage();
    let events = stream(&provider(&stage, "codec-lines", Some(&server.base)), "m", "x").await.unwrap();
    let (text, finished, failure) = told(&events);
    let failure = failure.unwrap();
    assert_eq!(
        (text.as_str(), finished, failure.kind, failure.retryable),
        ("one", false, FailureKind::Transport, true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_ends_the_connection() {
    let server = Server::new(vec![vec![Step::Send(CHUNKED), Step::Send(b"4\r\none\n\r\n"), Step::UntilGone]]);
    let stage = stage();
    let provider = provider(&stage, "codec-lines", Some(&server.base));
    let mut stream = provider.stream(request("m", "x"), CancellationToken::new()).await.unwrap();
    assert!(stream.next().await.is_some());
    drop(stream);
    assert!(server.was_left(Duration::from_secs(2)));
}

/// A step that is whole is not held up by a server that does not close.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_kept_open_does_not_hold_up_the_step() {
    let server = Server::new(vec![vec![Step::Send(CHUNKED), Step::Send(b"4\r\none\n\r\n"), Step::UntilGone]]);
    let stage = Stage::new(&[("codec-done", codec("codec-done"))]);
    let begun = Instant::now();
    let events = stream(&provider(&stage, "codec-done", Some(&server.base)), "m", "x").await.unwrap();
    assert_eq!(told(&events), (String::new(), true, None));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_a_stream_that_waits() {
    let server = Server::new(vec![vec![Step::Send(CHUNKED), Step::UntilGone]]);
    let (stage, cancel) = (stage(), CancellationToken::new());
    let provider = provider(&stage, "codec-lines", Some(&server.base));
    let stream = provider.stream(request("m", "x"), cancel.clone()).await.unwrap();
    let begun = Instant::now();
    tokio::spawn(async move { cancel.cancel() });
    let events = stream.collect::<Vec<_>>().await.concat();
    assert!(matches!(events[..], [StreamEvent::Failure(_)]), "{events:?}");
    assert!(begun.elapsed() < Duration::from_millis(250));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codec_that_fails_is_named() {
    for (name, part) in [("codec-trap", "crashed"), ("codec-spin", "of computing")] {
        let stage = Stage::new(&[(name, codec(name))]);
        let begun = Instant::now();
        let events = stream(&provider(&stage, name, None), "m", "x\n").await.unwrap();
        let failure = told(&events).2.unwrap();
        assert!(failure.message.contains(name) && failure.message.contains(part), "{failure}");
        assert_eq!((failure.kind, failure.retryable), (FailureKind::Unknown, false));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_provider_must_import_nothing() {
    let stage = stage();
    let file = stage.home.path().join("impure.wasm");
    std::fs::write(&file, guest("codec-lines")).unwrap();
    let error = stage.runtime.inspect(file.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("imports wasi:") && error.contains("a provider must be a pure codec"), "{error}");
}

#[test]
fn a_base_url_must_be_safe() {
    let stage = stage();
    let error =
        stage.runtime.provider(config("codec-lines", Some("http://api.example.com"))).err().unwrap().to_string();
    assert!(error.contains("codec-lines") && error.contains("http://api.example.com"), "{error}");
}
