//! Written JSON, and where in it files stand that may have to give way to newer ones.

use serde::Serialize;
use std::collections::VecDeque;

/// Said in place of a file that does not fit any more. Plain ASCII, so that it may stand in JSON as it is.
pub const LEFT_OUT: &str = "[A file stood here. It was left out, since later ones fill the request.]";

/// How many files go into a request: the newest, as long as they fit.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Files of a request.
    pub most: usize,
    /// Bytes of all of them on the wire.
    pub bytes: usize,
}

impl Room {
    /// The protocol sets no bound of its own.
    pub const ANY: Self = Self { most: usize::MAX, bytes: usize::MAX };
}

/// The inside of an object that is a file.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    /// Bytes of the file on the wire.
    size: usize,
    stand_in: fn() -> Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Ink {
    bytes: Vec<u8>,
    files: VecDeque<Span>,
    /// Bytes of all files.
    held: usize,
}

impl Ink {
    #[must_use]
    pub fn of(value: &impl Serialize) -> Self {
        let mut ink = Self::default();
        ink.json(value);
        ink
    }

    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// An object that is a file of `size` bytes on the wire. `stand_in`: the members that it has once it is left out.
    #[must_use]
    pub fn of_file(object: &impl Serialize, size: usize, stand_in: fn() -> Vec<u8>) -> Self {
        let mut ink = Self::of(object);
        ink.files.push_back(Span { start: 1, end: ink.bytes.len().saturating_sub(1), size, stand_in });
        ink.held = size;
        ink
    }

    #[expect(
        clippy::expect_used,
        reason = "memory takes all bytes, and no value of an adapter has keys that are no text"
    )]
    pub fn json(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.bytes, value).expect("a value that can be written");
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn append(&mut self, other: &Self) {
        let by = self.bytes.len();
        self.raw(&other.bytes);
        let moved = other.files.iter().map(|f| Span { start: f.start + by, end: f.end + by, ..*f });
        self.files.extend(moved);
        self.held += other.held;
    }

    /// These, with commas between.
    pub fn items<'a>(&mut self, items: impl IntoIterator<Item = &'a Self>) {
        for (n, item) in items.into_iter().enumerate() {
            if n > 0 {
                self.raw(b",");
            }
            self.append(item);
        }
    }

    #[must_use]
    pub fn list(items: &[Self]) -> Self {
        let mut ink = Self::default();
        ink.raw(b"[");
        ink.items(items);
        ink.raw(b"]");
        ink
    }

    /// One more member of the object that was written last, which is not empty.
    pub fn member(&mut self, name: &str, value: &Self) {
        self.bytes.pop();
        self.raw(format!(",\"{name}\":").as_bytes());
        self.append(value);
        self.raw(b"}");
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// So much more than fits that it pays to leave files out.
    #[must_use]
    pub fn is_overfull(&self, room: &Room) -> bool {
        self.files.len() / 2 > room.most || self.held / 2 > room.bytes
    }

    /// Leaves out the oldest files until the rest fits.
    pub fn keep_newest(&mut self, room: &Room) {
        let surplus = self.surplus(room);
        if surplus == 0 {
            return;
        }
        let left_out: Vec<Span> = self.files.drain(..surplus).collect();
        let mut kept = Self::with_capacity(self.bytes.len());
        let mut from = 0;
        for span in left_out {
            kept.raw(&self.bytes[from..span.start]);
            kept.raw(&(span.stand_in)());
            from = span.end;
        }
        let files: VecDeque<Span> = self.files.drain(..).map(|f| moved_back(f, from)).collect();
        let held = files.iter().map(|f| f.size).sum();
        kept.append(&Self { bytes: self.bytes.split_off(from), files, held });
        *self = kept;
    }

    fn surplus(&self, room: &Room) -> usize {
        let mut left = room.bytes;
        let fits = |span: &&Span| match left.checked_sub(span.size) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        self.files.len() - self.files.iter().rev().take(room.most).take_while(fits).count()
    }
}

fn moved_back(span: Span, by: usize) -> Span {
    Span { start: span.start - by, end: span.end - by, ..span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TWO: Room = Room { most: 2, bytes: 10 };

    fn file(n: usize, size: usize) -> Ink {
        Ink::of_file(&json!({"f": n}), size, || b"\"out\":1".to_vec())
    }

    fn kept(mut ink: Ink) -> String {
        // Once more changes nothing.
        ink.keep_newest(&TWO);
        ink.keep_newest(&TWO);
        String::from_utf8(ink.into_bytes()).unwrap()
    }

    #[test]
    fn the_newest_files_stay_and_the_rest_keeps_its_place() {
        for (sizes, expected) in [
            (&[1][..], "[{\"f\":0}]"),
            (&[1, 1, 1], "[{\"out\":1},{\"f\":1},{\"f\":2}]"),
            (&[9, 2, 9], "[{\"out\":1},{\"out\":1},{\"f\":2}]"),
            (&[1, 9, 1], "[{\"out\":1},{\"f\":1},{\"f\":2}]"),
        ] {
            let files: Vec<Ink> = sizes.iter().enumerate().map(|(n, size)| file(n, *size)).collect();
            assert_eq!(kept(Ink::list(&files)), expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_member_beside_a_file_outlives_it() {
        let mut marked = file(0, 11);
        marked.member("m", &Ink::of(&2));
        assert_eq!(kept(marked), "{\"out\":1,\"m\":2}");
    }
}
