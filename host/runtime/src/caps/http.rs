//! Requests of guests: `wasi:http` on an own sender. *Read once, match, judge, look up, vet the addresses, note it, send it.*
//!
//! Nothing is followed, decompressed, kept or reused for the guest: it gets the answer as it is (but for its secrets), and each further
//! request, that of a redirect too, goes all the way again.

mod answer;
mod order;
mod resolve;

#[cfg(test)]
mod tests;

pub use resolve::{Resolver, SystemResolver};

use super::secrets::{NoSecrets, Purse, SecretSource};
use super::{Funnel, Refused};
use crate::http::{HttpOptions, because, pinned};
use answer::Tally;
use http_body_util::BodyExt;
use model::egress::{Egress, Verdict};
use model::fault::FailureKind;
use model::grant::Grant;
use model::target::{Scheme, Target};
use model::tool::ToolFailure;
use order::Order;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// Requests of one call, refused ones included.
const REQUESTS: usize = 64;
/// Bytes that one call can send in bodies.
const SENT: u64 = 8 << 20;
/// Bytes that one call can read of answers.
const RECEIVED: u64 = 32 << 20;
/// How long a connection may take, and the longest silence before and inside an answer. A guest can ask for less.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);

/// What the network of all components stands on.
#[derive(Clone)]
pub struct Means {
    pub resolver: Arc<dyn Resolver>,
    pub secrets: Arc<dyn SecretSource>,
    /// Further roots of trust, as PEM.
    pub ca: Option<Vec<u8>>,
}

impl Default for Means {
    fn default() -> Self {
        Self { resolver: Arc::new(SystemResolver), secrets: Arc::new(NoSecrets), ca: None }
    }
}

/// The network as one call sees it.
pub struct Network(Arc<Line>);

struct Line {
    funnel: Arc<Funnel>,
    grant: Arc<Grant>,
    /// Digest of the component.
    component: String,
    means: Arc<Means>,
    /// Filled when the first request is made.
    purse: OnceLock<Purse>,
    requests: AtomicUsize,
    sent: AtomicU64,
    received: Arc<AtomicU64>,
    /// Requests whose answers may still be read.
    open: Mutex<Vec<(Egress, Arc<Tally>)>>,
}

/// Why a request ends here. What the guest gets is a code; why, the call's failure says.
#[derive(Debug)]
struct Stop {
    code: Error,
    why: String,
    is: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It is not to be sent.
    Denied,
    /// The gate said no, and keeps why.
    Asked,
    Limit,
    /// It was to be sent, and there was no answer.
    Failed,
}

impl Stop {
    fn denied(why: impl Into<String>) -> Self {
        Self { code: Error::HttpRequestDenied, why: why.into(), is: Kind::Denied }
    }

    fn failed(code: Error, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), is: Kind::Failed }
    }
}

impl Network {
    #[must_use]
    pub fn new(funnel: Arc<Funnel>, grant: Arc<Grant>, component: String, means: Arc<Means>) -> Self {
        Self(Arc::new(Line {
            funnel,
            grant,
            component,
            means,
            purse: OnceLock::new(),
            requests: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            received: Arc::default(),
            open: Mutex::default(),
        }))
    }

    /// Notes how much came back. To be called when the guest has ended.
    pub async fn settle(&self) {
        let open = std::mem::take(&mut *self.0.open.lock().unwrap_or_else(PoisonError::into_inner));
        for (record, tally) in open {
            let received = tally.received();
            if received > 0 {
                self.0.note(Egress { received, ..record }).await;
            }
        }
    }

    /// Whether a secret can be used by name.
    #[must_use]
    pub fn has_secret(&self, name: &str) -> bool {
        super::secrets::is_set(&self.0.grant.secrets, self.0.means.secrets.as_ref(), name)
    }
}

type Sent = wasmtime_wasi_http::Result<(
    http::Response<WasiBody>,
    Box<dyn Future<Output = wasmtime_wasi_http::Result<()>> + Send>,
)>;

impl WasiHttpHooks for Network {
    fn forbidden_header_filter(&mut self) -> wasmtime_wasi_http::ForbiddenHeaderFilter {
        Arc::new(order::is_forbidden)
    }

