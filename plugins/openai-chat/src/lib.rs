//! The chat-completions protocol: OpenAI's, and that of the many servers that speak it.

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};

mod answer;
mod chunk;
mod decode;
mod failure;

pub use decode::Decoder;

/// The adapter.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo::default()
    }

    fn encode(_: &Request) -> Result<HttpRequest, String> {
        Err("not yet".into())
    }

    fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure {
        failure::classify(status, headers, body)
    }
}
