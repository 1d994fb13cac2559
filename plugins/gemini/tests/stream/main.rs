//! The decoder against field reports, each known quirk, and noise.

use gemini::Codec;
use testing::cases;

mod decoder;

#[test]
fn every_report_comes_out_right_at_every_cut() {
    cases::run_all::<Codec>(include_str!("../cases.json"), 3);
}
