//! Framing of server-sent events: bytes in, lines out, whatever the cuts.
//!
//! Bytes are buffered and cut at line ends only, so that a read may end inside a character, inside `\r\n` or inside a field name.
//! U+2028, U+2029 and U+0085 end no line: they are legal in JSON strings.

use memchr::memchr2;

/// The line grew beyond the limit. Nothing after it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Splits a byte stream into lines that end in LF, CRLF or CR.
#[derive(Debug)]
pub struct Lines {
    partial: Vec<u8>,
    limit: usize,
    /// The last line ended in CR at the end of a read: an LF that comes next belongs to it.
    after_cr: bool,
    first: bool,
}

impl Lines {
    /// `limit`: bytes of the longest line.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), limit, after_cr: false, first: true }
    }

    /// Calls `each` for every line that these bytes complete, without its end.
    ///
    /// # Errors
    /// [`TooLong`] once a line exceeds the limit, whether its end has come or not.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(rest) = self.next(bytes, &mut each)? {
            bytes = rest;
        }
        Ok(())
    }

    /// The bytes have ended: a last line may lack its end.
    pub fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            each(strip_mark(&last, self.first));
        }
    }

    /// Takes one line from the front and gives the rest, `None` when no line is complete.
    fn next<'a>(&mut self, bytes: &'a [u8], each: &mut impl FnMut(&[u8])) -> Result<Option<&'a [u8]>, TooLong> {
        let bytes = self.without_second_half(bytes);
        let end = memchr2(b'\n', b'\r', bytes);
        if self.partial.len() + end.unwrap_or(bytes.len()) > self.limit {
            self.partial = Vec::new();
            return Err(TooLong);
        }
        let Some(end) = end else {
            self.partial.extend_from_slice(bytes);
            return Ok(None);
        };
        self.emit(&bytes[..end], each);
        self.after_cr = bytes[end] == b'\r';
        Ok(Some(&bytes[end + 1..]))
    }

    fn without_second_half<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if !self.after_cr || bytes.is_empty() {
            return bytes;
        }
        self.after_cr = false;
        bytes.strip_prefix(b"\n").unwrap_or(bytes)
    }

    fn emit(&mut self, end: &[u8], each: &mut impl FnMut(&[u8])) {
        let first = std::mem::replace(&mut self.first, false);
        if self.partial.is_empty() {
            return each(strip_mark(end, first));
        }
        self.partial.extend_from_slice(end);
        each(strip_mark(&self.partial, first));
        self.partial.clear();
    }
}

/// A byte order mark may open the stream.
fn strip_mark(line: &[u8], first: bool) -> &[u8] {
    if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }
}

/// What a line of an event stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The end of an event.
    Blank,
    /// A life sign, no output.
    Comment,
    Data(&'a [u8]),
    Event(&'a [u8]),
    /// A field that carries no data: `id`, `retry`.
    Other,
    /// Not an event stream's line. Some servers send a bare JSON error so.
    Stray(&'a [u8]),
}

impl<'a> Line<'a> {
    /// The space after the colon is optional, and at most one is dropped.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Self {
        if let Some(value) = field(line, b"data") {
            return Self::Data(value);
        }
        match line {
            [] => Self::Blank,
            [b':', ..] => Self::Comment,
            _ => Self::parse_rare(line),
        }
    }

    fn parse_rare(line: &'a [u8]) -> Self {
        if let Some(value) = field(line, b"event") {
            return Self::Event(value);
        }
        let other = field(line, b"id").or_else(|| field(line, b"retry"));
        if other.is_some() { Self::Other } else { Self::Stray(line) }
    }
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    match rest {
        [] => Some(rest),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], cut: usize) -> Vec<String> {
        let (mut lines, mut out) = (Lines::new(1 << 20), Vec::new());
        for piece in bytes.chunks(cut) {
            lines.push(piece, |l| out.push(String::from_utf8(l.to_vec()).unwrap())).unwrap();
        }
        lines.finish(|l| out.push(String::from_utf8(l.to_vec()).unwrap()));
        out
    }

    #[test]
    fn every_line_end_and_every_cut_give_the_same_lines() {
        let table: &[(&str, &[&str])] = &[
            ("a\nb\n", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("a\rb\r", &["a", "b"]),
            ("a\n\nb", &["a", "", "b"]),
            ("a\r\n\r\nb", &["a", "", "b"]),
            ("a\r\rb", &["a", "", "b"]),
            ("a\r\n\n\r\rb", &["a", "", "", "", "b"]),
            ("\u{feff}data: x\n\u{feff}y", &["data: x", "\u{feff}y"]),
            ("\u{feff}x", &["x"]),
            ("a\u{2028}b\u{2029}c\u{85}d\n", &["a\u{2028}b\u{2029}c\u{85}d"]),
            ("€🦀\n", &["€🦀"]),
            ("", &[]),
        ];
        for (text, expected) in table {
            for cut in 1..=text.len().max(1) {
                assert_eq!(lines(text.as_bytes(), cut), *expected, "{text:?} cut every {cut}");
            }
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused_with_or_without_its_end() {
        for text in [&b"12345\n"[..], b"12345", b"1\n12345"] {
            let mut lines = Lines::new(4);
            assert_eq!(lines.push(text, |_| ()), Err(TooLong));
        }
        assert_eq!(Lines::new(4).push(b"1234\n1234", |_| ()), Ok(()));
    }

    #[test]
    fn a_line_is_a_field_a_comment_or_a_stray() {
        let table: &[(&str, Line<'_>)] = &[
            ("", Line::Blank),
            (": keep-alive", Line::Comment),
            ("data: x", Line::Data(b"x")),
            ("data:x", Line::Data(b"x")),
            ("data:  x", Line::Data(b" x")),
            ("data", Line::Data(b"")),
            ("event: error", Line::Event(b"error")),
            ("event:error", Line::Event(b"error")),
            ("id: 7", Line::Other),
            ("retry: 7", Line::Other),
            ("{\"error\":1}", Line::Stray(b"{\"error\":1}")),
            ("database: x", Line::Stray(b"database: x")),
        ];
        for (line, expected) in table {
            assert_eq!(Line::parse(line.as_bytes()), *expected, "{line:?}");
        }
    }
}