    /// It is made from the URL that was matched.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = wasmtime_wasi_http::Result<()>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let line = Arc::clone(&self.0);
        Box::new(async move {
            let response = line.send(request, options.unwrap_or_default()).await?;
            let nothing_more: Box<dyn Future<Output = wasmtime_wasi_http::Result<()>> + Send> =
                Box::new(async { Ok(()) });
            Ok((response, nothing_more))
        })
    }
}

impl Line {
    async fn send(
        self: Arc<Self>,
        request: http::Request<WasiBody>,
        options: RequestOptions,
    ) -> wasmtime_wasi_http::Result<http::Response<WasiBody>> {
        if self.requests.fetch_add(1, Ordering::Relaxed) >= REQUESTS {
            let why = format!("one call can send {REQUESTS} requests, and this one has");
            return Err(self.keep(Stop { code: Error::HttpRequestDenied, why, is: Kind::Limit }));
        }
        let (parts, body) = request.into_parts();
        let mut record = self.record(&parts);
        let sent = self.carry_out(&parts, body, &options, &mut record).await;
        match sent {
            Ok(response) => Ok(response),
            Err(stop) => {
                record.verdict = match stop.is {
                    Kind::Failed => Verdict::Failed { why: stop.why.clone() },
                    Kind::Denied | Kind::Asked | Kind::Limit => Verdict::Refused { why: stop.why.clone() },
                };
                self.note(record).await;
                Err(self.keep(stop))
            }
        }
    }

    async fn carry_out(
        &self,
        parts: &http::request::Parts,
        body: WasiBody,
        options: &RequestOptions,
        record: &mut Egress,
    ) -> Result<http::Response<WasiBody>, Stop> {
        let order =
            Order::read(parts).map_err(|why| Stop { code: Error::HttpRequestUriInvalid, ..Stop::denied(why) })?;
        record.host = order.target.origin();
        let addresses = self.admit(&order).await?;
        let (headers, secrets) = order.headers(self.purse()).map_err(Stop::denied)?;
        let body = self.gather(body).await?;
        (record.secrets, record.sent) = (secrets, body.len() as u64);
        if !self.note(record.clone()).await {
            return Err(Stop::denied("it could not be noted in the ledger, and what is not noted is not sent"));
        }
        let response = self.exchange(&order, headers, body, &addresses, options).await?;
        record.status = Some(response.status().as_u16());
        let tally = Arc::new(Tally::new(Arc::clone(&self.received), RECEIVED));
        self.note(record.clone()).await;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push((record.clone(), Arc::clone(&tally)));
        answer::hand_over(
            response,
            self.purse(),
            tally,
            Arc::clone(&self.funnel),
            silence(options.between_bytes_timeout),
        )
    }

    /// Whether it may be sent, and to which addresses. No name is looked up before it may.
    async fn admit(&self, order: &Order) -> Result<Vec<SocketAddr>, Stop> {
        let Order { method, target, .. } = order;
        if !self.grant.http.allow(method, target) {
            let granted = self.grant.http.in_words();
            let granted = if granted.is_empty() { "no request at all".into() } else { granted.join(", ") };
            return Err(Stop::denied(format!("the component's grant is for {granted}")));
        }
        let is_named = self.is_named(method, target);
        if let (Some(what), false) = (resolve::what_is_near(target), is_named) {
            let why = format!("{} is {what}; {}", target.host, how_to_name(target));
            return Err(Stop { code: Error::DestinationIpProhibited, ..Stop::denied(why) });
        }
        if target.scheme == Scheme::Http && !is_named {
            return Err(Stop::denied(format!("it would go without TLS: use https, or {}", how_to_name(target))));
        }
        self.funnel
            .request(method, target)
            .await
            .map_err(|Refused| Stop { is: Kind::Asked, ..Stop::denied("it was not permitted") })?;
        resolve::addresses(self.means.resolver.as_ref(), target).await
    }

    /// Whether the grant or a rule means this very host, and not many.
    fn is_named(&self, method: &str, target: &Target) -> bool {
        let by_rule = || self.funnel.rule_for(method, target).is_some_and(|rule| target.is_named_by(&rule.pattern));
        self.grant.http.name(method, target) || by_rule()
    }

    fn purse(&self) -> &Purse {
        self.purse.get_or_init(|| Purse::of(&self.grant.secrets, self.means.secrets.as_ref()))
    }

