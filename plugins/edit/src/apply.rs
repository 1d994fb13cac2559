//! One edit of a text: pure.

use crate::likeness::nearest;
use crate::lines::{lines, number_at, with_line_ends};
use crate::strategies::{Strategy, unescape};
use std::fmt;
use std::ops::Range;

/// Numbers of lines that an answer names.
const MAX_NAMED: usize = 10;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) all: bool,
}

/// An edit that went well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    pub(crate) places: usize,
    pub(crate) strategy: Strategy,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NoOp,
    NotFound { nearest: Option<String>, disproportionate: bool },
    Ambiguous { lines: Vec<usize>, places: usize, strategy: Strategy },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOp => f.write_str("oldString and newString are the same: nothing would change (no-op)."),
            Self::NotFound { nearest, disproportionate } => not_found(f, nearest.as_deref(), *disproportionate),
            Self::Ambiguous { lines, places, strategy } => {
                let exactly = if *strategy == Strategy::Exact { "" } else { " (not exactly, but nearly)" };
                let more = if *places > lines.len() { ", …" } else { "" };
                let lines = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "oldString fits in {places} places{exactly}: lines {lines}{more}. Give more of the lines around it so that it fits once, or set replaceAll."
                )
            }
        }
    }
}

fn not_found(f: &mut fmt::Formatter<'_>, nearest: Option<&str>, disproportionate: bool) -> fmt::Result {
    f.write_str("oldString was not found, neither exactly nor with other white space or as a similar block.")?;
    if disproportionate {
        f.write_str(" What came nearest is far larger than oldString, so it was not touched.")?;
    }
    match nearest {
        Some(lines) => write!(
            f,
            " The most similar lines are:\n{lines}\nCopy the text as it stands in the file, without the line numbers."
        ),
        None => f.write_str(" Read the file again and copy the text as it stands there."),
    }
}

/// The first strategy that finds something decides: if it finds several places and one is wanted, a more tolerant one would only
/// guess.
pub(crate) fn apply(text: &str, request: Request<'_>) -> Result<Applied, Refusal> {
    if request.old == request.new {
        return Err(Refusal::NoOp);
    }
    let mut disproportionate = false;
    for strategy in Strategy::ALL {
        let mut places = strategy.places(text, request.old);
        let found = places.len();
        places.retain(|place| is_in_proportion(&text[place.clone()], request.old));
        disproportionate |= places.len() < found;
        match places.len() {
            0 => {}
            n if n > 1 && !request.all => return Err(ambiguous(text, &places, strategy)),
            _ => return replaced(text, request, strategy, &places),
        }
    }
    Err(Refusal::NotFound { nearest: nearest(text, request.old), disproportionate })
}

fn ambiguous(text: &str, places: &[Range<usize>], strategy: Strategy) -> Refusal {
    let lines = places.iter().take(MAX_NAMED).map(|p| number_at(text, p.start)).collect();
    Refusal::Ambiguous { lines, places: places.len(), strategy }
}

/// A match far larger than what was given would take with it what the model has not seen.
fn is_in_proportion(found: &str, old: &str) -> bool {
    let (found_lines, old_lines) = (lines(found).len(), lines(old).len());
    let (found_len, old_len) = (found.trim().len(), old.trim().len());
    found == old
        || found_lines < (old_lines + 3).max(2 * old_lines)
            && (old_lines < 2 || found_len <= (old_len + 500).max(4 * old_len))
}

fn replaced(text: &str, request: Request<'_>, strategy: Strategy, places: &[Range<usize>]) -> Result<Applied, Refusal> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for place in places {
        let new = fitted(request, strategy, &text[place.clone()]);
        out.push_str(&text[at..place.start]);
        out.push_str(&with_line_ends(&new, text, place.clone()));
        at = place.end;
    }
    out.push_str(&text[at..]);
    if out == text { Err(Refusal::NoOp) } else { Ok(Applied { text: out, places: places.len(), strategy }) }
}

/// The new text, changed in the way in which the old one had to be changed to fit.
fn fitted(request: Request<'_>, strategy: Strategy, found: &str) -> String {
    match strategy {
        Strategy::Exact | Strategy::BlockAnchor | Strategy::ContextAware => request.new.to_owned(),
        Strategy::LineTrimmed => reindented(request, found).unwrap_or_else(|| request.new.to_owned()),
        Strategy::Whitespace | Strategy::TrimmedBoundary => without_boundary(request),
        Strategy::Escapes => unescape(request.new).unwrap_or_else(|| request.new.to_owned()),
    }
}

/// Where all lines of the file have one indentation in place of one in the old text, so has the new text.
fn reindented(request: Request<'_>, found: &str) -> Option<String> {
    let (old, found) = (lines(request.old), lines(found));
    let (first_old, first_found) = old.iter().zip(&found).find(|(o, _)| !o.trimmed().is_empty())?;
    let (from, to) = (first_old.indent(), first_found.indent());
    let moved = old.iter().zip(&found).filter(|(o, _)| !o.trimmed().is_empty()).all(|(o, f)| {
        matches!((o.text.strip_prefix(from), f.text.strip_prefix(to)), (Some(a), Some(b)) if a.trim_end() == b.trim_end())
    });
    let line = |line: &str| match line.strip_prefix(from) {
        Some(rest) if !line.trim().is_empty() => format!("{to}{rest}"),
        _ => line.to_owned(),
    };
    moved.then(|| request.new.split_inclusive('\n').map(line).collect())
}

/// The place found lacks the white space around the old text: it stays in the file, and is not put there twice.
fn without_boundary(request: Request<'_>) -> String {
    let (old, new) = (request.old, request.new);
    let (lead, tail) = (&old[..old.len() - old.trim_start().len()], &old[old.trim_end().len()..]);
    let new = if lead.is_empty() { new } else { new.strip_prefix(lead).unwrap_or(new.trim_start()) };
    let new = if tail.is_empty() { new } else { new.strip_suffix(tail).unwrap_or(new.trim_end()) };
    new.to_owned()
}
