//! Models that think aloud: `<think>…</think>` at the beginning of the content, from servers that do not part it themselves. A tag may be
//! cut anywhere, so what may still become one waits.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Parts of the names of models whose templates write these tags.
const THINKERS: [&str; 16] = [
    "deepseek-r1",
    "r1-distill",
    "qwq",
    "qwen3",
    "qwen-3",
    "think",
    "reason",
    "magistral",
    "minimax-m",
    "glm-4.5",
    "glm-4.6",
    "glm-z1",
    "exaone",
    "nemotron",
    "smollm3",
    "hunyuan",
];

/// A piece of the content, told apart.
#[derive(Debug, PartialEq, Eq)]
pub enum Thinking {
    Text(String),
    Thought(String),
}

/// Reads content along and tells the thought from the answer. The default looks for nothing.
#[derive(Debug, Default)]
pub struct Think {
    phase: Phase,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing but blanks, and perhaps the beginning of the tag, has come.
    Before,
    Inside,
    /// The thought is over; the blanks that part it from the answer belong to neither.
    Between,
    /// Whatever comes is text: a tag that the model quotes as well.
    #[default]
    Text,
}

impl Think {
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let thinks = THINKERS.iter().any(|part| name.contains(part));
        Self { phase: if thinks { Phase::Before } else { Phase::Text }, held: String::new() }
    }

    /// Nothing is looked for any more.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.phase == Phase::Text
    }

    /// The pieces that can be told apart so far.
    pub fn push(&mut self, text: &str) -> Vec<Thinking> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while self.step(&mut pieces) {}
        pieces
    }

    /// Nothing more comes: what waited is what it looks like.
    pub fn end(&mut self) -> Vec<Thinking> {
        let rest = std::mem::take(&mut self.held);
        let phase = std::mem::replace(&mut self.phase, Phase::Text);
        match phase {
            _ if rest.is_empty() => vec![],
            Phase::Inside => vec![Thinking::Thought(rest)],
            Phase::Before | Phase::Between | Phase::Text => vec![Thinking::Text(rest)],
        }
    }

    /// One change of phase; false when more has to come.
    fn step(&mut self, pieces: &mut Vec<Thinking>) -> bool {
        match self.phase {
            Phase::Before => self.before(),
            Phase::Inside => self.inside(pieces),
            Phase::Between => {
                self.held = self.held.trim_start().to_owned();
                self.go_on(if self.held.is_empty() { Phase::Between } else { Phase::Text })
            }
            Phase::Text => {
                pieces.extend(Some(std::mem::take(&mut self.held)).filter(|t| !t.is_empty()).map(Thinking::Text));
                false
            }
        }
    }

    fn go_on(&mut self, phase: Phase) -> bool {
        let changed = self.phase != phase;
        self.phase = phase;
        changed
    }

    fn before(&mut self) -> bool {
        let begun = self.held.trim_start();
        if let Some(thought) = begun.strip_prefix(OPEN) {
            self.held = thought.to_owned();
            return self.go_on(Phase::Inside);
        }
        // Blanks are short before a tag; a model that writes nothing else is not held back for ever.
        let may_open = OPEN.starts_with(begun) && self.held.len() < 256;
        !may_open && self.go_on(Phase::Text)
    }

    fn inside(&mut self, pieces: &mut Vec<Thinking>) -> bool {
        let (thought, over) = match self.held.split_once(CLOSE) {
            Some((thought, rest)) => (thought.to_owned(), Some(rest.to_owned())),
            None => (self.held[..self.held.len() - begun(&self.held)].to_owned(), None),
        };
        let rest = over.clone().unwrap_or_else(|| self.held[thought.len()..].to_owned());
        self.held = rest;
        pieces.extend(Some(thought).filter(|t| !t.is_empty()).map(Thinking::Thought));
        over.is_some() && self.go_on(Phase::Between)
    }
}

/// Bytes at the end that the closing tag may begin with.
fn begun(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|n| text.ends_with(&CLOSE[..*n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thought and text, whatever the cuts.
    fn parted(model: &str, pieces: &[&str]) -> (String, String) {
        let mut think = Think::of(model);
        let (mut thought, mut text) = (String::new(), String::new());
        let mut take = |pieces: Vec<Thinking>| {
            for piece in pieces {
                match piece {
                    Thinking::Thought(t) => thought += &t,
                    Thinking::Text(t) => text += &t,
                }
            }
        };
        pieces.iter().for_each(|p| take(think.push(p)));
        take(think.end());
        (thought, text)
    }

    #[test]
    fn thoughts_are_told_from_the_answer_at_every_cut() {
        for (content, thought, text) in [
            ("<think>Hm.</think>Yes.", "Hm.", "Yes."),
            (
                "\n<think>\nA < b </thin k>\n</think>\n\nYes <think>x</think>.",
                "\nA < b </thin k>\n",
                "Yes <think>x</think>.",
            ),
            ("<think></think>Yes.", "", "Yes."),
            ("<think>never closed </thi", "never closed </thi", ""),
            ("<thinking>", "", "<thinking>"),
            ("No tag <think>here</think>", "", "No tag <think>here</think>"),
            ("  plain", "", "  plain"),
            ("<th", "", "<th"),
        ] {
            let want = (thought.to_owned(), text.to_owned());
            assert_eq!(parted("qwen3:8b", &[content]), want, "{content}");
            for at in 0..=content.len() {
                assert_eq!(parted("qwen3:8b", &[&content[..at], &content[at..]]), want, "{content} at {at}");
            }
            let single: Vec<&str> = content.split("").collect();
            assert_eq!(parted("qwen3:8b", &single), want, "{content}");
        }
    }

    #[test]
    fn other_models_are_taken_at_their_word() {
        assert_eq!(parted("gpt-5.1", &["<think>x</think>y"]), (String::new(), "<think>x</think>y".into()));
        assert!(Think::of("gpt-5.1").is_plain() && !Think::of("Deepseek-R1-0528").is_plain());
    }

    #[test]
    fn what_cannot_become_a_tag_does_not_wait() {
        let mut think = Think::of("qwq");
        assert_eq!(think.push("Hello"), [Thinking::Text("Hello".into())]);
        let mut think = Think::of("qwq");
        assert_eq!(think.push("<think>ab</"), [Thinking::Thought("ab".into())]);
        assert_eq!(think.push("b"), [Thinking::Thought("</b".into())]);
    }
}
