//! What a guest gets of an answer: status, headers and body with its secrets blanked, counted, and no trailers.

use super::super::secrets::Purse;
use super::{Funnel, Stop};
use crate::veil::Veiled;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use http::header::{self, HeaderMap, HeaderValue};
use http_body_util::{BodyExt, StreamBody};
use model::fault::FailureKind;
use model::tool::ToolFailure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, WasiBody};

/// Bytes that came back: of one answer, and of all answers of the call.
pub struct Tally {
    own: AtomicU64,
    all: Arc<AtomicU64>,
    max: u64,
}

impl Tally {
    pub fn new(all: Arc<AtomicU64>, max: u64) -> Self {
        Self { own: AtomicU64::new(0), all, max }
    }

    pub fn received(&self) -> u64 {
        self.own.load(Ordering::Relaxed)
    }

    /// Whether they are still within the call's bounds.
    fn count(&self, bytes: usize) -> bool {
        self.own.fetch_add(bytes as u64, Ordering::Relaxed);
        self.all.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 <= self.max
    }
}

/// # Errors
/// A packed answer to a component that has secrets: they could not be found in it.
pub fn hand_over(
    response: reqwest::Response,
    purse: &Purse,
    tally: Arc<Tally>,
    funnel: Arc<Funnel>,
    idle: Duration,
) -> Result<http::Response<WasiBody>, Stop> {
    let packed = response.headers().get(header::CONTENT_ENCODING).filter(|v| v.as_bytes() != b"identity");
    if let (Some(packed), false) = (packed, purse.is_empty()) {
        let coding = purse.blank(String::from_utf8_lossy(packed.as_bytes()).into_owned());
        let why = format!("the answer is packed ({coding}) though it was asked for as it is");
        return Err(Stop::failed(Error::HttpResponseContentCoding(Some(coding)), why));
    }
    let mut handed = http::Response::builder().status(response.status());
    if let Some(headers) = handed.headers_mut() {
        *headers = blanked(response.headers(), purse);
    }
    let pieces = response.bytes_stream().boxed();
    let reading = Reading { pieces, veiled: Some(purse.veiled()), tally, funnel, idle };
    let frames = unfold(Some(reading), step).map(|piece| piece.map(http_body::Frame::data));
    let broken = |e: http::Error| Stop::failed(Error::HttpProtocolError, e.to_string());
    handed.body(StreamBody::new(frames).boxed_unsync()).map_err(broken)
}

/// A length that no longer holds is left out; so is a header that names a secret.
fn blanked(headers: &HeaderMap, purse: &Purse) -> HeaderMap {
    if purse.is_empty() {
        return headers.clone();
    }
    let mut clean = HeaderMap::new();
    for (name, value) in headers.iter().filter(|(n, _)| **n != header::CONTENT_LENGTH) {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let is_plain = purse.blank(name.to_string()) == name.as_str();
        if let (true, Ok(value)) = (is_plain, HeaderValue::from_bytes(purse.blank(text).as_bytes())) {
            clean.append(name, value);
        }
    }
    clean
}

struct Reading {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    /// None once what it held back has been handed out.
    veiled: Option<Veiled>,
    tally: Arc<Tally>,
    funnel: Arc<Funnel>,
    idle: Duration,
}

type Piece = Result<Bytes, Error>;

async fn step(reading: Option<Reading>) -> Option<(Piece, Option<Reading>)> {
    let mut reading = reading?;
    loop {
        let piece = match timeout(reading.idle, reading.pieces.next()).await {
            Err(_) => return Some((Err(Error::ConnectionReadTimeout), None)),
            Ok(Some(Err(_))) => return Some((Err(Error::HttpResponseIncomplete), None)),
            Ok(None) => {
                let rest = reading.veiled.take()?.end();
                return (!rest.is_empty()).then_some((Ok(rest), None));
            }
            Ok(Some(Ok(piece))) => piece,
        };
        if !reading.tally.count(piece.len()) {
            return Some((Err(reading.over()), None));
        }
        let clean = reading.veiled.as_mut()?.push(piece);
        // A piece of nothing would read as an end to some guests.
        if !clean.is_empty() {
            return Some((Ok(clean), Some(reading)));
        }
    }
}

impl Reading {
    fn over(&self) -> Error {
        let why = format!("The answers to one call can hold {} MiB; this one held more.", self.tally.max >> 20);
        self.funnel.refuse(ToolFailure::new(FailureKind::Limit, why));
        Error::HttpResponseBodySize(Some(self.tally.max))
    }
}
