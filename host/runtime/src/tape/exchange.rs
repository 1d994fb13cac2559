//! The shape of a file on a tape.

use super::StandIn;
use crate::http::{Answer, Outgoing};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::provider::{FailureKind, ProviderFailure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub request: Asked,
    pub response: Said,
}

/// A request with stand-ins for what is not the same in each run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: AskedBody,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedBody {
    Json(Value),
    Other(Content),
}

impl Asked {
    pub fn new<'s>(outgoing: &Outgoing, stand_ins: impl Iterator<Item = &'s StandIn> + Clone) -> Self {
        let stand = |text: &str| {
            let known = stand_ins.clone().filter(|(text, _)| !text.is_empty());
            known.fold(text.to_owned(), |text, (real, stand_in)| text.replace(real.as_str(), stand_in))
        };
        let body = match std::str::from_utf8(&outgoing.body) {
            Err(_) => AskedBody::Other(Content::new(&outgoing.body)),
            Ok(text) => {
                let text = stand(text);
                serde_json::from_str(&text).map_or(AskedBody::Other(Content::Text(text)), AskedBody::Json)
            }
        };
        let headers = outgoing.headers.iter().map(|(n, v)| (n.to_lowercase(), stand(v))).collect();
        Self { method: outgoing.method.clone(), url: stand(&outgoing.url), headers, body }
    }
}

/// What came back.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    Stream { status: u16, headers: Vec<(String, String)>, pieces: Vec<Piece>, end: Ended },
    Refused { status: u16, headers: Vec<(String, String)>, body: Content },
    Failure(Failure),
}

impl Said {
    pub fn refused(answer: &Answer) -> Self {
        let body = Content::new(&answer.body);
        Self::Refused { status: answer.status, headers: answer.headers.clone(), body }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    Whole,
    Broke(Failure),
    /// Nobody listened to the end.
    Left,
}

/// What one read gave.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Since the piece before it, or the request.
    pub after_ms: u64,
    #[serde(flatten)]
    pub bytes: Content,
}

impl Piece {
    pub fn after(&self) -> Duration {
        Duration::from_millis(self.after_ms)
    }

    pub fn new(after: Duration, bytes: &[u8]) -> Self {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self { after_ms, bytes: Content::new(bytes) }
    }
}

/// Bytes: as text where they are.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    Text(String),
    Base64(Coded),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Coded(Vec<u8>);

impl From<Coded> for String {
    fn from(coded: Coded) -> Self {
        STANDARD.encode(coded.0)
    }
}

impl TryFrom<String> for Coded {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

impl Content {
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(Coded(bytes.to_vec())),
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Base64(coded) => coded.0,
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    kind: FailureKind,
    message: String,
    retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl From<&ProviderFailure> for Failure {
    fn from(f: &ProviderFailure) -> Self {
        let retry_after_ms = f.retry_after.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
        Self { kind: f.kind, message: f.message.clone(), retryable: f.retryable, retry_after_ms }
    }
}

impl From<Failure> for ProviderFailure {
    fn from(f: Failure) -> Self {
        let retry_after = f.retry_after_ms.map(Duration::from_millis);
        Self { kind: f.kind, message: f.message, retryable: f.retryable, retry_after }
    }
}
