//! The host's side of a provider: one request, one answer, over HTTP or the `echo:` scheme.

mod body;
mod client;

pub use body::Body;
pub use client::{HttpOptions, fetcher, pinned};

use crate::destination::{Destination, Scheme};
use crate::secret::{SecretError, Secrets, has_placeholder};
use bytes::Bytes;
use futures::StreamExt;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use model::provider::{FailureKind, ProviderFailure};
use std::time::Duration;
use tokio::time::timeout;

/// Bytes of an answer outside 2xx.
const ERROR_BODY: usize = 256 << 10;
/// How long such an answer may take: what matters stands at its beginning.
const ERROR_TIME: Duration = Duration::from_secs(10);

/// A request as the codec wrote it; header values may hold `{{secret:NAME}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Headers that belong to the transport, or carry a key under some provider: no hook writes them.
const RESERVED: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "cookie",
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
];

impl Outgoing {
    /// Adds headers that hooks gave. One that is there already stays, one that names a secret or is no header is left out.
    pub fn add_headers(&mut self, given: &[(String, String)]) {
        for (name, value) in given {
            let name = name.to_ascii_lowercase();
            let well_formed = HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok();
            let taken = self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(&name));
            if well_formed && !taken && !RESERVED.contains(&name.as_str()) && !has_placeholder(value) {
                self.headers.push((name, value.clone()));
            } else {
                tracing::warn!(header = %name, "a header of a hook was left out");
            }
        }
    }
}

/// An answer outside 2xx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What came back.
pub enum Reply {
    Stream { head: Head, body: Body },
    Refused(Answer),
}

/// What stands before the body of an answer within 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Head {
    #[must_use]
    pub fn content_type(&self) -> &str {
        self.headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, value)| value)
    }
}

/// A connection pool, shared by all requests to one provider.
pub struct Http {
    destination: Destination,
    /// None for `echo:`, which needs no network.
    client: Option<reqwest::Client>,
    options: HttpOptions,
}

impl Http {
    /// # Errors
    /// When the roots of trust cannot be loaded.
    pub fn new(destination: Destination, options: HttpOptions) -> Result<Self, String> {
        let client = client::client(&destination, &options)?;
        Ok(Self { destination, client, options })
    }

    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Sends the request and waits for the head of the answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn send(&self, request: Outgoing, secrets: &Secrets) -> Result<Reply, ProviderFailure> {
        let url = self.destination.admit(&request.url).map_err(wrong)?;
        if has_placeholder(&request.url) {
            return Err(wrong("a secret may stand in a header only, not in the URL".into()));
        }
        let headers = headers(&request.headers, secrets)?;
        let Some(client) = &self.client else { return Ok(self.echo(request.body, secrets)) };
        let method = request.method.parse().map_err(|_| wrong(format!("`{}` is no HTTP method", request.method)))?;
        let sent = client.request(method, url).headers(headers).body(request.body).send();
        let patience = self.options.first_byte;
        match timeout(patience, sent).await {
            Ok(Ok(response)) => self.reply(response, secrets).await,
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => Err(transport(format!("{} did not answer within {patience:?}.", self.destination.host()), true)),
        }
    }

