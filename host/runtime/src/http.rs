//! The host's side of a provider: one request, one answer, over HTTP or the `echo:` scheme.

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
