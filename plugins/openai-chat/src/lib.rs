//! The chat-completions protocol: OpenAI's, and that of the many servers that speak it.

mod answer;
mod catalogue;
mod chunk;
mod dialect;
mod encode;

fn info() -> airlock::provider::ProviderInfo {
    let name = "OpenAI and compatible servers (chat completions)";
    codec::info("openai-chat", name, "openai", "https://api.openai.com/v1", catalogue::models())
}

codec::adapter! { encode::Chat, answer::Answer, info }
