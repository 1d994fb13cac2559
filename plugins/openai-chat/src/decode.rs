//! From bytes to chunks: framing, the ways in which servers break it, and its end.

use crate::answer::Answer;
use crate::chunk::{self, Chunk, Unreadable};
use crate::failure;
use airlock::provider::{Decode, FailureKind, ProviderFailure, StreamEvent};
use airlock::sse::{Line, Lines};
use serde_json::Value;

/// Bytes of one line: an image that comes back whole is the longest thing known.
const LONGEST_LINE: usize = 8 << 20;
/// Bytes of an answer that is not streamed.
const LONGEST_BODY: usize = 32 << 20;

/// The reader of one answer.
#[derive(Debug)]
pub struct Decoder {
    body: Body,
    content_type: String,
    events: Events,
}

/// What the body is. The media type is not always true, so a doubtful one is decided by the first byte.
#[derive(Debug)]
enum Body {
    Undecided,
    Page,
    Json(Vec<u8>),
    Events(Lines),
}

impl Body {
    fn of_type(content_type: &str) -> Self {
        match essence(content_type).as_str() {
            "text/event-stream" => Self::events(),
            "text/html" | "application/xhtml+xml" => Self::Page,
            _ => Self::Undecided,
        }
    }

    fn of_first_byte(byte: u8) -> Self {
        match byte {
            b'{' | b'[' => Self::Json(Vec::new()),
            b'<' => Self::Page,
            _ => Self::events(),
        }
    }

    fn events() -> Self {
        Self::Events(Lines::new(LONGEST_LINE))
    }
}

fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

impl Decode for Decoder {
    fn new(_model: &str, content_type: &str) -> Self {
        Self { body: Body::of_type(content_type), content_type: content_type.into(), events: Events::new() }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let bytes = self.decide(bytes);
        if !bytes.is_empty() && !self.events.answer.is_over() {
            self.read(bytes);
        }
        self.events.answer.take_events()
    }

    fn finish(&mut self) -> Vec<StreamEvent> {
        if !self.events.answer.is_over() {
            self.end_of_body();
        }
        self.events.answer.take_events()
    }
}

impl Decoder {
    fn end_of_body(&mut self) {
        match &mut self.body {
            Body::Undecided => {}
            Body::Page => self.events.answer.fail(failure::wrong_type(&self.content_type)),
            Body::Json(body) => self.events.whole(body),
            Body::Events(lines) => {
                lines.finish(|line| self.events.line(line));
                self.events.blank();
            }
        }
        self.events.answer.cut();
    }

    /// Drops blank bytes before a body that is not known yet: a busy server may send them to keep the connection alive.
    fn decide<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if !matches!(self.body, Body::Undecided) {
            return bytes;
        }
        let blank = |b: &u8| b.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(b);
        let start = bytes.iter().position(|b| !blank(b)).unwrap_or(bytes.len());
        if let Some(first) = bytes.get(start) {
            self.body = Body::of_first_byte(*first);
        }
        &bytes[start..]
    }

    fn read(&mut self, bytes: &[u8]) {
        let is_sane = match &mut self.body {
            Body::Undecided => true,
            Body::Page => return self.events.answer.fail(failure::wrong_type(&self.content_type)),
            Body::Json(body) => {
                body.extend_from_slice(bytes);
                body.len() <= LONGEST_BODY
            }
            Body::Events(lines) => lines.push(bytes, |line| self.events.line(line)).is_ok(),
        };
        if !is_sane {
            self.body = Body::Undecided;
            self.events.answer.fail(failure::transport("The server sent a line longer than any answer's", false));
        }
    }
}

/// The lines of an event stream, put together to chunks.
#[derive(Debug)]
struct Events {
    answer: Answer,
    /// Data lines of an event whose JSON is not complete yet.
    pending: Vec<u8>,
    /// Lines that belong to no event: JSON that a gateway wrote into the stream as it is.
    stray: Vec<u8>,
    /// The event was announced as an error.
    is_error: bool,
}

impl Events {
    fn new() -> Self {
        Self { answer: Answer::new(), pending: Vec::new(), stray: Vec::new(), is_error: false }
    }

