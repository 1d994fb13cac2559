//! The messages of a request that later ones may still change.

use crate::ink::Ink;
use std::collections::VecDeque;

/// A message as the protocol has it.
pub trait Item: Clone + 'static {
    fn write(&self, out: &mut Ink);
}

/// The last messages, in order.
#[derive(Clone, Debug)]
pub struct Tail<I> {
    /// Messages that are written for good stand before these.
    goes_on: bool,
    items: VecDeque<I>,
}

impl<I: Item> Tail<I> {
    pub(crate) fn new() -> Self {
        Self { goes_on: false, items: VecDeque::new() }
    }

    /// No message was written at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.goes_on && self.items.is_empty()
    }

    pub fn push(&mut self, item: I) {
        self.items.push_back(item);
    }

    #[must_use]
    pub fn last(&self) -> Option<&I> {
        self.items.back()
    }

    /// The newest first.
    pub fn newest(&self) -> impl Iterator<Item = &I> {
        self.items.iter().rev()
    }

    /// As [`Self::newest`].
    pub fn newest_mut(&mut self) -> impl Iterator<Item = &mut I> {
        self.items.iter_mut().rev()
    }

    /// Writes the oldest messages, up to the last `kept`, as a list goes on.
    pub(crate) fn settle(&mut self, kept: usize, out: &mut Ink) {
        while self.items.len() > kept
            && let Some(item) = self.items.pop_front()
        {
            if std::mem::replace(&mut self.goes_on, true) {
                out.raw(b",");
            }
            item.write(out);
        }
    }
}

/// A message that is a list of blocks. `K` is what has to be known of a block later on.
#[derive(Clone, Debug)]
pub struct Said<K> {
    /// The message up to its first block; it tells who speaks.
    opening: &'static str,
    pub blocks: Vec<(K, Ink)>,
}

impl<K> Said<K> {
    #[must_use]
    pub fn is_by(&self, opening: &'static str) -> bool {
        self.opening == opening
    }
}

impl<K: Clone + 'static> Item for Said<K> {
    fn write(&self, out: &mut Ink) {
        out.raw(self.opening.as_bytes());
        out.items(self.blocks.iter().map(|(_, block)| block));
        out.raw(b"]}");
    }
}

impl<K: Clone + 'static> Tail<Said<K>> {
    /// Neighbours of one speaker are one message, and nothing said is none.
    pub fn say(&mut self, opening: &'static str, blocks: Vec<(K, Ink)>) {
        match self.items.back_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.is_by(opening) => last.blocks.extend(blocks),
            _ => self.push(Said { opening, blocks }),
        }
    }
}

/// A message that is one object and stays as it is.
#[derive(Clone, Debug)]
pub struct Whole {
    pub role: &'static str,
    pub ink: Ink,
}

impl Item for Whole {
    fn write(&self, out: &mut Ink) {
        out.append(&self.ink);
    }
}