    /// The whole body before anything is sent: its length is then what the host counted, not what the guest says.
    async fn gather(&self, mut body: WasiBody) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|code| Stop::failed(code, "its body could not be read"))?;
            let Ok(data) = frame.into_data() else { return Err(Stop::denied("trailers are not sent")) };
            let all = self.sent.fetch_add(data.len() as u64, Ordering::Relaxed) + data.len() as u64;
            if all > SENT {
                let why = format!("one call can send {} MiB", SENT >> 20);
                return Err(Stop { code: Error::HttpRequestBodySize(Some(SENT)), why, is: Kind::Limit });
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }

    async fn exchange(
        &self,
        order: &Order,
        headers: http::HeaderMap,
        body: Vec<u8>,
        addresses: &[SocketAddr],
        options: &RequestOptions,
    ) -> Result<reqwest::Response, Stop> {
        let connect = least(options.connect_timeout, CONNECT);
        let http = HttpOptions { connect, ca: self.means.ca.clone(), ..HttpOptions::default() };
        let target = &order.target;
        let broken = |why: String| Stop::failed(Error::ConfigurationError, why);
        let client = pinned(target, addresses, &http).map_err(broken)?;
        let url = reqwest::Url::parse(&target.to_string()).map_err(|e| broken(e.to_string()))?;
        let method = order.method.parse().map_err(|_| broken("no method".into()))?;
        let mut request = client.request(method, url).headers(headers);
        if !body.is_empty() {
            request = request.body(body);
        }
        let wait = connect.saturating_add(silence(options.first_byte_timeout));
        match timeout(wait, request.send()).await {
            Err(_) => Err(Stop::failed(Error::HttpResponseTimeout, format!("no answer within {wait:?}"))),
            Ok(Err(error)) => Err(unreached(&error)),
            Ok(Ok(response)) if response.status().is_informational() => {
                Err(Stop::failed(Error::HttpUpgradeFailed, "the server changes the protocol"))
            }
            Ok(Ok(response)) => Ok(response),
        }
    }

    fn record(&self, parts: &http::request::Parts) -> Egress {
        let actor = &self.funnel.actor;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let cut = |text: &str| text.chars().take(200).collect::<String>();
        Egress {
            id: ulid::Ulid::generate().to_string(),
            session: actor.session.clone(),
            call: actor.call.clone(),
            tool: actor.tool.clone(),
            component: self.component.clone(),
            time: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            method: cut(parts.method.as_str()),
            host: cut(parts.uri.authority().map_or("", |a| a.as_str())),
            secrets: Vec::new(),
            verdict: Verdict::Sent,
            status: None,
            sent: 0,
            received: 0,
        }
    }

    /// Whether it is noted.
    async fn note(&self, record: Egress) -> bool {
        let noted = self.funnel.journal.egress(record).await;
        noted.inspect_err(|error| tracing::warn!(%error, "a request could not be noted")).is_ok()
    }

    /// Keeps why, for the call's failure.
    fn keep(&self, stop: Stop) -> Error {
        let kind = match stop.is {
            Kind::Denied => FailureKind::Denied,
            Kind::Limit => FailureKind::Limit,
            Kind::Asked | Kind::Failed => return stop.code,
        };
        let what = format!("The request of {} was not sent: {}.", self.funnel.actor.tool, stop.why);
        self.funnel.refuse(ToolFailure::new(kind, what));
        stop.code
    }
}

fn how_to_name(target: &Target) -> String {
    format!("a rule must name it: --allow 'net:{}/*'", target.origin())
}

/// A wait of nothing would be no wait.
fn least(asked: Option<Duration>, most: Duration) -> Duration {
    asked.map_or(most, |a| a.clamp(Duration::from_millis(1), most))
}

fn silence(asked: Option<Duration>) -> Duration {
    least(asked, SILENCE)
}

fn unreached(error: &reqwest::Error) -> Stop {
    let why = because(error);
    let code = match (error.is_timeout(), error.is_connect()) {
        (true, _) => Error::ConnectionTimeout,
        (_, true) if why.to_lowercase().contains("certificate") => Error::TlsCertificateError,
        (_, true) => Error::ConnectionRefused,
        _ => Error::HttpProtocolError,
    };
    Stop::failed(code, why)
}
