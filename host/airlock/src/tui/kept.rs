//! What comes while a person is asked: it waits until the answer is there, so that the question stays in sight.

use model::id::PartId;
use std::collections::VecDeque;

/// Bytes that wait. What comes on top of it pushes the oldest out.
const MAX_BYTES: usize = 256 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    Line(String),
    Text(PartId, String),
}

impl Output {
    fn size(&self) -> usize {
        let (Self::Line(text) | Self::Text(_, text)) = self;
        // An empty one takes room as well.
        text.len() + 32
    }
}

#[derive(Default)]
pub struct Kept {
    outputs: VecDeque<Output>,
    bytes: usize,
    /// Outputs that were pushed out.
    lost: usize,
}

impl Kept {
    pub fn push(&mut self, output: Output) {
        self.bytes += output.size();
        self.outputs.push_back(output);
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.outputs.pop_front()
        {
            self.bytes -= oldest.size();
            self.lost += 1;
        }
    }

    #[must_use]
    pub fn has_text_of(&self, part: &PartId) -> bool {
        self.outputs.iter().any(|o| matches!(o, Output::Text(p, _) if p == part))
    }

    /// In the order of their coming, with a word of what is missing before them.
    pub fn take(&mut self) -> Vec<Output> {
        let all = std::mem::take(self);
        let lost =
            (all.lost > 0).then(|| Output::Line(format!("({} earlier pieces of output are not shown)", all.lost)));
        lost.into_iter().chain(all.outputs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_keeps_its_order() {
        let (mut kept, part) = (Kept::default(), PartId::new());
        let all = || vec![Output::Line("a".into()), Output::Text(part.clone(), "b".into()), Output::Line("c".into())];
        all().into_iter().for_each(|o| kept.push(o));
        assert!(kept.has_text_of(&part) && !kept.has_text_of(&PartId::new()));
        assert_eq!(kept.take(), all());
        assert!(kept.take().is_empty());
    }

    #[test]
    fn what_waits_is_bounded_and_says_so() {
        let mut kept = Kept::default();
        (0..10).for_each(|i| kept.push(Output::Line(i.to_string().repeat(MAX_BYTES / 4))));
        let outputs = kept.take();
        assert_eq!(outputs.len(), 4);
        assert_eq!(outputs[0], Output::Line("(7 earlier pieces of output are not shown)".into()));
        assert!(matches!(&outputs[3], Output::Line(l) if l.starts_with('9')));
    }
}
