//! The Messages protocol: Anthropic's, and that of the servers that speak it.

mod answer;
mod encode;
mod thought;
mod traits;

const MODELS: &str = include_str!("../models.json");

fn info() -> airlock::provider::ProviderInfo {
    let models = codec::catalogue::read(MODELS);
    codec::info("anthropic", "Anthropic (Messages)", "anthropic", "https://api.anthropic.com", models)
}

/// Tokens of the longest answer of a model that the catalogue knows.
fn limit(model: &str) -> Option<u32> {
    let known = codec::catalogue::read(MODELS);
    known.into_iter().find(|m| m.id == model).map(|m| m.output).filter(|n| *n > 0)
}

codec::adapter! { encode::Messages, answer::Answer, info }
