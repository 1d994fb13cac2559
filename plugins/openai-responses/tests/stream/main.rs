//! The decoder against field reports, a recorded stream, each known quirk, and noise.

use openai_responses::Codec;
use testing::cases;

mod decoder;

#[test]
fn every_report_comes_out_right_at_every_cut() {
    cases::run_all::<Codec>(include_str!("../cases.json"), 4);
}
