//! A conversation that grows: what is written once stays written, and only the end is written anew with each request.
//!
//! A protocol says how a turn is written and merged with the one before. The rest is here: which result answers which call, that nothing is
//! left open, and what of the request can change no more.

use crate::frame::Frame;
use crate::ink::{Ink, Room};
use crate::tail::{Item, Tail};
use airlock::provider::{Conversation, HttpRequest, Message, Part, Request, Role, ToolCall, ToolResult};
use std::borrow::Cow;

/// Said for a call that has no result.
pub const INTERRUPTED: &str = "Error: the call was interrupted and has no result";

/// How one protocol writes a conversation.
pub trait Protocol: Sized + 'static {
    type Item: Item;
    /// Messages at the end that later ones may still change.
    const KEPT: usize;
    const ROOM: Room = Room::ANY;

    /// Reads all of a request but its messages. What stands before them, such as a system prompt, may be written.
    ///
    /// # Errors
    /// Says what cannot be expressed.
    fn new(request: &Request, out: &mut Tail<Self::Item>) -> Result<Self, String>;

    /// `said`: texts and files.
    fn user(&mut self, said: &[Part], out: &mut Tail<Self::Item>);

    /// `said`: all but results.
    fn assistant(&mut self, said: &[Part], out: &mut Tail<Self::Item>);

    /// One for each call of the turn before, in the order of the calls. Asked for with what is there so far, and again when the turn is over.
    fn answers(&self, answers: &[Answered], out: &mut Tail<Self::Item>);

    /// What a request's end needs besides, for this request alone.
    ///
    /// # Errors
    /// Says why nothing can be asked.
    fn end(&self, _out: &mut Tail<Self::Item>) -> Result<(), String> {
        Ok(())
    }

    /// What stands around messages that end so.
    fn frame(&self, end: &Tail<Self::Item>) -> Cow<'_, Frame>;
}

/// A call with its result.
#[derive(Clone, Debug)]
pub struct Answered {
    pub call: ToolCall,
    /// `None`: the call was interrupted.
    pub result: Option<ToolResult>,
}

/// The conversation of an adapter.
pub struct Growing<P: Protocol>(Result<Written<P>, String>);

struct Written<P: Protocol> {
    protocol: P,
    settled: Ink,
    tail: Tail<P::Item>,
    /// The calls of the last turn, as long as results may come.
    open: Vec<Answered>,
}

/// One request, for a conversation that is asked once.
///
/// # Errors
/// Says what in the conversation cannot be expressed.
pub fn encode<P: Protocol>(request: &Request) -> Result<HttpRequest, String> {
    Growing::<P>::new(request.clone()).encode()
}

impl<P: Protocol> Conversation for Growing<P> {
    fn new(mut request: Request) -> Self {
        let messages = std::mem::take(&mut request.messages);
        let mut growing = Self(Written::new(&request));
        growing.append(messages);
        growing
    }

    fn append(&mut self, messages: Vec<Message>) {
        // Once something could not be expressed, nothing after it can.
        if let Ok(written) = &mut self.0
            && let Err(why) = written.add(messages)
        {
            self.0 = Err(why);
        }
    }

    fn encode(&self) -> Result<HttpRequest, String> {
        self.0.as_ref().map_err(Clone::clone)?.request()
    }
}

impl<P: Protocol> Written<P> {
    fn new(request: &Request) -> Result<Self, String> {
        let mut tail = Tail::new();
        let protocol = P::new(request, &mut tail)?;
        Ok(Self { protocol, settled: Ink::default(), tail, open: Vec::new() })
    }

    fn add(&mut self, messages: Vec<Message>) -> Result<(), String> {
        for message in messages {
            self.message(message)?;
            self.tail.settle(P::KEPT, &mut self.settled);
            if self.settled.is_overfull(&P::ROOM) {
                self.settled.keep_newest(&P::ROOM);
            }
        }
        self.settled.keep_newest(&P::ROOM);
        Ok(())
    }

    fn message(&mut self, message: Message) -> Result<(), String> {
        match message.role {
            Role::User => self.user(message.parts),
            Role::Assistant => self.assistant(message.parts),
            Role::Tool => message.parts.into_iter().try_for_each(|part| match part {
                Part::ToolResult(result) => self.result(result),
                _ => Err("A tool's message holds something that is no result".into()),
            }),
        }
    }

    fn user(&mut self, mut parts: Vec<Part>) -> Result<(), String> {
        self.close_turn();
        if parts.iter().any(|p| matches!(p, Part::ToolCall(_) | Part::ToolResult(_))) {
            return Err("A user's message holds a tool call or its result".into());
        }
        parts.retain(|p| matches!(p, Part::Text(_) | Part::File(_)));
        self.protocol.user(&parts, &mut self.tail);
        Ok(())
    }

    fn assistant(&mut self, parts: Vec<Part>) -> Result<(), String> {
        self.close_turn();
        let (results, said): (Vec<_>, Vec<_>) = parts.into_iter().partition(|p| matches!(p, Part::ToolResult(_)));
        self.protocol.assistant(&said, &mut self.tail);
        let calls = said.into_iter().filter_map(|p| if let Part::ToolCall(call) = p { Some(call) } else { None });
        self.open = calls.map(|call| Answered { call, result: None }).collect();
        let mut results = results.into_iter().filter_map(|p| if let Part::ToolResult(r) = p { Some(r) } else { None });
        results.try_for_each(|result| self.result(result))
    }

    fn result(&mut self, result: ToolResult) -> Result<(), String> {
        let waits = |a: &&mut Answered| a.result.is_none() && a.call.id == result.call_id;
        let Some(answered) = self.open.iter_mut().find(waits) else {
            return Err(format!("The result of `{}` answers no open call ({})", result.name, result.call_id));
        };
        answered.result = Some(result);
        Ok(())
    }

    /// Every call has its result before anything else comes, or the server refuses the conversation for good.
    fn close_turn(&mut self) {
        let answered = std::mem::take(&mut self.open);
        if !answered.is_empty() {
            self.protocol.answers(&answered, &mut self.tail);
        }
    }

    fn request(&self) -> Result<HttpRequest, String> {
        let mut end = self.tail.clone();
        if !self.open.is_empty() {
            self.protocol.answers(&self.open, &mut end);
        }
        self.protocol.end(&mut end)?;
        let frame = self.protocol.frame(&end);
        let mut body = Ink::with_capacity(frame.head.len() + self.settled.len() + frame.foot.len() + 4096);
        body.raw(&frame.head);
        body.append(&self.settled);
        end.settle(0, &mut body);
        body.keep_newest(&P::ROOM);
        body.raw(&frame.foot);
        let (url, headers) = (frame.url.clone(), frame.headers.clone());
        Ok(HttpRequest { method: "POST".into(), url, headers, body: body.into_bytes() })
    }
}

#[cfg(test)]
mod tests;
