//! In place of [`Wire`] outside a component: there is no network.

use crate::{Lost, Reply, Web};
use std::time::Duration;

pub struct Wire;

impl Web for Wire {
    fn get(&mut self, _: &str, _: &str, _: &str, within: Duration) -> Result<Reply, Lost> {
        Err(if within.is_zero() { Lost::TimedOut } else { Lost::Other("there is no network here".into()) })
    }
}
