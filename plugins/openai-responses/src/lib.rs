//! The Responses protocol: OpenAI's, and that of the servers that speak it. Nothing is stored there: the whole conversation goes with each
//! request, encrypted thoughts included.

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};
use codec::{catalogue, failure};

mod answer;
mod encode;

/// The reader of one answer.
pub type Decoder = codec::Decoder<answer::Answer>;

/// The adapter.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo {
            id: "openai-responses".into(),
            name: "OpenAI (Responses)".into(),
            secrets: vec!["openai".into()],
            base_url: "https://api.openai.com/v1".into(),
            models: catalogue::read(include_str!("../models.json")),
            metadata: Some(r#"{"env":{"openai":"OPENAI_API_KEY"}}"#.into()),
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
