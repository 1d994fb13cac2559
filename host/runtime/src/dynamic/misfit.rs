//! What about a value does not fit its type, and where.

use std::fmt;

/// The place is built from the inside out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    place: String,
    why: String,
}

impl Misfit {
    pub fn new(why: impl Into<String>) -> Self {
        Self { place: String::new(), why: why.into() }
    }

    #[must_use]
    pub fn in_field(self, name: &str) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        Self { place: format!("{name}{dot}{}", self.place), ..self }
    }

    #[must_use]
    pub fn at(self, index: usize) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        Self { place: format!("[{index}]{dot}{}", self.place), ..self }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.why),
            place => write!(f, "`{place}`: {}", self.why),
        }
    }
}
