//! The chat-completions protocol: OpenAI's, and that of the many servers that speak it.

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};

mod answer;
mod catalogue;
mod chunk;
mod dialect;
mod encode;

/// The reader of one answer.
pub type Decoder = codec::Decoder<answer::Answer>;

pub use encode::Growing;

/// The adapter.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo {
            id: "openai-chat".into(),
            name: "OpenAI and compatible servers (chat completions)".into(),
            secrets: vec!["openai".into()],
            base_url: "https://api.openai.com/v1".into(),
            models: catalogue::models(),
            metadata: Some(r#"{"env":{"openai":"OPENAI_API_KEY"}}"#.into()),
        }
    }

    fn encode(request: &Request) -> Result<HttpRequest, String> {
        encode::encode(request)
    }

    fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure {
        codec::failure::classify(status, headers, body)
    }
}

airlock::provider_plugin! { Codec, Growing }
