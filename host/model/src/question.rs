//! Questions that the model puts to the person (agent-core, section 6.13). They are no asks: an answer permits nothing.

use crate::id::{QuestionId, SessionId};
use crate::permission::AskTool;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub question: String,
    /// A few words that name it.
    pub header: String,
    pub options: Vec<Choice>,
    /// Whether more than one option may be chosen.
    #[serde(default)]
    pub multiple: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// Questions that are put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    pub id: QuestionId,
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    pub questions: Vec<Question>,
    pub tool: AskTool,
}

/// A list a question, in their order: labels of options, or the person's own words. An empty list = not answered.
pub type Answers = Vec<Vec<String>>;
