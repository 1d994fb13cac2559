//! The decoder against field reports, each known quirk, and noise.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use gemini::Decoder;

mod decoder;
#[path = "../../../codec/testing/fold.rs"]
mod fold;
