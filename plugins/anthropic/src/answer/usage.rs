//! Counts, which come in several reports: each is cumulative, and none has all.

use airlock::provider::Usage;
use serde_json::Value;

#[derive(Debug, Default)]
pub struct Tally {
    reported: bool,
    input: u64,
    output: u64,
    thinking: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Tally {
    /// The largest count of each kind stands: some servers say zero in the report that leaves a kind out.
    pub fn add(&mut self, report: &Value) {
        let Some(counts) = report.as_object() else { return };
        self.reported = true;
        let count = |value: &Value| value.as_u64().or_else(|| whole(value.as_f64()?)).unwrap_or(0);
        let raise = |field: &mut u64, key: &str| *field = (*field).max(counts.get(key).map_or(0, count));
        raise(&mut self.input, "input_tokens");
        raise(&mut self.output, "output_tokens");
        raise(&mut self.cache_read, "cache_read_input_tokens");
        raise(&mut self.cache_write, "cache_creation_input_tokens");
        self.thinking = self.thinking.max(count(&report["output_tokens_details"]["thinking_tokens"]));
    }

    /// The wire's input has no cached tokens in it; its output has the thoughts.
    pub fn usage(&self) -> Option<Usage> {
        self.reported.then_some(Usage {
            input: self.input,
            output: self.output.saturating_sub(self.thinking),
            reasoning: self.thinking.min(self.output),
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; a negative count is none")]
fn whole(count: f64) -> Option<u64> {
    (count >= 0.0).then_some(count as u64)
}
