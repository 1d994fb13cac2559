//! A text as lines that know where they stand.

/// One line: `text[start..end]` without its end, which is `text[end..next]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    pub(crate) next: usize,
}

impl<'a> Line<'a> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(crate) fn trimmed(&self) -> &'a str {
        self.text.trim()
    }

    pub(crate) fn indent(&self) -> &'a str {
        &self.text[..self.text.len() - self.text.trim_start().len()]
    }
}

/// The lines of a text. A carriage return alone ends no line. What follows the last line end is a line only if it is not empty.
pub(crate) fn lines<'a>(text: &'a str) -> Vec<Line<'a>> {
    let mut start = 0;
    let line = |piece: &'a str| {
        let bare = piece.strip_suffix('\n').map_or(piece, |p| p.strip_suffix('\r').unwrap_or(p));
        let line = Line { text: bare, start, next: start + piece.len() };
        start = line.next;
        line
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Number of the line in which a byte lies, from 1.
pub(crate) fn number_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1
}

/// The new text with the line ends of the place where it goes: those of the region itself, else the next after it, else the last
/// before it. A carriage return that stands there already is not doubled.
pub(crate) fn with_line_ends(new: &str, text: &str, region: std::ops::Range<usize>) -> String {
    let place = [&text[region.clone()], &text[region.end..]];
    let first = place.iter().find_map(|t| t.find('\n').map(|at| t[..at].ends_with('\r')));
    let is_crlf =
        first.unwrap_or_else(|| text[..region.start].ends_with("\r\n") || last_is_crlf(&text[..region.start]));
    if is_crlf { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new.to_owned() }
}

fn last_is_crlf(before: &str) -> bool {
    before.rfind('\n').is_some_and(|at| before[..at].ends_with('\r'))
}
