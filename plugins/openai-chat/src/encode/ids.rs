//! Ids of calls as a server accepts them. They are made in the order of the conversation, so each step gives the earlier calls the same.

use crate::dialect::Ids;
use codec::Seed;
use std::collections::{HashMap, HashSet};

/// The longest id that OpenAI accepts.
const LONGEST: usize = 40;

pub struct IdMap {
    rule: Ids,
    /// Of an id of the conversation, the wire's id of the last call that had it.
    current: HashMap<String, String>,
    used: HashSet<String>,
}

impl IdMap {
    pub fn new(rule: Ids) -> Self {
        Self { rule, current: HashMap::new(), used: HashSet::new() }
    }

    /// The id of a new call. Two calls never share one, whatever ids they came with.
    pub fn call(&mut self, id: &str) -> String {
        let mut wire = if self.fits(id) { id.to_owned() } else { self.made(id, 0) };
        let mut attempt = 1;
        while self.used.contains(&wire) {
            wire = self.made(id, attempt);
            attempt += 1;
        }
        self.used.insert(wire.clone());
        self.current.insert(id.into(), wire.clone());
        wire
    }

    /// The id of the call that a result answers.
    pub fn result(&self, id: &str) -> Option<&str> {
        self.current.get(id).map(String::as_str)
    }

    fn fits(&self, id: &str) -> bool {
        match self.rule {
            Ids::Any => !id.is_empty() && id.len() <= LONGEST && id.bytes().all(|b| b.is_ascii_graphic()),
            Ids::Nine => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        }
    }

    /// Cutting ids short would make equal what differs at the end: the whole id counts.
    fn made(&self, id: &str, attempt: u64) -> String {
        let seed = Seed::default().with(id.as_bytes()).with(&attempt.to_le_bytes());
        match self.rule {
            Ids::Any => seed.call_id(),
            Ids::Nine => seed.digits()[7..].to_owned(),
        }
    }
}
