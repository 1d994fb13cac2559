//! The loop: what happens next in a session, how a stream becomes parts, which calls run, what is asked

pub mod gate;
pub mod shell;
