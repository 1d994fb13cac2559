//! What a body is. The media type is not always true, so a doubtful one is decided by the first byte.

use airlock::sse::{Lines, TooLong};

/// Bytes of one line: an image that comes back whole is the longest thing known.
pub const LONGEST_LINE: usize = 8 << 20;
/// Bytes of an answer that is not streamed.
const LONGEST_BODY: usize = 32 << 20;

/// How a protocol streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Server-sent events.
    Events,
    /// A JSON text a line.
    JsonLines,
}

#[derive(Debug)]
pub enum Body {
    Undecided(Shape),
    Page,
    /// One JSON text, read at its end.
    Json(Vec<u8>),
    Lines(Lines),
}

impl Body {
    pub fn new(shape: Shape, content_type: &str) -> Self {
        match essence(content_type).as_str() {
            "text/event-stream" if shape == Shape::Events => Self::lines(),
            "text/html" | "application/xhtml+xml" => Self::Page,
            _ => Self::Undecided(shape),
        }
    }

    fn lines() -> Self {
        Self::Lines(Lines::new(LONGEST_LINE))
    }

    fn of_first_byte(shape: Shape, byte: u8) -> Self {
        match (byte, shape) {
            (b'<', _) => Self::Page,
            (b'{' | b'[', Shape::Events) => Self::Json(Vec::new()),
            _ => Self::lines(),
        }
    }

    /// Drops blank bytes before a body that is not known yet: a busy server may send them to keep the connection alive.
    pub fn decide<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Self::Undecided(shape) = *self else { return bytes };
        let blank = |b: &u8| b.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(b);
        let start = bytes.iter().position(|b| !blank(b)).unwrap_or(bytes.len());
        if let Some(first) = bytes.get(start) {
            *self = Self::of_first_byte(shape, *first);
        }
        &bytes[start..]
    }
}

/// Keeps a body that is read at its end.
///
/// # Errors
/// [`TooLong`] beyond 32 MiB.
pub fn extend(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), TooLong> {
    if body.len() + bytes.len() > LONGEST_BODY {
        return Err(TooLong);
    }
    body.extend_from_slice(bytes);
    Ok(())
}

fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}
