//! Google's Gemini API: `models/…:streamGenerateContent` as server-sent events (ai.google.dev/api/generate-content).

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};

mod answer;
mod encode;
mod signature;
mod traits;

/// The reader of one answer.
pub type Decoder = codec::Decoder<answer::Answer>;

/// The adapter.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo {
            id: "gemini".into(),
            name: "Google Gemini".into(),
            secrets: vec!["gemini".into()],
            base_url: "https://generativelanguage.googleapis.com".into(),
            models: codec::catalogue::read(include_str!("../models.json")),
            metadata: Some(r#"{"env":{"gemini":"GEMINI_API_KEY"}}"#.into()),
        }
    }

    fn encode(request: &Request) -> Result<HttpRequest, String> {
        encode::encode(request)
    }

    fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure {
        codec::failure::classify(status, headers, body)
    }
}

airlock::provider_plugin! { Codec }
