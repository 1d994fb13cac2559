//! The boundary against guests that misbehave: one a behaviour, from `tests/guests`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "what a test stands on fails with it")]

mod attacks;
mod bare;
mod crowd;
mod guests;
mod hooks;
mod limits;
mod line;
mod loading;
mod network;
mod owners;
mod points;
mod providers;
mod server;
mod stage;
mod strangers;
mod thief;
mod tools;
