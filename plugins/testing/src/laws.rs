//! Laws that every adapter keeps.

use crate::talk::png;
use airlock::provider::{Conversation, Decode, HttpRequest, Message, Part, Request, Role, StreamEvent};

/// The beginning of what stands in for a file.
const LEFT_OUT: &str = "[A file stood here.";

/// A conversation that grew in steps, each with its request, gives the bytes of one that was there at once. `cuts`: how many messages come
/// with each step.
pub fn growing_changes_nothing<C: Conversation>(request: &Request, cuts: &[usize]) {
    let at_once = |messages: &[Message]| C::new(Request { messages: messages.to_vec(), ..request.clone() }).encode();
    let mut growing = C::new(Request { messages: vec![], ..request.clone() });
    let mut so_far = 0;
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let next = so_far + cut.min(request.messages.len() - so_far);
        growing.append(request.messages[so_far..next].to_vec());
        so_far = next;
        let expected = shown(&at_once(&request.messages[..so_far]));
        assert_eq!(shown(&growing.encode()), expected, "after {so_far} messages");
        assert_eq!(shown(&growing.encode()), expected, "asked for again");
    }
}

/// Files that do not fit give way to newer ones, whether they come one by one or all at once. `most`: how many fit; `mark`: what the body has
/// once for each of them.
pub fn newest_files_stay<C: Conversation>(request: &Request, most: usize, mark: &str) {
    let files = |n: usize| Message { role: Role::User, parts: vec![Part::File(png()); n] };
    let messages = (0..most + 7).map(|_| files(1)).chain([files(3)]).collect();
    let request = Request { messages, ..request.clone() };
    growing_changes_nothing::<C>(&request, &[most - 1, 1, 1, 5]);
    let body = C::new(request).encode().unwrap().body;
    let body = String::from_utf8(body).unwrap();
    assert_eq!((body.matches(mark).count(), body.matches(LEFT_OUT).count()), (most, 10));
    assert!(body.find(mark) > body.rfind(LEFT_OUT), "the newest stay");
}

/// Bodies as text, so that a difference can be read.
fn shown(encoded: &Result<HttpRequest, String>) -> Result<(String, String), String> {
    let request = encoded.as_ref().map_err(Clone::clone)?;
    Ok((request.url.clone(), String::from_utf8_lossy(&request.body).into_owned()))
}

/// The events of these pieces, up to the end of the body. Nothing comes after it.
pub fn decode<D: Decode>(model: &str, content_type: &str, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = D::new(model, content_type);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(decoder.push(piece));
    }
    events.extend(decoder.finish());
    assert!(decoder.push(b"data: {}\n\n").is_empty() && decoder.finish().is_empty(), "nothing comes after the end");
    events
}
