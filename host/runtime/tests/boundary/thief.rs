//! An adapter that wants the key, and a server that sends it back: the value goes to the base URL in a header and nowhere else.

use crate::guests::codec;
use crate::providers::{KEY, config, request, stream, told};
use crate::server::{Server, Step};
use crate::stage::Stage;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use model::provider::{ChatPart, Provider, ProviderFailure, StreamEvent};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn stage() -> Stage {
    Stage::new(&[("codec-thief", codec("codec-thief"))])
}

fn thief(stage: &Stage, base: &str) -> Arc<dyn Provider> {
    stage.runtime.provider(config("codec-thief", Some(base))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_of_asking_gets_it_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let stage = stage();
    let provider = thief(&stage, &format!("http://{}/v1", listener.local_addr().unwrap()));
    for way in [
        "host",
        "neighbour",
        "port",
        "above",
        "dots",
        "login",
        "scheme",
        "query",
        "host-header",
        "proxy-header",
        "method",
        "name",
        "line",
        "other",
        "open",
        "panic",
    ] {
        let Err(failure) = provider.stream(request(way, "x"), CancellationToken::new()).await else {
            panic!("{way} was sent")
        };
        assert!(!failure.message.contains(KEY) && !failure.retryable, "{way}: {failure}");
        assert!(listener.accept().is_err(), "{way}: somebody was connected to");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_outside_the_headers_stays_one() {
    let server = Server::new(vec![vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")]]);
    let stage = stage();
    let events = stream(&thief(&stage, &server.base), "body", "x").await.unwrap();
    assert!(told(&events).1, "{events:?}");
    let sent = server.request();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(KEY) && body == "x{{secret:KEY}}", "{sent}");
}

/// The key in all the codings in which servers were seen to send it back.
fn echoes() -> Vec<String> {
    let hex: String = KEY.bytes().map(|b| format!("{b:02x}")).collect();
    let percent: String =
        KEY.bytes().map(|b| if b == b'-' { "%2D".into() } else { char::from(b).to_string() }).collect();
    let mut all =
        vec![KEY.to_owned(), format!("{{\"authorization\":\"Bearer {KEY}\"}}"), hex.to_uppercase(), hex, percent];
    for before in ["", "Bearer ", "k="] {
        all.push(STANDARD.encode(format!("{before}{KEY}")));
        all.push(URL_SAFE.encode(format!("{before}{KEY};")));
    }
    all
}

/// What of the key can be read, whatever the coding.
fn shows(text: &str) -> bool {
    let lower = text.to_lowercase();
    let decoded: Vec<u8> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && !"+/-_".contains(c))
        .flat_map(|word| STANDARD.decode(format!("{word}{}", "=".repeat((4 - word.len() % 4) % 4))).unwrap_or_default())
        .collect();
    let hex: String = KEY.bytes().map(|b| format!("{b:02x}")).collect();
    [KEY, &hex, "0123456789"].iter().any(|k| lower.contains(k)) || String::from_utf8_lossy(&decoded).contains(KEY)
}

fn leak(text: String) -> &'static [u8] {
    text.into_bytes().leak()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_it_back_is_not_heard() {
    let stage = stage();
    for echo in echoes() {
        assert!(shows(&echo), "the test sees nothing in {echo}");
        let (first, second) = echo.split_at(echo.len() / 2);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/{echo}\r\nconnection: close\r\n\r\nit is {first}");
        let server = Server::new(vec![vec![
            Step::Send(leak(head)),
            Step::Wait(Duration::from_millis(20)),
            Step::Send(leak(second.to_owned() + " and more")),
        ]]);
        let events = stream(&thief(&stage, &server.base), "m", "x").await.unwrap();
        let (text, finished, _) = told(&events);
        assert!(!shows(&text) && text.contains("it is ") && text.ends_with(" and more") && finished, "{echo}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_in_an_error() {
    let stage = stage();
    for echo in echoes() {
        for head in ["HTTP/1.1 401 No", "HTTP/1.1 302 Found", "HTTP/1.1 500 Broken"] {
            let answer = format!(
                "{head}\r\nlocation: /{echo}\r\nx-echo: {echo}\r\ncontent-length: {}\r\n\r\n{echo}",
                echo.len()
            );
            let server = Server::new(vec![vec![Step::Send(leak(answer))]]);
            let failure = failure(stream(&thief(&stage, &server.base), "m", "x").await);
            assert!(!shows(&failure.message), "{failure}");
        }
    }
}

fn failure(said: Result<Vec<StreamEvent>, ProviderFailure>) -> ProviderFailure {
    said.expect_err("an answer outside 2xx")
}

/// What the adapter is handed has no room for a value: names only.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_told_names_only() {
    let stage = stage();
    let mut asking = request("m", "");
    Arc::make_mut(&mut asking.messages[0]).parts = vec![ChatPart::Text(format!("{{{{secret:KEY}}}} {}", "x"))];
    let stream = thief(&stage, "echo:back").stream(asking, CancellationToken::new()).await.unwrap();
    let events = futures::StreamExt::collect::<Vec<_>>(stream).await.concat();
    assert_eq!(told(&events).0, "{{secret:KEY}} x");
}
