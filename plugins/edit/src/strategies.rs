//! Where an old text could stand in a file, from exact to tolerant.

use crate::likeness::Likeness;
use crate::lines::{Line, lines};
use std::ops::Range;

/// Average likeness of the lines between the anchors of a block.
const BLOCK_LIKENESS: f64 = 0.65;
/// Places that are looked for: beyond it is "many".
const MAX_PLACES: usize = 100_000;

/// The ways in which an old text is looked for, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Exact,
    LineTrimmed,
    BlockAnchor,
    Whitespace,
    Escapes,
    TrimmedBoundary,
    ContextAware,
}

impl Strategy {
    /// Exact occurrences come first also where all are to be replaced. Texts that differ in their indentation alone are among those
    /// with trimmed lines: there it decides between several.
    pub(crate) const ALL: [Self; 7] = [
        Self::Exact,
        Self::LineTrimmed,
        Self::BlockAnchor,
        Self::Whitespace,
        Self::Escapes,
        Self::TrimmedBoundary,
        Self::ContextAware,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineTrimmed => "line-trimmed",
            Self::BlockAnchor => "block-anchor",
            Self::Whitespace => "whitespace-normalised",
            Self::Escapes => "escape-normalised",
            Self::TrimmedBoundary => "trimmed-boundary",
            Self::ContextAware => "context-aware",
        }
    }

    /// What the model is told of a match that was not exact.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::LineTrimmed | Self::Whitespace | Self::TrimmedBoundary => {
                " (matched with other white space than given)"
            }
            Self::BlockAnchor | Self::ContextAware => {
                " (matched by first and last line and similar lines between: check the result)"
            }
            Self::Escapes => " (matched after undoing backslash escapes in both texts)",
        }
    }

    /// Places in `text`, in order and apart from each other.
    pub(crate) fn places(self, text: &str, old: &str) -> Vec<Range<usize>> {
        match self {
            Self::Exact => exact_any_line_end(text, old),
            Self::LineTrimmed => line_trimmed(text, old),
            Self::BlockAnchor => block_anchor(text, old),
            Self::Whitespace => whitespace(text, old),
            Self::Escapes => unescape(old).map_or(Vec::new(), |old| exact_any_line_end(text, &old)),
            Self::TrimmedBoundary => trimmed_boundary(text, old),
            Self::ContextAware => context_aware(text, old),
        }
    }
}

/// As given, else with the file's other kind of line end.
fn exact_any_line_end(text: &str, old: &str) -> Vec<Range<usize>> {
    let found = exact(text, old);
    if !found.is_empty() || !old.contains('\n') {
        return found;
    }
    let unix = old.replace("\r\n", "\n");
    let found = exact(text, &unix.replace('\n', "\r\n"));
    if found.is_empty() { exact(text, &unix) } else { found }
}

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    if old.is_empty() {
        return Vec::new();
    }
    text.match_indices(old).map(|(at, _)| at..at + old.len()).take(MAX_PLACES).collect()
}

/// From the first line to the last; with the last line's end if the old text had it.
fn span(block: &[Line<'_>], old: &str) -> Option<Range<usize>> {
    let (first, last) = (block.first()?, block.last()?);
    Some(first.start..if old.ends_with('\n') { last.next } else { last.end() })
}

fn is_blank(lines: &[Line<'_>]) -> bool {
    lines.iter().all(|l| l.trimmed().is_empty())
}

/// Windows of as many lines as the old text has.
fn windows(text: &str, old: &str, fits: impl Fn(&[Line<'_>], &[Line<'_>]) -> bool) -> Vec<Range<usize>> {
    let (all, wanted) = (lines(text), lines(old));
    if wanted.is_empty() || is_blank(&wanted) {
        return Vec::new();
    }
    let found = all.windows(wanted.len()).filter(|block| fits(block, &wanted)).filter_map(|block| span(block, old));
    apart(found)
}

fn apart(found: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for place in found.take(MAX_PLACES) {
        if places.last().is_none_or(|last| last.end <= place.start) {
            places.push(place);
        }
    }
    places
}

fn line_trimmed(text: &str, old: &str) -> Vec<Range<usize>> {
    let same = |a: &[Line<'_>], b: &[Line<'_>]| a.iter().zip(b).all(|(a, b)| a.trimmed() == b.trimmed());
    let places = windows(text, old, same);
    if places.len() < 2 {
        return places;
    }
    let same_shape = windows(text, old, |a, b| dedented(a) == dedented(b));
    if same_shape.len() == 1 { same_shape } else { places }
}

/// The lines without their common indentation.
fn dedented<'a>(block: &[Line<'a>]) -> Vec<&'a str> {
    let common = block.iter().filter(|l| !l.trimmed().is_empty()).map(|l| l.indent().len()).min().unwrap_or(0);
    block.iter().map(|l| l.text.get(common..).unwrap_or("").trim_end()).collect()
}

