//! The decoder against field reports, recorded streams, each known quirk, and noise.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cases;
mod decoder;
mod fold;
