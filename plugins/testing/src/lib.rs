//! What the tests of the model adapters share: the parts of conversations ([`talk`]), streams folded into what a host would make of them
//! ([`fold`]), field reports ([`cases`]), and laws that hold for every adapter ([`laws`], [`hostile`]).
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

pub mod cases;
pub mod flow;
pub mod fold;
pub mod laws;
pub mod talk;

pub use fold::{Folded, after_each_cr, chunks, fold};
