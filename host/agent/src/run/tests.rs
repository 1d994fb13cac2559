//! The loop with all its ports faked and virtual time.

mod acts;
mod circles;
mod ends;
mod flaws;
mod hooked;
mod letters;
mod near;
mod retries;
mod stops;
mod summaries;

use crate::testing::provider::{answers, calls, finish, said};
use crate::testing::stage::{Left, Stage, stage};
use model::message::PartBody;

/// Texts of all parts that still count.
fn texts(left: &Left) -> Vec<String> {
    let shown = left.parts().into_iter().filter(|p| !p.body.is_dropped()).filter_map(|p| match &p.body {
        PartBody::Text(t) => Some(t.text.clone()),
        _ => None,
    });
    shown.collect()
}
