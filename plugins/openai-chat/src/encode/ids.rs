//! Ids of calls as servers accept them.

use crate::dialect::Ids;
use codec::{CallIds, Seed};

/// The longest id that OpenAI accepts.
const LONGEST: usize = 40;

pub fn of(rule: Ids) -> CallIds {
    match rule {
        Ids::Any => CallIds::new(is_short, Seed::call_id),
        Ids::Nine => CallIds::new(is_nine, |seed| seed.digits()[7..].to_owned()),
    }
}

fn is_short(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST && id.bytes().all(|b| b.is_ascii_graphic())
}

fn is_nine(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())
}
