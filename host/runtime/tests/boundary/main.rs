//! The boundary against guests that misbehave: one a behaviour, from `tests/guests`.

mod guests;
mod hooks;
mod loading;
mod providers;
mod server;
mod stage;
mod tools;
