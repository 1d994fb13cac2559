//! Hunks on the text of a file. Lines that stay are the file's own, byte by byte; lines that come get the line end of their place.

use crate::parse::{Hunk, Line};
use crate::seek::seek;

/// Puts all hunks into the text, in order.
///
/// # Errors
/// Which hunk fits nowhere, with the lines that were looked for.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = lines.iter().map(|l| without_end(l)).collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let place = find(&bare, hunk, at).ok_or_else(|| nowhere(number + 1, hunk))?;
        out.extend(lines[at..place.start].iter().copied());
        at = put(&mut out, &lines, &place);
    }
    out.extend(lines[at..].iter().copied());
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(end_of(&lines));
    }
    Ok(out)
}

/// Where a hunk fits, and the lines of it that count.
struct Place<'h> {
    start: usize,
    lines: &'h [Line],
}

fn find<'h>(file: &[&str], hunk: &'h Hunk, from: usize) -> Option<Place<'h>> {
    let from = match &hunk.below {
        None => from,
        Some(line) => seek(file, &[line], from, false)? + 1,
    };
    let at = |lines: &'h [Line]| {
        let wanted: Vec<&str> = lines.iter().filter_map(old).collect();
        if wanted.is_empty() {
            // Nothing says where: behind the line that it stands below, else at the end.
            let start = if hunk.below.is_some() { from } else { file.len() };
            return Some(Place { start, lines });
        }
        seek(file, &wanted, from, hunk.at_end).map(|start| Place { start, lines })
    };
    // The empty line at a hunk's end is often the patch's own.
    let shorter = match hunk.lines.split_last() {
        Some((Line::Stays(last), rest)) if last.is_empty() => Some(rest),
        _ => None,
    };
    at(&hunk.lines).or_else(|| shorter.filter(|rest| rest.iter().any(|l| old(l).is_some())).and_then(at))
}

fn old(line: &Line) -> Option<&str> {
    match line {
        Line::Stays(text) | Line::Goes(text) => Some(text),
        Line::Comes(_) => None,
    }
}

/// Writes the hunk and gives the line of the file that comes next.
fn put(out: &mut String, lines: &[&str], place: &Place<'_>) -> usize {
    let end = end_of(&lines[place.start.min(lines.len())..]);
    let end = if place.start >= lines.len() { end_of(lines) } else { end };
    let mut at = place.start;
    for line in place.lines {
        match line {
            Line::Stays(_) => {
                out.push_str(lines[at]);
                at += 1;
            }
            Line::Goes(_) => at += 1,
            Line::Comes(text) => {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push_str(end);
                }
                out.push_str(text);
                out.push_str(end);
            }
        }
    }
    at
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The line end that these lines use.
fn end_of(lines: &[&str]) -> &'static str {
    if lines.first().is_some_and(|l| l.ends_with("\r\n")) { "\r\n" } else { "\n" }
}

fn nowhere(number: usize, hunk: &Hunk) -> String {
    let wanted: Vec<&str> = hunk.lines.iter().filter_map(old).take(8).collect();
    let below = hunk.below.as_ref().map(|b| format!(" below `{b}`")).unwrap_or_default();
    format!("hunk {number} fits nowhere{below}. These lines were looked for:\n{}", wanted.join("\n"))
}
