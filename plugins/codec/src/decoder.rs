//! From bytes to the pieces of an answer: framing, the ways in which servers break it, and its end.

use crate::blocks::Blocks;
use crate::body::{self, Body, Shape};
use crate::failure;
use crate::json::Unreadable;
use crate::pieces::Pieces;
use airlock::provider::{Decode, StreamEvent};

/// Where a JSON text stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A piece of the stream.
    Event,
    /// Between the events of a stream: it counts only if it says something.
    Stray,
    /// It is the whole body.
    Whole,
}

/// What came of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Taken,
    /// It is an error; nothing of it was taken.
    Error,
    /// It has nothing of an answer in it; nothing of it was taken.
    Nothing,
}

/// What one protocol makes of the JSON texts of an answer.
pub trait Answer: Default + 'static {
    const SHAPE: Shape;

    /// Which model answers, before anything else.
    fn of_model(&mut self, _model: &str) {}

    /// Reads one JSON text.
    ///
    /// # Errors
    /// [`Unreadable`]; nothing was taken.
    fn read(&mut self, json: &[u8], place: Place) -> Result<Read, Unreadable>;

    /// `[DONE]`, or the end of a whole answer: the server says that all is there.
    fn done(&mut self);

    /// The body has ended. Without the server's word for the end it was cut.
    fn cut(&mut self);

    fn blocks(&mut self) -> &mut Blocks;
}

/// The reader of one answer.
#[derive(Debug)]
pub struct Decoder<A> {
    body: Body,
    content_type: String,
    pieces: Pieces<A>,
}

impl<A: Answer> Decode for Decoder<A> {
    fn new(model: &str, content_type: &str) -> Self {
        let mut pieces = Pieces::<A>::default();
        pieces.answer.of_model(model);
        Self { body: Body::new(A::SHAPE, content_type), content_type: content_type.into(), pieces }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        let bytes = self.body.decide(bytes);
        if !bytes.is_empty() && !self.pieces.is_over() {
            self.read(bytes);
        }
        self.pieces.answer.blocks().take()
    }

    fn finish(&mut self) -> Vec<StreamEvent> {
        if !self.pieces.is_over() {
            self.end_of_body();
        }
        self.pieces.answer.blocks().take()
    }
}

impl<A: Answer> Decoder<A> {
    fn read(&mut self, bytes: &[u8]) {
        let pieces = &mut self.pieces;
        let sane = match (&mut self.body, A::SHAPE) {
            (Body::Undecided(_), _) => Ok(()),
            (Body::Page, _) => return self.page(),
            (Body::Json(body), _) => body::extend(body, bytes),
            (Body::Lines(lines), Shape::Events) => lines.push(bytes, |line| pieces.event_line(line)),
            (Body::Lines(lines), Shape::JsonLines) => lines.push(bytes, |line| pieces.json_line(line)),
        };
        if sane.is_err() {
            self.body = Body::Undecided(A::SHAPE);
            self.pieces.fail(failure::transport("The server sent a line longer than any answer's", false));
        }
    }

    fn page(&mut self) {
        self.pieces.fail(failure::wrong_type(&self.content_type));
    }

    fn end_of_body(&mut self) {
        let pieces = &mut self.pieces;
        match (&mut self.body, A::SHAPE) {
            (Body::Undecided(_), _) => {}
            (Body::Page, _) => self.page(),
            (Body::Json(body), _) => pieces.whole(body),
            (Body::Lines(lines), Shape::Events) => lines.finish(|line| pieces.event_line(line)),
            (Body::Lines(lines), Shape::JsonLines) => lines.finish(|line| pieces.json_line(line)),
        }
        if !self.pieces.is_over() {
            self.pieces.blank();
            self.pieces.answer.cut();
        }
    }
}
