//! Asks the usual ports of this machine which models are served there. Only done when no model is configured.

use super::choice::Answer;
use super::providers::{LOCAL, Local};
use futures::future::join_all;
use serde_json::Value;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a server on this machine needs at most to list its models.
const PATIENCE: Duration = Duration::from_millis(300);
/// A list of models is short; what is longer is something else.
const MAX_ANSWER: u64 = 1 << 20;

/// All servers that answer within the time, asked at once.
pub async fn local_servers() -> Vec<Answer> {
    join_all(LOCAL.iter().map(|&server| ask(server))).await.into_iter().flatten().collect()
}

/// The port of an address on this machine; `None` for any other.
#[must_use]
pub fn port(base_url: &str) -> Option<u16> {
    let authority = base_url.strip_prefix("http://")?.split('/').next()?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    let is_here = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
    is_here.then(|| port.parse().ok()).flatten()
}

/// Whether anything listens on a port of this machine.
pub async fn listens(port: u16) -> bool {
    let knock = async || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok()
            || TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.is_ok()
    };
    timeout(PATIENCE, knock()).await.unwrap_or(false)
}

async fn ask(server: Local) -> Option<Answer> {
    let bytes = timeout(PATIENCE, fetch(server.port)).await.ok()?.ok()?;
    Some(Answer { server, models: models(&bytes)? })
}

/// HTTP/1.0, so that the end of the connection is the end of the answer and no chunks have to be put together.
async fn fetch(port: u16) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!(
        "GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    Ok(answer)
}

/// `{"data": [{"id": …}]}` behind a head that says 200. `None` where it is anything else.
fn models(answer: &[u8]) -> Option<Vec<String>> {
    let head_ends = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let (head, body) = answer.split_at(head_ends + 4);
    let status = head.split(|&b| b == b' ').nth(1)?;
    if !head.starts_with(b"HTTP/1.") || status != b"200" {
        return None;
    }
    // Some servers answer in chunks whatever they were asked in: the list is what lies between the outer braces.
    let from = body.iter().position(|&b| b == b'{')?;
    let to = body.iter().rposition(|&b| b == b'}')?;
    let list: Value = serde_json::from_slice(body.get(from..=to)?).ok()?;
    let ids = list.get("data")?.as_array()?.iter().filter_map(|m| m.get("id")?.as_str());
    Some(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{listens, models, port};

    #[test]
    fn only_this_machine_is_knocked_at() {
        for (url, want) in [
            ("http://127.0.0.1:8080/v1", Some(8080)),
            ("http://localhost:1234", Some(1234)),
            ("http://[::1]:9/v1", Some(9)),
            ("http://localhost/v1", Some(80)),
            ("http://127.0.0.1.example.com:80/", None),
            ("http://192.168.0.1:8080/v1", None),
            ("https://api.openai.com/v1", None),
            ("", None),
        ] {
            assert_eq!(port(url), want, "{url}");
        }
    }

    #[tokio::test]
    async fn what_listens_is_heard() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(port).await);
        drop(listener);
        assert!(!listens(port).await);
    }

    #[test]
    fn only_a_list_of_models_is_an_answer() {
        let list = r#"{"object":"list","data":[{"id":"qwen"},{"id":"b"},{"no":1}]}"#;
        for (answer, want) in [
            (format!("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{list}"), Some(vec!["qwen", "b"])),
            (format!("HTTP/1.0 200 OK\r\n\r\n3c\r\n{list}\r\n0\r\n\r\n"), Some(vec!["qwen", "b"])),
            (format!("HTTP/1.1 404 Not Found\r\n\r\n{list}"), None),
            ("HTTP/1.1 200 OK\r\n\r\n<html>".into(), None),
            ("HTTP/1.1 200 OK\r\n\r\n{\"data\":[]}".into(), Some(vec![])),
            ("SSH-2.0-x\r\n\r\n{\"data\":[]}".into(), None),
            (String::new(), None),
        ] {
            let got = models(answer.as_bytes());
            assert_eq!(got, want.map(|w| w.into_iter().map(str::to_owned).collect()), "{answer}");
        }
    }
}
