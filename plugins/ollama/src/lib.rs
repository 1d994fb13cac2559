//! Ollama's own protocol: `api/chat`, one JSON text a line (github.com/ollama/ollama/blob/main/docs/api.md).

mod answer;
mod encode;

/// It knows no models: what is there is what the person has loaded.
fn info() -> airlock::provider::ProviderInfo {
    codec::info("ollama", "Ollama (its own protocol)", "ollama", "http://127.0.0.1:11434", Vec::new())
}

codec::adapter! { encode::Chat, answer::Answer, info }