/// First and last line equal when trimmed, about as many lines, and alike between.
fn block_anchor(text: &str, old: &str) -> Vec<Range<usize>> {
    let (all, wanted) = (lines(text), lines(old));
    let [first, middle @ .., last] = wanted.as_slice() else { return Vec::new() };
    if middle.is_empty() || first.trimmed().is_empty() || last.trimmed().is_empty() {
        return Vec::new();
    }
    let slack = (wanted.len() / 4).max(1);
    let mut likeness = Likeness::new();
    let starts = (0..all.len()).filter(|&i| all[i].trimmed() == first.trimmed());
    apart(starts.filter_map(|start| {
        let ends = (start + wanted.len() - slack - 1).max(start + 1)..(start + wanted.len() + slack).min(all.len());
        let blocks = ends.filter(|&end| all[end].trimmed() == last.trimmed()).map(|end| &all[start..=end]);
        let scored = blocks.map(|block| (middle_likeness(&block[1..block.len() - 1], middle, &mut likeness), block));
        let (score, block) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (score >= BLOCK_LIKENESS).then(|| span(block, old)).flatten()
    }))
}

/// A line without a partner is unlike: else it would vanish unseen.
#[expect(clippy::cast_precision_loss, reason = "a count of lines")]
fn middle_likeness(block: &[Line<'_>], wanted: &[Line<'_>], likeness: &mut Likeness) -> f64 {
    let sum: f64 = block.iter().zip(wanted).map(|(a, b)| likeness.of(a.trimmed(), b.trimmed())).sum();
    sum / block.len().max(wanted.len()) as f64
}

/// The same words with any white space between them.
fn whitespace(text: &str, old: &str) -> Vec<Range<usize>> {
    let words: Vec<&str> = old.split_whitespace().collect();
    let [first, rest @ ..] = words.as_slice() else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let starts = text.match_indices(first).map(|(at, _)| at).filter(|&at| ends_a_word(&text[..at]));
    apart(starts.filter_map(|at| words_end(text, at + first.len(), rest).map(|end| at..end)))
}

fn ends_a_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(char::is_whitespace)
}

fn words_end(text: &str, mut at: usize, words: &[&str]) -> Option<usize> {
    for word in words {
        let gap = text[at..].len() - text[at..].trim_start().len();
        if gap == 0 || !text[at + gap..].starts_with(word) {
            return None;
        }
        at += gap + word.len();
    }
    text[at..].chars().next().is_none_or(char::is_whitespace).then_some(at)
}

/// `None` where there is nothing to undo.
pub(crate) fn unescape(old: &str) -> Option<String> {
    let mut plain = String::with_capacity(old.len());
    let mut chars = old.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied().and_then(escaped)) {
            ('\\', Some(meant)) => {
                chars.next();
                plain.push(meant);
            }
            _ => plain.push(c),
        }
    }
    (plain != old && !plain.is_empty()).then_some(plain)
}

fn escaped(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '\'' | '"' | '`' | '\\' | '$' | '\n' => Some(c),
        _ => None,
    }
}

fn trimmed_boundary(text: &str, old: &str) -> Vec<Range<usize>> {
    let trimmed = old.trim();
    if trimmed == old { Vec::new() } else { exact_any_line_end(text, trimmed) }
}

/// First and last line and at least half of the lines between equal when trimmed.
fn context_aware(text: &str, old: &str) -> Vec<Range<usize>> {
    windows(text, old, |block, wanted| {
        let n = wanted.len();
        let same = |i: usize| block[i].trimmed() == wanted[i].trimmed();
        let equal = (1..n.saturating_sub(1)).filter(|&i| same(i)).count();
        n >= 3
            && !wanted[0].trimmed().is_empty()
            && !wanted[n - 1].trimmed().is_empty()
            && same(0)
            && same(n - 1)
            && 2 * equal >= n - 2
    })
}
