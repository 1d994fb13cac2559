//! A run that goes back because its model wants to.

use super::Run;
use crate::error::AgentError;
use crate::journal::UndoError;
use crate::plan::reminder;
use crate::rewind::{Return, first_to_go, letter};
use model::event::{Ending, Event};
use model::id::MessageId;
use model::undo::Reach;

impl Run<'_> {
    /// Takes everything since the place that is meant out of the talk, and where it is wished off the disk. What keeps it from being
    /// done is told to the model; only work that is half done ends the run.
    pub(super) async fn go_back(&mut self, wish: Return) -> Result<Option<Ending>, AgentError> {
        let Some(rewinder) = self.ports.rewinder.clone() else { return Ok(None) };
        let from = match first_to_go(self.bus.transcript().messages(), wish.checkpoint.as_deref()) {
            Ok(from) => from,
            Err(why) => return Ok(self.stay(&why)),
        };
        self.bus.flush().await?;
        let said = self.letter(&wish, &from);
        let session = self.bus.session().id.clone();
        let reach = if wish.files { Reach::Both } else { Reach::Talk };
        let done = match rewinder.go_back(&session, from, reach, said).await {
            Ok(done) => done,
            Err(why @ (UndoError::Interfered(_) | UndoError::HalfDone(_) | UndoError::Disk(_))) => {
                return Ok(Some(Ending::Internal(format!("{why}. {}", why.next()))));
            }
            Err(why) => return Ok(self.stay(&why.to_string())),
        };
        let history = self.ports.store.history(&session).await?;
        self.bus.reload(history);
        let (messages, files) = (done.undo.messages.len(), done.undo.steps.len());
        self.bus.emit(Event::Rewound { session, messages, files });
        Ok(None)
    }

    fn stay(&mut self, why: &str) -> Option<Ending> {
        self.note(format!("You did not go back, and nothing was taken back: {why}."));
        None
    }

    /// With who leads the run now, where that was told in what goes.
    fn letter(&self, wish: &Return, from: &MessageId) -> String {
        let history = self.bus.transcript().messages();
        let kept = history.iter().take_while(|m| m.info.id() != from).count();
        let mode = reminder(&self.agent, self.bus.session(), &history[..kept]);
        mode.into_iter().chain([letter(wish)]).collect::<Vec<_>>().join("\n\n")
    }
}
