//! `--record` and `--replay`: the tape of a run.

use super::Ground;
use crate::report::{Exit, Report};
use crate::wire;
use runtime::{Pace, StandIn, Tape, TapeError};
use std::path::Path;
use std::sync::Arc;

/// The tape of a run, if there is one.
#[derive(Clone, Default)]
pub enum Cassette {
    #[default]
    None,
    Record(Arc<Tape>),
    Replay(Arc<Tape>),
}

impl Cassette {
    #[must_use]
    pub fn tape(&self) -> Option<Arc<Tape>> {
        match self {
            Self::None => None,
            Self::Record(tape) | Self::Replay(tape) => Some(tape.clone()),
        }
    }

    /// Nothing is sent, so nobody has to be authorised.
    #[must_use]
    pub fn needs_no_key(&self) -> bool {
        matches!(self, Self::Replay(_))
    }
}

impl From<TapeError> for Report {
    fn from(error: TapeError) -> Self {
        let exit = if matches!(error, TapeError::Unwritable { .. }) { Exit::Failed } else { Exit::Usage };
        // The tape's sentences say what to do next themselves.
        Self::new(exit, error.to_string(), "")
    }
}

/// # Errors
/// A folder that cannot be written, or from which nothing can be played.
pub fn load(record: Option<&Path>, replay: Option<&Path>, pauses: bool, ground: &Ground) -> Result<Cassette, Report> {
    let pace = if pauses { Pace::AsRecorded } else { Pace::AtOnce };
    Ok(match (record, replay) {
        (_, Some(dir)) => Cassette::Replay(Tape::replay(dir, stand_ins(ground), pace)?),
        (Some(dir), None) => Cassette::Record(Tape::record(dir, stand_ins(ground))?),
        (None, None) => Cassette::None,
    })
}

/// What is another text in another place or on another day. The longest first: one may lie in another.
fn stand_ins(ground: &Ground) -> Vec<StandIn> {
    let home = ground.paths.home.as_ref().map(|h| h.display().to_string()).unwrap_or_default();
    let mut all = vec![
        (ground.place.directory.display().to_string(), "{{directory}}"),
        (ground.place.worktree.display().to_string(), "{{worktree}}"),
        (home, "{{home}}"),
        (format!("Date: {}", today()), "Date: {{date}}"),
    ];
    all.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    all
}

/// As the prompt writes it (UTC).
fn today() -> String {
    let text = humantime::format_rfc3339_seconds(wire::now()).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
