//! From the wire's counts to ours, in which nothing is counted twice.

use crate::chunk;
use airlock::provider::Usage;

/// The wire's prompt tokens include the cached ones, its completion tokens the reasoning.
pub fn read(wire: &chunk::Usage) -> Usage {
    let prompt = wire.prompt_tokens_details.unwrap_or_default();
    let reasoning = wire.completion_tokens_details.unwrap_or_default().reasoning_tokens;
    let cache_read = prompt.cached_tokens.max(wire.prompt_cache_hit_tokens).max(wire.cached_tokens);
    let cached = cache_read.saturating_add(prompt.cache_write_tokens);
    let output = if is_apart(wire, reasoning) {
        wire.completion_tokens
    } else {
        wire.completion_tokens.saturating_sub(reasoning)
    };
    Usage {
        input: wire.prompt_tokens.saturating_sub(cached),
        output,
        reasoning,
        cache_read,
        cache_write: prompt.cache_write_tokens,
    }
}

/// xAI counts reasoning beside the completion, which only the total tells.
fn is_apart(wire: &chunk::Usage, reasoning: u64) -> bool {
    let sum = wire.prompt_tokens.checked_add(wire.completion_tokens).and_then(|s| s.checked_add(reasoning));
    reasoning > 0 && sum == Some(wire.total_tokens)
}
