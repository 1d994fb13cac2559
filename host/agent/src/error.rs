//! Why a run could not go on at all. What the model, a tool or a person did wrong is an [`model::event::Ending`], not an error.

use model::id::SessionId;
use model::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("session {0} has no message to answer; give a prompt")]
    NothingToAnswer(SessionId),
    #[error("the schema for the answer is not a JSON Schema ({0}); correct it and run again")]
    Schema(String),
}