    async fn reply(&self, response: reqwest::Response, secrets: &Secrets) -> Result<Reply, ProviderFailure> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response, secrets));
        }
        let headers = response.headers().iter().filter(|(name, _)| **name != http::header::SET_COOKIE);
        let headers = headers.map(|(n, v)| (n.to_string(), secrets.blank(text(Some(v))))).collect();
        let body = Body::of(response, secrets.veiled(), self.options.idle);
        if status.is_success() {
            return Ok(Reply::Stream { head: Head { status: status.as_u16(), headers }, body });
        }
        let time = ERROR_TIME.min(self.options.idle);
        let body = error_body(body, time).await;
        Ok(Reply::Refused(Answer { status: status.as_u16(), headers, body }))
    }

    fn echo(&self, body: Vec<u8>, secrets: &Secrets) -> Reply {
        let once = futures::stream::once(async { Ok(Bytes::from(body)) });
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let body = Body::new(once.boxed(), secrets.veiled(), self.options.idle);
        Reply::Stream { head: Head { status: 200, headers }, body }
    }

    fn redirected(&self, response: &reqwest::Response, secrets: &Secrets) -> ProviderFailure {
        let to = secrets.blank(text(response.headers().get(http::header::LOCATION)));
        let at = self.destination.as_str();
        let message = format!(
            "{at} sends requests on to `{to}`, which is not followed. If that is right, make it the provider's base URL."
        );
        ProviderFailure { kind: FailureKind::InvalidRequest, message, retryable: false, retry_after: None }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ProviderFailure {
        let (at, why) = (self.destination.as_str(), because(error));
        let trust = ["certificate", "handshake", "tls"].iter().any(|w| why.to_lowercase().contains(w));
        if trust {
            return transport(
                format!(
                    "No trusted connection to {at}: {why}. Check the base URL and the certificates of this machine."
                ),
                false,
            );
        }
        let hint = match self.destination.scheme {
            Scheme::Local => "Is the server running there?",
            Scheme::Echo | Scheme::Tls => "Check the network, the proxy settings and the provider's base URL.",
        };
        transport(format!("Could not reach {at}: {why}. {hint}"), true)
    }
}

/// What frames a message is the host's business alone.
const FRAMING: [&str; 8] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-authorization"];

fn headers(given: &[(String, String)], secrets: &Secrets) -> Result<HeaderMap, ProviderFailure> {
    let mut map = HeaderMap::new();
    for (name, value) in given {
        let parsed: HeaderName = name.parse().map_err(|_| wrong(format!("`{}` is no header", name.escape_debug())))?;
        if FRAMING.contains(&parsed.as_str()) {
            return Err(wrong(format!("the header `{name}` is set by the host alone")));
        }
        let (filled, secret) = secrets.fill(value).map_err(|e| unfilled(&e))?;
        let broken = |_| wrong(format!("the value of the header `{name}` holds characters that no header can hold"));
        let mut value = HeaderValue::from_str(&filled).map_err(broken)?;
        value.set_sensitive(secret);
        map.append(parsed, value);
    }
    Ok(map)
}

fn unfilled(error: &SecretError) -> ProviderFailure {
    let kind = match error {
        SecretError::Unset(_) => FailureKind::Auth,
        SecretError::Unclosed => FailureKind::InvalidRequest,
    };
    let message = format!("The request was not sent: {error}.");
    ProviderFailure { kind, message, retryable: false, retry_after: None }
}

fn wrong(why: String) -> ProviderFailure {
    let message = format!("The request was not sent: {why}.");
    ProviderFailure { kind: FailureKind::InvalidRequest, message, retryable: false, retry_after: None }
}

pub fn transport(message: String, retryable: bool) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Transport, message, retryable, retry_after: None }
}

fn text(value: Option<&HeaderValue>) -> String {
    value.map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned()).unwrap_or_default()
}

/// The innermost reason: the outer ones only say that something was sent.
pub(crate) fn because(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// What came before a break, the silence or the end of the time is worth reading.
async fn error_body(mut body: Body, time: Duration) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = async {
        while let Ok(Some(piece)) = body.read().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= ERROR_BODY {
                break;
            }
        }
    };
    // Whether it came to its end or not.
    let _ = timeout(time, read).await;
    bytes.truncate(ERROR_BODY);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_adds_headers_and_replaces_none() {
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let mut out =
            Outgoing { method: "POST".into(), url: String::new(), headers: vec![pair("X-Mine", "1")], body: vec![] };
        out.add_headers(&[
            pair("X-Trace", "t"),
            pair("x-mine", "2"),
            pair("Authorization", "Bearer"),
            pair("x-key", "{{secret:KEY}}"),
            pair("bad name", "v"),
            pair("x-bad", "a\nb"),
        ]);
        assert_eq!(out.headers, [pair("X-Mine", "1"), pair("x-trace", "t")]);
    }
}
