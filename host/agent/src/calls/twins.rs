//! The same call twice in one step: it runs once, where that comes to the same as running it twice. Pure.

use super::scopes::Footprint;
use crate::loop_guard::CallMark;

/// A call as far as it matters here.
pub(super) struct Call<'a> {
    /// What it is, once it is prepared.
    pub mark: Option<CallMark>,
    /// It only reads, or the same call twice has the effect of one.
    pub is_repeatable: bool,
    pub footprint: &'a Footprint,
}

/// The earlier call whose result is this one's too: the same, with nothing between them that could have changed what comes of it.
pub(super) fn twin_of<'a>(
    before: impl DoubleEndedIterator<Item = (usize, Call<'a>)>,
    this: &Call<'_>,
) -> Option<usize> {
    let mark = this.mark.filter(|_| this.is_repeatable)?;
    for (at, call) in before.rev() {
        if call.mark == Some(mark) {
            return Some(at);
        }
        if call.footprint.conflicts(this.footprint) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    #[derive(Clone)]
    struct Made(&'static str, Footprint);

    fn reads(path: &'static str) -> Made {
        Made("read", Footprint::Paths { reads: vec![PathBuf::from(path)], writes: vec![] })
    }

    fn writes(path: &'static str) -> Made {
        Made("write", Footprint::Paths { reads: vec![], writes: vec![PathBuf::from(path)] })
    }

    fn anything() -> Made {
        Made("bash", Footprint::Everything)
    }

    fn call(made: &Made) -> Call<'_> {
        let path = match &made.1 {
            Footprint::Paths { reads, writes } => reads.iter().chain(writes).next().cloned(),
            _ => None,
        };
        let mark = Some(CallMark::new(made.0, &json!({ "path": path }), None));
        Call { mark, is_repeatable: made.0 == "read", footprint: &made.1 }
    }

    #[test]
    fn a_call_takes_the_result_of_the_same_call_before_it() {
        let check = |before: &[Made], this: Made, expected: Option<usize>| {
            let got = twin_of(before.iter().map(call).enumerate(), &call(&this));
            assert_eq!(got, expected, "{} after {}", this.0, before.len());
        };
        check(&[reads("/a")], reads("/a"), Some(0));
        check(&[reads("/a"), reads("/b"), writes("/c")], reads("/a"), Some(0));
        check(&[reads("/a"), reads("/a")], reads("/a"), Some(1));
        check(&[reads("/b")], reads("/a"), None);
        // What lies between may have changed it.
        check(&[reads("/a"), writes("/a")], reads("/a"), None);
        check(&[reads("/a"), anything()], reads("/a"), None);
        // Twice is not once.
        check(&[writes("/a")], writes("/a"), None);
        check(&[anything()], anything(), None);
    }
}
