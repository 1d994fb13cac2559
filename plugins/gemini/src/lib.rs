//! Google's Gemini API: `models/…:streamGenerateContent` as server-sent events (ai.google.dev/api/generate-content).

mod answer;
mod encode;
mod signature;
mod traits;

const MODELS: &str = include_str!("../models.json");

fn info() -> airlock::provider::ProviderInfo {
    let models = codec::catalogue::read(MODELS);
    codec::info("gemini", "Google Gemini", "gemini", "https://generativelanguage.googleapis.com", models)
}

codec::adapter! { encode::Contents, answer::Answer, info }
