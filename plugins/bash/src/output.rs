//! What a program printed: its end, in bounded memory, made harmless.

/// Bytes of output in a result.
pub(crate) const MAX_BYTES: usize = 51_200;
const MAX_LINES: usize = 2000;
/// Bytes that are kept while the program runs.
const KEPT: usize = 2 * MAX_BYTES;
/// Characters in the metadata.
const MAX_RECENT: usize = 30_000;

/// The last bytes that were printed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    total_bytes: u64,
    total_lines: u64,
}

/// What a result holds of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) truncated: bool,
    total_bytes: u64,
    total_lines: u64,
}

impl Tail {
    pub(crate) fn push(&mut self, data: &[u8]) {
        self.total_bytes += data.len() as u64;
        self.total_lines += data.iter().filter(|b| **b == b'\n').count() as u64;
        self.bytes.extend_from_slice(&data[data.len().saturating_sub(KEPT)..]);
        // In larger steps: each moves what is kept.
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
        }
    }

    fn last(&self, max: usize) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(max)..]
    }

    /// The last characters, for who watches.
    pub(crate) fn recent(&self) -> String {
        let text = harmless(self.last(MAX_RECENT));
        end_of(&text, MAX_RECENT).to_owned()
    }

    /// The last lines that fit.
    pub(crate) fn shown(&self) -> Shown {
        let last = self.last(KEPT);
        let whole = harmless(last);
        let text = last_lines(end_of(&whole, MAX_BYTES), MAX_LINES);
        let truncated = text.len() < whole.len() || (last.len() as u64) < self.total_bytes;
        let text = text.trim_end_matches('\n').to_owned();
        Shown { text, truncated, total_bytes: self.total_bytes, total_lines: self.total_lines }
    }
}

impl Shown {
    /// Says what is missing, and where it is; empty where nothing is.
    pub(crate) fn header(&self, kept: Option<&str>) -> String {
        if !self.truncated {
            return String::new();
        }
        let (lines, all) = (self.text.lines().count(), self.total_lines.max(1));
        let place = kept.map_or("The start was not kept.".to_owned(), |path| {
            format!("All of it is in {path}: use read or grep on it.")
        });
        format!("(Output truncated: the last {lines} of {all} lines, {} bytes in all. {place})\n\n", self.total_bytes)
    }
}

fn end_of(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

fn last_lines(text: &str, max: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.rmatch_indices('\n').nth(max - 1).map_or(text, |(at, _)| &text[at + 1..])
}

/// Text without anything that a terminal or a parser of JSON would act on: no escape sequences, no control characters but line end
/// and tab. A carriage return ends a line: what a progress bar overwrites is shown.
pub(crate) fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => out.push_str(if chars.peek() == Some(&'\n') { "" } else { "\n" }),
            '\u{1b}' => skip_sequence(&mut chars),
            _ if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(c),
        }
    }
    out
}

/// Past an escape sequence of ECMA-48: colours and cursor movements (`ESC [`), titles (`ESC ]`), and two-character ones.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']') => while chars.next_if(|c| !c.is_control()).is_some() {},
        Some('@'..='Z' | '\\' | '^' | '_' | '7' | '8' | '=' | '>') => {
            chars.next();
        }
        _ => {}
    }
}
