//! What is known of OpenAI's models. Others work as well: their limits and prices come from the user's config.
//!
//! Prices as of 2026-06, second-hand: OpenAI's list (developers.openai.com/api/docs/pricing) as public catalogues quote it. Limits as
//! commonly published, not checked against the models' own pages: where they matter, set `models` in the config, which wins.

use airlock::provider::{ModelInfo, Price};

/// Id, window, longest answer, USD per million tokens: input, cached input, output.
type Row = (&'static str, u32, u32, &'static str, &'static str, &'static str);

const ROWS: [Row; 11] = [
    ("gpt-5.2", 400_000, 128_000, "1.75", "0.175", "14.00"),
    ("gpt-5.1", 400_000, 128_000, "1.25", "0.125", "10.00"),
    ("gpt-5", 400_000, 128_000, "1.25", "0.125", "10.00"),
    ("gpt-5-mini", 400_000, 128_000, "0.25", "0.025", "2.00"),
    ("gpt-5-nano", 400_000, 128_000, "0.05", "0.005", "0.40"),
    ("gpt-4.1", 1_047_576, 32_768, "2.00", "0.50", "8.00"),
    ("gpt-4.1-mini", 1_047_576, 32_768, "0.40", "0.10", "1.60"),
    ("gpt-4.1-nano", 1_047_576, 32_768, "0.10", "0.025", "0.40"),
    ("gpt-4o", 128_000, 16_384, "2.50", "1.25", "10.00"),
    ("gpt-4o-mini", 128_000, 16_384, "0.15", "0.075", "0.60"),
    ("o4-mini", 200_000, 100_000, "1.10", "0.275", "4.40"),
];

pub fn models() -> Vec<ModelInfo> {
    ROWS.iter().map(model).collect()
}

fn model((id, context, output, input_price, cached_price, output_price): &Row) -> ModelInfo {
    ModelInfo {
        id: (*id).into(),
        name: (*id).into(),
        context: *context,
        output: *output,
        price: Some(Price {
            input: (*input_price).into(),
            output: (*output_price).into(),
            cache_read: (*cached_price).into(),
            // What goes into the cache is billed as input.
            cache_write: (*input_price).into(),
        }),
        tools: true,
        reasoning: codec::openai::is_reasoning_model(id),
        images: true,
        metadata: None,
    }
}
