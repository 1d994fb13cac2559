//! The model's questions as a person sees and answers them.

use super::clean::{bounded, clean};
use model::question::Question;
use std::fmt::Write as _;
use std::io::Write as _;

/// Characters shown of a question or an option.
const MAX_SHOWN: usize = 2000;

#[must_use]
pub fn shown(question: &Question) -> String {
    let bold = anstyle::Style::new().bold();
    let dim = anstyle::Style::new().dimmed();
    let text = |t: &str| bounded(t, MAX_SHOWN).replace('\n', "\n  ");
    let mut out = format!("{bold}{}{bold:#}\n  {}", clean(&question.header), text(&question.question));
    for (i, option) in question.options.iter().enumerate() {
        let _ = write!(out, "\n  {}. {}", i + 1, text(&option.label));
        if !option.description.is_empty() {
            let _ = write!(out, "  {dim}{}{dim:#}", text(&option.description));
        }
    }
    let how = match (question.options.is_empty(), question.multiple) {
        (true, _) => "answer in words",
        (false, true) => "numbers (1,3), or words of your own",
        (false, false) => "a number, or words of your own",
    };
    let _ = write!(out, "\n  {dim}{how}; nothing leaves it open{dim:#}");
    out
}

pub fn prompt() {
    let mut err = anstream::stderr().lock();
    // A closed stderr is no reason to stop.
    let _ = write!(err, "  > ").and_then(|()| err.flush());
}

/// Labels of the options that were named by their numbers, else what was written, word for word.
#[must_use]
pub fn chosen(question: &Question, line: &str) -> Vec<String> {
    let line = line.trim();
    if line.is_empty() {
        return vec![];
    }
    by_number(question, line).unwrap_or_else(|| vec![line.to_owned()])
}

/// `None` unless every word is the number of an option, and one only where one is asked for.
fn by_number(question: &Question, line: &str) -> Option<Vec<String>> {
    let words = line.split([',', ' ']).filter(|w| !w.is_empty());
    let mut labels = Vec::new();
    for word in words {
        let number: usize = word.parse().ok()?;
        let label = &question.options.get(number.checked_sub(1)?)?.label;
        if !labels.contains(label) {
            labels.push(label.clone());
        }
    }
    (labels.len() == 1 || question.multiple).then_some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::question::Choice;

    fn question(multiple: bool) -> Question {
        let choice = |l: &str| Choice { label: l.into(), description: "so\u{1b}[2J".into() };
        let options = vec![choice("red"), choice("green"), choice("blue")];
        Question { question: "Which colour?".into(), header: "Colour".into(), options, multiple }
    }

    #[test]
    fn an_answer_is_a_number_or_words() {
        for (multiple, line, want) in [
            (false, "2\n", &["green"][..]),
            (true, "3, 1", &["blue", "red"]),
            (true, "1 1", &["red"]),
            (false, "1,2", &["1,2"]),
            (false, "4", &["4"]),
            (false, "0", &["0"]),
            (false, " a warm one \n", &["a warm one"]),
            (true, " \n", &[]),
        ] {
            assert_eq!(chosen(&question(multiple), line), want, "{line:?} {multiple}");
        }
    }

    #[test]
    fn a_question_is_shown_whole_and_clean() {
        let text = anstream::adapter::strip_str(&shown(&question(false))).to_string();
        for word in ["Colour", "Which colour?", "1. red", "3. blue", "so[2J"] {
            assert!(text.contains(word), "{word} should be in {text}");
        }
        assert!(!text.contains('\u{1b}'));
    }
}
