//! The host's side of a provider: one request, one answer, over HTTP or the `echo:` scheme.

use crate::destination::{Destination, Scheme};
use crate::secret::{SecretError, Secrets, has_placeholder};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use model::provider::{FailureKind, ProviderFailure};
use std::time::Duration;
use tokio::time::timeout;

const CONNECT: Duration = Duration::from_secs(10);
/// Until the first byte, and between two reads.
pub const SILENCE: Duration = Duration::from_secs(120);
/// Bytes of an answer outside 2xx.
const ERROR_BODY: usize = 256 << 10;
/// Bytes that are put together for one push.
const READ: usize = 64 << 10;

/// A request as the codec wrote it; header values may hold `{{secret:NAME}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
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
    Stream { content_type: String, body: Body },
    Refused(Answer),
}

/// A connection pool, shared by all requests to one provider.
pub struct Http {
    destination: Destination,
    /// None for `echo:`, which needs no network.
    client: Option<reqwest::Client>,
}

impl Http {
    /// # Errors
    /// When the roots of trust cannot be loaded.
    pub fn new(destination: Destination) -> Result<Self, String> {
        let client = match destination.scheme {
            Scheme::Echo => None,
            // Neither proxies nor roots of trust have a part in talking to this machine.
            Scheme::Local => Some(builder().no_proxy().tls_certs_only([]).build()),
            Scheme::Tls => Some(builder().https_only(true).build()),
        };
        let client = client.transpose().map_err(|e| because(&e))?;
        Ok(Self { destination, client })
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
        let Some(client) = &self.client else { return Ok(echo(request.body)) };
        let method = request.method.parse().map_err(|_| wrong(format!("`{}` is no HTTP method", request.method)))?;
        let sent = client.request(method, url).headers(headers).body(request.body).send();
        match timeout(SILENCE, sent).await {
            Ok(Ok(response)) => self.reply(response, secrets).await,
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => Err(transport(format!("{} did not answer within {SILENCE:?}.", self.destination.host()), true)),
        }
    }

    async fn reply(&self, response: reqwest::Response, secrets: &Secrets) -> Result<Reply, ProviderFailure> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response, secrets));
        }
        let content_type = text(response.headers().get(http::header::CONTENT_TYPE));
        if status.is_success() {
            return Ok(Reply::Stream { content_type, body: Body::new(response.bytes_stream().boxed()) });
        }
        let headers = response.headers().iter().filter(|(name, _)| **name != http::header::SET_COOKIE);
        let headers = headers.map(|(n, v)| (n.to_string(), secrets.blank(text(Some(v))))).collect();
        let body = secrets.blank_bytes(error_body(response).await);
        Ok(Reply::Refused(Answer { status: status.as_u16(), headers, body }))
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

fn builder() -> reqwest::ClientBuilder {
    install_crypto();
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("airlock/", env!("CARGO_PKG_VERSION")))
}

/// Once for the process. A provider that is installed already is as good.
fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn echo(body: Vec<u8>) -> Reply {
    let once = futures::stream::once(async { Ok(Bytes::from(body)) });
    Reply::Stream { content_type: "text/event-stream".into(), body: Body::new(once.boxed()) }
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
fn because(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

async fn error_body(response: reqwest::Response) -> Vec<u8> {
    let mut body = Body::new(response.bytes_stream().boxed());
    let mut bytes = Vec::new();
    // What came before a break or the silence is worth reading.
    while let Ok(Some(piece)) = body.read().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= ERROR_BODY {
            break;
        }
    }
    bytes.truncate(ERROR_BODY);
    bytes
}

type Pieces = BoxStream<'static, reqwest::Result<Bytes>>;

/// The body of an answer. Dropping it ends the connection.
pub struct Body {
    pieces: Pieces,
    /// What broke after bytes that were still to be handed out.
    broken: Option<ProviderFailure>,
    ended: bool,
}

impl Body {
    fn new(pieces: Pieces) -> Self {
        Self { pieces, broken: None, ended: false }
    }

    /// What has arrived, as much as one push takes; `None` at the end.
    ///
    /// # Errors
    /// A break in the middle, or silence.
    pub async fn read(&mut self) -> Result<Option<Bytes>, ProviderFailure> {
        if let Some(failure) = self.broken.take() {
            return Err(failure);
        }
        if self.ended {
            return Ok(None);
        }
        match timeout(SILENCE, self.pieces.next()).await {
            Ok(Some(Ok(first))) => Ok(Some(self.gather(first).await)),
            Ok(Some(Err(error))) => Err(broken(&error)),
            Ok(None) => Ok(None),
            Err(_) => Err(transport(format!("The answer stopped: nothing came for {SILENCE:?}."), true)),
        }
    }

    /// Adds what has arrived already: a push costs the same for one event as for a hundred. The connection is a task of its own
    /// that hands over one piece at a time: it gets its turn before the line counts as empty.
    async fn gather(&mut self, first: Bytes) -> Bytes {
        let mut all: Option<Vec<u8>> = None;
        let mut waited = false;
        while all.as_ref().map_or(first.len(), Vec::len) < READ {
            let piece = self.pieces.next().now_or_never();
            if piece.is_none() && !waited {
                waited = true;
                give_way().await;
                continue;
            }
            waited = false;
            match piece {
                None => break,
                Some(None) => {
                    self.ended = true;
                    break;
                }
                Some(Some(Err(error))) => {
                    self.broken = Some(broken(&error));
                    break;
                }
                Some(Some(Ok(more))) => all.get_or_insert_with(|| first.to_vec()).extend_from_slice(&more),
            }
        }
        all.map_or(first, Bytes::from)
    }
}

/// Lets the tasks run that are ready on this thread. Unlike tokio's own `yield_now` it does not look at the sockets in between.
async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

fn broken(error: &reqwest::Error) -> ProviderFailure {
    transport(format!("The connection broke in the middle of the answer: {}.", because(error)), true)
}
