//! Ollama's own protocol: `api/chat`, one JSON text a line (github.com/ollama/ollama/blob/main/docs/api.md).

use airlock::provider::{Header, HttpRequest, Provider, ProviderFailure, ProviderInfo, Request};

mod answer;
mod encode;

/// The reader of one answer.
pub type Decoder = codec::Decoder<answer::Answer>;

/// The adapter. It knows no models: what is there is what the person has loaded.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        ProviderInfo {
            id: "ollama".into(),
            name: "Ollama (its own protocol)".into(),
            secrets: vec!["ollama".into()],
            base_url: "http://127.0.0.1:11434".into(),
            models: Vec::new(),
            metadata: Some(r#"{"env":{"ollama":"OLLAMA_API_KEY"}}"#.into()),
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
