//! The lines of a body, put together to JSON texts.

use crate::body::LONGEST_LINE;
use crate::decoder::{Answer, Place, Read};
use crate::{failure, json};
use airlock::provider::{FailureKind, ProviderFailure};
use airlock::sse::Line;
use json::Unreadable;
use serde_json::Value;

#[derive(Debug, Default)]
pub struct Pieces<A> {
    pub answer: A,
    /// Data lines of a text that is not complete yet.
    pending: Vec<u8>,
    /// Lines that belong to no event: JSON that a gateway wrote into the stream as it is.
    stray: Vec<u8>,
    /// The event was announced as an error.
    is_error: bool,
}

impl<A: Answer> Pieces<A> {
    pub fn fail(&mut self, failure: ProviderFailure) {
        self.answer.blocks().fail(failure);
    }

    pub fn is_over(&mut self) -> bool {
        self.answer.blocks().is_over()
    }

    /// A line of an event stream.
    pub fn event_line(&mut self, line: &[u8]) {
        if self.is_over() {
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

    /// A line of a body that has a JSON text on each. A proxy may frame it as events all the same.
    pub fn json_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        match line.first() {
            None => self.blank(),
            Some(b'{' | b'[') => self.data(line),
            Some(_) if !self.pending.is_empty() => self.keep(line),
            Some(_) => match Line::parse(line) {
                Line::Stray(_) => self.not_json(line),
                _ => self.event_line(line),
            },
        }
    }

    /// One line of data is nearly always one event: it is read at once, so that a server without blank lines still streams.
    fn data(&mut self, value: &[u8]) {
        if self.is_over() || value.is_empty() {
            return;
        }
        if value == b"[DONE]" {
            self.blank();
            return self.answer.done();
        }
        if !self.pending.is_empty() {
            return self.keep(value);
        }
        match self.json(value, Place::Event) {
            Ok(()) => {}
            Err(Unreadable::Incomplete) => self.keep(value),
            Err(Unreadable::NotJson) => self.not_json(value),
        }
    }

    fn keep(&mut self, value: &[u8]) {
        if self.pending.len() + value.len() > LONGEST_LINE {
            return self.fail(failure::transport("The server sent an event longer than any answer's", false));
        }
        self.pending.extend_from_slice(value);
        self.pending.push(b'\n');
    }

    /// The end of an event, or of the body.
    pub fn blank(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() && self.json(pending.trim_ascii(), Place::Event).is_err() {
            self.not_json(&pending);
        }
        if !self.stray.is_empty() {
            self.read_strays();
        }
        self.is_error = false;
    }

    fn json(&mut self, json: &[u8], place: Place) -> Result<(), Unreadable> {
        if self.is_error {
            let error = json::read(json)?;
            self.fail(failure::in_answer(&error));
            return Ok(());
        }
        if self.answer.read(json, place)? == Read::Error {
            self.fail_with(json);
        }
        Ok(())
    }

    /// The rare path: the error is read anew, with all that it says.
    fn fail_with(&mut self, json: &[u8]) {
        let error = json::read(json).unwrap_or(Value::Null);
        self.fail(failure::in_answer(&error));
    }

    fn not_json(&mut self, value: &[u8]) {
        let text = failure::sentence(&String::from_utf8_lossy(&value[..value.len().min(8 << 10)]));
        let failure = if self.is_error {
            ProviderFailure { kind: FailureKind::Server, message: text, retryable: true, retry_after_ms: None }
        } else {
            failure::transport(&failure::sentence(&format!("The server sent an event that is not JSON: {text}")), true)
        };
        self.fail(failure);
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
        match self.json(stray.trim_ascii(), Place::Stray) {
            Err(Unreadable::Incomplete) => self.stray = stray,
            Ok(()) | Err(Unreadable::NotJson) => {}
        }
    }

    /// A body that is one JSON text: an answer that was not streamed, or an error with a status that says otherwise.
    pub fn whole(&mut self, body: &[u8]) {
        match self.answer.read(body.trim_ascii(), Place::Whole) {
            Ok(Read::Taken) => self.answer.done(),
            Ok(Read::Error | Read::Nothing) => self.fail_with(body),
            Err(Unreadable::Incomplete) => {}
            Err(Unreadable::NotJson) => self.not_json(body),
        }
    }
}
