//! The Responses protocol: OpenAI's, and that of the servers that speak it. Nothing is stored there: the whole conversation goes with each
//! request, encrypted thoughts included.

mod answer;
mod encode;

const MODELS: &str = include_str!("../models.json");

fn info() -> airlock::provider::ProviderInfo {
    let models = codec::catalogue::read(MODELS);
    codec::info("openai-responses", "OpenAI (Responses)", "openai", "https://api.openai.com/v1", models)
}

codec::adapter! { encode::Responses, answer::Answer, info }
