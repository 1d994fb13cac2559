//! The components that are part of the program, as the build script made them.

use runtime::{Bundled, Learnt};

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use model::tool::ToolSpec;
    use runtime::{Runtime, RuntimeOptions};
    use std::sync::Arc;

    /// What was noted of the tools is what they say. Where it is not, `airlock plugin inspect FILE.wasm --format json` tells what
    /// belongs into `plugins/NAME/tools.json`.
    #[test]
    fn notes_are_true() {
        let home = tempfile::tempdir().unwrap();
        let noted = BUNDLED.iter().filter_map(|b| match b.learnt {
            Learnt::AtBuild(tools) => Some((b, tools)),
            Learnt::AtStart | Learnt::WhenNamed => None,
        });
        let noted: Vec<_> = noted.collect();
        assert!(noted.len() >= 8, "the notes are gone: a first start compiles everything");
        let bundled = noted.iter().map(|(b, _)| Bundled { learnt: Learnt::AtStart, ..**b }).collect();
        let runtime = Runtime::open(RuntimeOptions::below(home.path(), bundled)).unwrap();
        for (bundled, tools) in noted {
            let said = runtime.inspect(bundled.name).unwrap().tools;
            let noted: Vec<Arc<ToolSpec>> = serde_json::from_str(tools).unwrap();
            assert_eq!(noted, said, "{}: it says {}", bundled.name, serde_json::to_string_pretty(&said).unwrap());
        }
    }
}
