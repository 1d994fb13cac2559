//! The Messages protocol: Anthropic's, and that of the servers that speak it.

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};
use codec::{catalogue, failure};

mod answer;
mod encode;
mod thought;
mod traits;

/// The reader of one answer.
pub type Decoder = codec::Decoder<answer::Answer>;

/// The adapter.
pub struct Codec;

impl Codec {
    /// Tokens of the longest answer of a model that the catalogue knows.
    fn limit(model: &str) -> Option<u32> {
        let known = catalogue::read(MODELS);
        known.into_iter().find(|m| m.id == model).map(|m| m.output).filter(|n| *n > 0)
    }
}

const MODELS: &str = include_str!("../models.json");

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo {
            id: "anthropic".into(),
            name: "Anthropic (Messages)".into(),
            secrets: vec!["anthropic".into()],
            base_url: "https://api.anthropic.com".into(),
            models: catalogue::read(MODELS),
            metadata: Some(r#"{"env":{"anthropic":"ANTHROPIC_API_KEY"}}"#.into()),
        }
    }

    fn encode(request: &Request) -> Result<HttpRequest, String> {
        encode::encode(request)
    }

    fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure {
        failure::classify(status, headers, body)
    }
}

airlock::provider_plugin! { Codec }
