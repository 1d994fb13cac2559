//! From the wire's counts to ours, in which nothing is counted twice.

use airlock::provider::Usage;
use serde_json::Value;

/// The wire's input includes what the cache took and gave, its output the thoughts.
pub fn read(wire: &Value) -> Option<Usage> {
    if !wire.is_object() {
        return None;
    }
    let input = &wire["input_tokens_details"];
    let cache_read = count(&input["cached_tokens"]);
    let cache_write = count(&input["cache_write_tokens"]);
    let output = count(&wire["output_tokens"]);
    let reasoning = count(&wire["output_tokens_details"]["reasoning_tokens"]).min(output);
    Some(Usage {
        input: count(&wire["input_tokens"]).saturating_sub(cache_read.saturating_add(cache_write)),
        output: output - reasoning,
        reasoning,
        cache_read,
        cache_write,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; a negative count is none")]
fn count(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_f64().map(|f| f as u64)).unwrap_or(0)
}
