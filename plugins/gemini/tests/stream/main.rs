//! The decoder against field reports, each known quirk, and noise.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use gemini::{Codec, Decoder};

#[path = "../../../codec/testing/cases.rs"]
mod cases;
mod decoder;
#[path = "../../../codec/testing/fold.rs"]
mod fold;

#[test]
fn every_report_comes_out_right_at_every_cut() {
    cases::run_all(include_str!("../cases.json"), 3);
}
