//! A model adapter without a model: an honest look at the workspace, or a script. See the README beside this crate.

use airlock::provider::{
    FailureKind, Header, HttpRequest, ModelInfo, Provider, ProviderFailure, ProviderInfo, Request,
};

mod explorer;
mod report;
mod script;
mod turn;

pub use turn::Decoder;
use turn::Turn;

/// The adapter.
pub struct Codec;

impl Provider for Codec {
    type Decoder = Decoder;

    fn info() -> ProviderInfo {
        let model = ModelInfo {
            id: "explorer".into(),
            name: "No model: a look at the workspace".into(),
            tools: true,
            ..ModelInfo::default()
        };
        ProviderInfo {
            id: "offline".into(),
            name: "Offline stand-in".into(),
            base_url: "echo:".into(),
            models: vec![model],
            ..ProviderInfo::default()
        }
    }

    fn encode(request: &Request) -> Result<HttpRequest, String> {
        let body = next(request)?.to_body()?;
        let content_type = Header { name: "content-type".into(), value: "text/event-stream".into() };
        Ok(HttpRequest { method: "POST".into(), url: request.base_url.clone(), headers: vec![content_type], body })
    }

    /// Nothing but an echo answers here: anything else is a wrong base URL.
    fn classify(status: u16, _: &[Header], _: &[u8]) -> ProviderFailure {
        ProviderFailure {
            kind: FailureKind::Transport,
            message: format!("The offline stand-in got HTTP {status}: its base URL must be `echo:`"),
            retryable: false,
            retry_after_ms: None,
        }
    }
}

fn next(request: &Request) -> Result<Turn, String> {
    match script::of(request)? {
        Some(script) => Ok(script.turn(turn::number(request))),
        None => Ok(explorer::turn(request)),
    }
}

airlock::provider_plugin! { Codec }

#[cfg(test)]
mod tests;
