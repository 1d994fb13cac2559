//! Ids for calls that come without one. A codec has neither clock nor chance: the same bytes give the same id, others another.

use std::collections::{HashMap, HashSet};

/// What an id is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Seed {
    /// This seed with more mixed in (FNV-1a).
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    /// Sixteen hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:016x}", self.0)
    }

    /// The id of a call.
    #[must_use]
    pub fn call_id(self) -> String {
        format!("call_{}", self.digits())
    }
}

/// Characters of a tool's name.
const LONGEST_NAME: usize = 64;

/// A tool's name as servers accept it: models call tools by names that nobody gave them.
#[must_use]
pub fn name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().take(LONGEST_NAME).map(plain).collect();
    if name.is_empty() { "unnamed".into() } else { name }
}

/// Ids of calls as a server accepts them. They are made in the order of the conversation, so each step gives the earlier calls the same.
#[derive(Debug)]
pub struct CallIds {
    fits: fn(&str) -> bool,
    made: fn(Seed) -> String,
    /// Of an id of the conversation, the wire's id of the last call that had it.
    current: HashMap<String, String>,
    used: HashSet<String>,
}

impl CallIds {
    /// `fits`: the server takes this id. `made`: one that it takes.
    #[must_use]
    pub fn new(fits: fn(&str) -> bool, made: fn(Seed) -> String) -> Self {
        Self { fits, made, current: HashMap::new(), used: HashSet::new() }
    }

    /// The id of a new call. Two calls never share one, whatever ids they came with.
    pub fn call(&mut self, id: &str) -> String {
        let mut wire = if (self.fits)(id) { id.to_owned() } else { self.make(id, 0) };
        let mut attempt = 1;
        while self.used.contains(&wire) {
            wire = self.make(id, attempt);
            attempt += 1;
        }
        self.used.insert(wire.clone());
        self.current.insert(id.into(), wire.clone());
        wire
    }

    /// The id of the call that a result answers.
    #[must_use]
    pub fn result(&self, id: &str) -> Option<&str> {
        self.current.get(id).map(String::as_str)
    }

    /// Cutting ids short would make equal what differs at the end: the whole id counts.
    fn make(&self, id: &str, attempt: u64) -> String {
        (self.made)(Seed::default().with(id.as_bytes()).with(&attempt.to_le_bytes()))
    }
}
