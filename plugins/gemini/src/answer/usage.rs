//! From the wire's counts to ours, in which nothing is counted twice.

use airlock::provider::Usage;
use codec::json::Lean;

/// The last report of each count: they are cumulative, and a chunk may leave some out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    prompt: Option<u64>,
    cached: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
    tool_prompt: Option<u64>,
    total: Option<u64>,
}

impl Counts {
    pub fn read(&mut self, usage: &Lean<'_>) {
        let last = |field: &mut Option<u64>, name: &str| *field = usage.get(name).as_u64().or(*field);
        last(&mut self.prompt, "promptTokenCount");
        last(&mut self.cached, "cachedContentTokenCount");
        last(&mut self.candidates, "candidatesTokenCount");
        last(&mut self.thoughts, "thoughtsTokenCount");
        last(&mut self.tool_prompt, "toolUsePromptTokenCount");
        last(&mut self.total, "totalTokenCount");
    }

    /// The prompt's tokens include the cached ones. Thoughts are counted beside the answer, which only the total tells from a gateway that
    /// counts them in.
    pub fn usage(&self) -> Option<Usage> {
        self.prompt.or(self.candidates).or(self.total)?;
        let of = |count: Option<u64>| count.unwrap_or(0);
        let (prompt, cached) = (of(self.prompt).saturating_add(of(self.tool_prompt)), of(self.cached));
        let (candidates, thoughts) = (of(self.candidates), of(self.thoughts));
        let inside = self.total == prompt.checked_add(candidates) && thoughts <= candidates;
        Some(Usage {
            input: prompt.saturating_sub(cached),
            output: if inside { candidates - thoughts } else { candidates },
            reasoning: thoughts,
            cache_read: cached,
            cache_write: 0,
        })
    }
}
