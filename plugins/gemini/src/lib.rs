//! Google's Gemini API: `models/…:streamGenerateContent` as server-sent events (ai.google.dev/api/generate-content).

mod answer;
mod encode;
mod signature;
mod traits;

fn info() -> airlock::provider::ProviderInfo {
    let models = codec::catalogue::read(include_str!("../models.json"));
    codec::info("gemini", "Google Gemini", "gemini", "https://generativelanguage.googleapis.com", models)
}

codec::adapter! { encode::Contents, answer::Answer, info }
