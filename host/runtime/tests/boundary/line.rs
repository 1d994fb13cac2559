//! The line to a provider: servers that are slow, stop, break off or flood. Each gives a typed failure, in bounded time and memory.

use crate::guests::codec;
use crate::providers::{config, request, stream, told};
use crate::server::{Server, Step};
use crate::stage::Stage;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::provider::{FailureKind, Provider, ProviderFailure, StreamEvent};
use runtime::{HttpOptions, ProviderConfig};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const SHORT: Duration = Duration::from_millis(300);
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn stage() -> Stage {
    Stage::new(&[("codec-lines", codec("codec-lines"))])
}

/// A provider that waits for nothing longer than a moment.
fn hasty(stage: &Stage, server: &Server) -> Arc<dyn Provider> {
    let http = HttpOptions { first_byte: SHORT, idle: SHORT, ..HttpOptions::default() };
    stage.runtime.provider(ProviderConfig { http, ..config("codec-lines", Some(&server.base)) }).unwrap()
}

/// What a request came to, whether the failure came before the stream or in it.
async fn ends(provider: &Arc<dyn Provider>) -> (String, bool, Option<ProviderFailure>) {
    match stream(provider, "m", "x").await {
        Ok(events) => told(&events),
        Err(failure) => (String::new(), false, Some(failure)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_anywhere_is_never_taken_for_whole() {
    let whole = [HEAD, b"4\r\none\n\r\n", b"4\r\ntwo\n\r\n", b"0\r\n\r\n"].concat().leak();
    let scripts = (0..whole.len()).map(|n| vec![Step::Send(&whole[..n]), Step::Reset]).collect();
    let server = Server::new(scripts);
    let stage = stage();
    let provider = hasty(&stage, &server);
    for n in 0..whole.len() {
        let (text, finished, failure) = ends(&provider).await;
        let failure = failure.unwrap_or_else(|| panic!("{n} bytes of {} pass for an answer", whole.len()));
        assert_eq!(
            (finished, failure.kind, failure.retryable),
            (false, FailureKind::Transport, true),
            "{n}: {failure}"
        );
        assert!("onetwo".starts_with(&text), "{n}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_has_an_end() {
    let stage = stage();
    for (script, words) in [
        (vec![Step::UntilGone], "did not answer within 300ms"),
        (vec![Step::Send(b"HTTP/1.1 200 OK\r\n"), Step::UntilGone], "did not answer within 300ms"),
        (vec![Step::Send(HEAD), Step::UntilGone], "nothing came for 300ms"),
        (vec![Step::Send(HEAD), Step::Send(b"4\r\none\n\r\n"), Step::UntilGone], "nothing came for 300ms"),
    ] {
        let server = Server::new(vec![script]);
        let (_, finished, failure) = ends(&hasty(&stage, &server)).await;
        let failure = failure.unwrap();
        assert_eq!((finished, failure.kind, failure.retryable), (false, FailureKind::Transport, true));
        assert!(failure.message.contains(words), "{failure}");
        assert!(server.was_left(Duration::from_secs(5)), "{words}: the connection is still held");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_heard_to_its_end() {
    let mut script = vec![Step::Send(HEAD)];
    for piece in [&b"1\r"[..], b"\no", b"\r\n1", b"\r\nn\r\n2\r\n", b"e\n", b"\r\n0\r", b"\n\r\n"] {
        script.extend([Step::Wait(Duration::from_millis(60)), Step::Send(piece)]);
    }
    let server = Server::new(vec![script]);
    let stage = stage();
    assert_eq!(ends(&hasty(&stage, &server)).await, ("one".into(), true, None), "longer than the idle time in all");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_never_ends_is_an_error_all_the_same() {
    let head = b"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n";
    let server = Server::new(vec![vec![
        Step::Send(head),
        Step::Send(b"4\r\nbusy\r\n"),
        Step::Drip(b"1\r\n.\r\n", Duration::from_millis(50)),
    ]]);
    let stage = stage();
    let (_, _, failure) = ends(&hasty(&stage, &server)).await;
    assert!(failure.as_ref().is_some_and(|f| f.message.starts_with("503: busy")), "{failure:?}");
}

fn packed(content: &[u8]) -> &'static [u8] {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(content).unwrap();
    let body = gz.finish().unwrap();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.into_bytes(), body].concat().leak()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_answer_is_unpacked_and_its_size_is_that_of_its_content() {
    let stage = stage();
    let server = Server::new(vec![vec![Step::Send(packed(b"one\ntwo\n"))]]);
    assert_eq!(ends(&hasty(&stage, &server)).await, ("onetwo".into(), true, None));
    let line = [vec![b'a'; 4095], vec![b'\n']].concat();
    let bomb = packed(&line.repeat((65 << 20) / line.len()));
    assert!(bomb.len() < 1 << 20);
    let server = Server::new(vec![vec![Step::Send(bomb)]]);
    let (_, finished, failure) = ends(&hasty(&stage, &server)).await;
    let failure = failure.unwrap();
    assert!(!finished && !failure.retryable && failure.message.contains("64 MiB"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_all_steps() {
    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\none\n";
    // A second connection would find nobody who accepts it.
    let server = Server::new(vec![vec![Step::Send(WHOLE), Step::NextRequest, Step::Send(WHOLE)]]);
    let stage = stage();
    let provider = hasty(&stage, &server);
    for _ in 0..2 {
        assert_eq!(ends(&provider).await, ("one".into(), true, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_waits_for_its_reader() {
    let server = Server::new(vec![vec![Step::Send(HEAD), Step::Drip(b"4\r\none\n\r\n", Duration::ZERO)]]);
    let stage = stage();
    let provider = hasty(&stage, &server);
    let mut stream = provider.stream(request("m", "x"), CancellationToken::new()).await.unwrap();
    let batch = futures::StreamExt::next(&mut stream).await.unwrap();
    // One read is bounded, however much has arrived.
    let most = (64 << 10) / 4 + (64 << 10);
    assert!(batch.len() <= most && matches!(batch[0], StreamEvent::TextDelta { .. }), "{}", batch.len());
    drop(stream);
    assert!(server.was_left(Duration::from_secs(5)));
}
