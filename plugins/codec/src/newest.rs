//! How many files of a conversation go into a request: the newest, as long as they fit.

use airlock::provider::{File, Message, Part};

/// Said in place of a file that does not fit any more.
pub const LEFT_OUT: &str = "[A file stood here. It was left out, since later ones fill the request.]";

/// Tells, file by file in the order of the conversation, which of them fit.
#[derive(Debug)]
pub struct Newest {
    left_out: usize,
    seen: usize,
}

impl Newest {
    /// `size`: bytes of a file on the wire, `None` for one that is not sent as a file. At most `most` files and `room` bytes fit.
    #[must_use]
    pub fn new(messages: &[Message], size: fn(&File) -> Option<usize>, most: usize, room: usize) -> Self {
        let sizes: Vec<usize> = messages.iter().flat_map(|m| &m.parts).flat_map(files).filter_map(size).collect();
        let mut left = room;
        let fits = |size: &&usize| match left.checked_sub(**size) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let kept = sizes.iter().rev().take(most).take_while(fits).count();
        Self { left_out: sizes.len() - kept, seen: 0 }
    }

    /// Whether the next file fits.
    pub fn fits(&mut self) -> bool {
        self.seen += 1;
        self.seen > self.left_out
    }
}

fn files(part: &Part) -> &[File] {
    match part {
        Part::File(file) => std::slice::from_ref(file),
        Part::ToolResult(result) => &result.files,
        _ => &[],
    }
}
