//! What OpenAI's models have in common, whatever the protocol.

/// OpenAI's reasoning models: o1, o3-mini, gpt-5 and what follows, also behind a router's prefix.
#[must_use]
pub fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let gpt = name.strip_prefix("gpt-").and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    (o_series || gpt.is_some_and(|n| n >= 5)) && !name.contains("-chat")
}
