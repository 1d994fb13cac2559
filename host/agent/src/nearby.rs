//! Instructions that lie near a file (agent-core, section 9.2): told with the first read of a file below them, once a session.

use model::message::{PartBody, WithParts};
use model::tool_state::{Metadata, ToolState};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::prefix::Instruction;

/// Key, in the metadata of a call, of the files that were told with its result.
pub(crate) const LOADED: &str = "loaded";

/// Looks for them on the disk.
pub trait Nearby: Send + Sync + fmt::Debug {
    /// Of this real path, the farthest first; each source is a path.
    fn of(&self, file: &Path) -> Vec<Instruction>;
}

/// What lies around, and what of it was told in this session.
pub(crate) struct Surroundings {
    nearby: Arc<dyn Nearby>,
    told: Mutex<HashSet<String>>,
}

impl Surroundings {
    /// What holds for all of the session, or was told with the result of an earlier call, is known.
    pub(crate) fn new(nearby: Arc<dyn Nearby>, history: &[WithParts], instructions: &[Instruction]) -> Self {
        let earlier = history.iter().flat_map(|m| &m.parts).flat_map(|p| told_by(&p.body));
        let told = instructions.iter().map(|i| i.source.clone()).chain(earlier).collect();
        Self { nearby, told: Mutex::new(told) }
    }

    /// Adds what was not told yet, as far as it may be read.
    pub(crate) fn tell(
        &self,
        file: &Path,
        output: &mut String,
        metadata: &mut Metadata,
        may_read: impl Fn(&Path) -> bool,
    ) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            self.nearby.of(file).into_iter().filter(|i| Path::new(&i.source) != file && may_read(Path::new(&i.source)));
        let new: Vec<Instruction> = found.filter(|i| told.insert(i.source.clone())).collect();
        if new.is_empty() {
            return;
        }
        let texts: Vec<&str> = new.iter().map(|i| i.text.as_str()).collect();
        output.push_str(&format!("\n\n<system-reminder>\n{}\n</system-reminder>", texts.join("\n\n")));
        metadata.insert(LOADED.into(), new.into_iter().map(|i| Value::from(i.source)).collect());
    }
}

fn told_by(body: &PartBody) -> Vec<String> {
    match body {
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { metadata, .. } => {
                let loaded = metadata.get(LOADED).and_then(Value::as_array).into_iter().flatten();
                loaded.filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => vec![],
        },
        _ => vec![],
    }
}
