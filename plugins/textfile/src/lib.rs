//! Text files as bytes, for the file tools: what they hold ([`Text`]), how they are saved ([`save`]), what changed ([`Change`]), and
//! which names lie near one that is not there ([`near`]).

mod change;
mod encoding;
mod near;
mod save;

pub use change::Change;
pub use encoding::{Encoding, NotText, Text};
pub use near::{missing, near};
pub use save::{Kind, kind, load, save};