    fn line(&mut self, line: &[u8]) {
        if self.answer.is_over() {
            return;
        }
        match Line::parse(line) {
            Line::Data(value) => self.data(value.trim_ascii()),
            Line::Blank => self.blank(),
            Line::Event(name) => self.is_error = name.trim_ascii() == b"error",
            Line::Comment | Line::Other => {}
            Line::Stray(line) => self.stray(line),
        }
    }

    /// One line of data is nearly always one event: it is read at once, so that a server without blank lines still streams.
    fn data(&mut self, value: &[u8]) {
        if value == b"[DONE]" {
            self.blank();
            return self.answer.done();
        }
        if value.is_empty() {
            return;
        }
        if !self.pending.is_empty() {
            return self.keep(value);
        }
        match self.json(value) {
            Ok(()) => {}
            Err(Unreadable::Incomplete) => self.keep(value),
            Err(Unreadable::NotJson) => self.not_json(value),
        }
    }

    fn keep(&mut self, value: &[u8]) {
        self.pending.extend_from_slice(value);
        self.pending.push(b'\n');
        if self.pending.len() > LONGEST_LINE {
            self.answer.fail(failure::transport("The server sent an event longer than any answer's", false));
        }
    }

    fn blank(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() && self.json(pending.trim_ascii()).is_err() {
            self.not_json(&pending);
        }
        if !self.stray.is_empty() {
            self.read_strays();
        }
        self.is_error = false;
    }

    fn json(&mut self, json: &[u8]) -> Result<(), Unreadable> {
        let is_error = self.is_error;
        let answer = &mut self.answer;
        let fine = chunk::read(json, |chunk| {
            let fine = !is_error && !chunk.is_error();
            if fine {
                answer.chunk(chunk);
            }
            fine
        })?;
        if !fine {
            self.fail_with(json);
        }
        Ok(())
    }

    /// The rare path: the error is read anew, with all that it says.
    fn fail_with(&mut self, json: &[u8]) {
        let error = chunk::read_value(json).unwrap_or(Value::Null);
        self.answer.fail(failure::in_answer(&error));
    }

    fn not_json(&mut self, value: &[u8]) {
        let text = failure::sentence(&String::from_utf8_lossy(value));
        let failure = if self.is_error {
            ProviderFailure { kind: FailureKind::Server, message: text, retryable: true, retry_after_ms: None }
        } else {
            failure::transport(&failure::sentence(&format!("The server sent an event that is not JSON: {text}")), true)
        };
        self.answer.fail(failure);
    }

    /// A bare JSON error counts as one; all else that is no event is ignored, as the standard wants.
    fn stray(&mut self, line: &[u8]) {
        let is_first = self.stray.is_empty();
        let starts = matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
        if (is_first && !starts) || self.stray.len() + line.len() > LONGEST_LINE {
            return;
        }
        self.stray.extend_from_slice(line);
        self.stray.push(b'\n');
        if is_first {
            self.read_strays();
        }
    }

    fn read_strays(&mut self) {
        let stray = std::mem::take(&mut self.stray);
        match chunk::read(stray.trim_ascii(), stray_meaning) {
            Ok(Meaning::Chunk) => {
                let _ = self.json(stray.trim_ascii());
            }
            Ok(Meaning::Error) => self.fail_with(&stray),
            Err(Unreadable::Incomplete) => self.stray = stray,
            Ok(Meaning::Nothing) | Err(Unreadable::NotJson) => {}
        }
    }

    /// A body that is one JSON text: an answer that was not streamed, or an error with a status that says otherwise.
    fn whole(&mut self, body: &[u8]) {
        match chunk::read(body.trim_ascii(), stray_meaning) {
            Ok(Meaning::Chunk) => {
                let _ = self.json(body.trim_ascii());
                self.answer.done();
            }
            Ok(_) => self.fail_with(body),
            Err(Unreadable::Incomplete) => {}
            Err(Unreadable::NotJson) => self.not_json(body),
        }
    }
}

enum Meaning {
    Chunk,
    Error,
    Nothing,
}

fn stray_meaning(chunk: &Chunk<'_>) -> Meaning {
    match chunk {
        _ if chunk.is_error() => Meaning::Error,
        Chunk { choice: Some(_), .. } => Meaning::Chunk,
        _ => Meaning::Nothing,
    }
}
