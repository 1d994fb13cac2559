//! How alike lines are, in bounded time.

use crate::lines::{Line, lines};

/// Characters of a line that are compared.
const MAX_CHARS: usize = 300;
/// Steps of the comparison in one call.
const MAX_STEPS: usize = 20_000_000;
/// A line less alike than this is no hint.
const WORTH_A_HINT: f64 = 0.5;

/// Compares until its budget is spent; then nothing is alike.
pub(crate) struct Likeness {
    steps_left: usize,
}

impl Likeness {
    pub(crate) fn new() -> Self {
        Self { steps_left: MAX_STEPS }
    }

    /// 1 = equal, 0 = nothing in common.
    pub(crate) fn of(&mut self, a: &str, b: &str) -> f64 {
        if a == b {
            return 1.0;
        }
        let (a, b) = (head(a), head(b));
        let steps = a.len() * b.len();
        if steps > self.steps_left {
            return 0.0;
        }
        self.steps_left -= steps;
        strsim::normalized_levenshtein(a, b)
    }
}

fn head(line: &str) -> &str {
    line.char_indices().nth(MAX_CHARS).map_or(line, |(at, _)| &line[..at])
}

/// The lines of a text that look most like the first line of `old`, with their numbers as `read` shows them.
pub(crate) fn nearest(text: &str, old: &str) -> Option<String> {
    let old = lines(old);
    let wanted = old.iter().map(Line::trimmed).find(|l| !l.is_empty())?;
    let all = lines(text);
    let mut likeness = Likeness::new();
    let mut best = (WORTH_A_HINT, None);
    for (index, line) in all.iter().enumerate() {
        let alike = likeness.of(line.trimmed(), wanted);
        if alike > best.0 {
            best = (alike, Some(index));
        }
    }
    let first = best.1?;
    let shown = all[first..].iter().take(old.len().clamp(1, 5)).enumerate();
    Some(shown.map(|(n, line)| format!("{}: {}", first + n + 1, head(line.text))).collect::<Vec<_>>().join("\n"))
}
