//! What every request of a session has in common. Frozen with the session (`prefix`), so that the beginning of each request is the
//! same bytes as that of the one before it, also between runs.

use crate::toolset::Toolset;
use crate::transcript::Conversation;
use model::id::SessionId;
use model::profile::Profile;
use model::provider::{ChatMessage, ChatPart, Extra, Model, Request, Role, ToolChoice};
use model::session::Session;
use serde_json::Value;
use std::sync::Arc;

/// Tokens of one answer where the user says nothing.
const MAX_OUTPUT: u32 = 32_000;

/// The built-in prompt: for an agent that has none of its own.
const PROMPT: &str = include_str!("prompt.txt");

/// What the model is told on its last allowed request.
pub(crate) const LAST_STEP: &str = "The step limit of this run is reached: this is the last answer, and no tools can be used any more. \
Answer in text: say what is done, what is not, and what to do next.";

/// The part of a request that does not change.
pub(crate) struct Frame {
    session: SessionId,
    system: Vec<Arc<str>>,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    schema: Option<Value>,
}

/// What the caller may set for one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    pub schema: Option<Value>,
}

impl Frame {
    pub(crate) fn new(session: &Session, profile: &Profile, system: Vec<Arc<str>>, set: Settings) -> Self {
        Self {
            session: session.id.clone(),
            system,
            max_output_tokens: set.max_output_tokens,
            temperature: set.temperature.or(profile.temperature),
            schema: set.schema,
        }
    }

    /// Tokens that the person allows for one answer.
    pub(crate) fn max_output_tokens(&self) -> Option<u32> {
        self.max_output_tokens
    }

    /// The next request of the session, to this model.
    pub(crate) fn request(&self, model: &Model, conversation: &Conversation, toolset: &Toolset) -> Request {
        let tools = toolset.decls();
        Request {
            session: self.session.clone(),
            model: model.id.clone(),
            system: self.system.clone(),
            messages: conversation.messages(),
            tool_choice: if tools.is_empty() { ToolChoice::None } else { ToolChoice::Auto },
            tools,
            max_output_tokens: self.max_output_tokens.or_else(|| answer_tokens(model)),
            temperature: self.temperature,
            response_schema: self.schema.clone(),
            extra: Extra::default(),
        }
    }

    /// A request of its own, apart from the conversation: one question, no tools.
    pub(crate) fn aside(&self, model: &Model, system: &str, question: String) -> Request {
        let parts = vec![ChatPart::Text(question)];
        Request {
            session: self.session.clone(),
            model: model.id.clone(),
            system: vec![system.into()],
            messages: vec![Arc::new(ChatMessage { role: Role::User, parts })],
            tools: Arc::new([]),
            tool_choice: ToolChoice::None,
            max_output_tokens: answer_tokens(model),
            temperature: self.temperature,
            response_schema: None,
            extra: Extra::default(),
        }
    }
}

fn answer_tokens(model: &Model) -> Option<u32> {
    (model.output > 0).then(|| model.output.min(MAX_OUTPUT))
}

/// Agent's prompt, environment, instructions: what changes least comes first.
pub(crate) fn system(session: &Session, profile: &Profile, instructions: &[String]) -> Vec<String> {
    let prompt = profile.prompt.as_deref().unwrap_or(PROMPT).trim();
    let mut blocks = vec![prompt.to_owned(), environment(session)];
    blocks.extend(instructions.iter().cloned());
    blocks.retain(|b| !b.trim().is_empty());
    blocks
}

/// The date is that of the session's beginning; a later one is told with a message.
fn environment(session: &Session) -> String {
    format!(
        "<env>\nWorking directory: {}\nWorkspace root: {}\nPlatform: {}\nModel: {}\nDate: {}\n</env>",
        session.directory.display(),
        session.worktree.display(),
        std::env::consts::OS,
        session.model,
        date(session.time.created),
    )
}

/// The day (UTC) of a time in milliseconds since the Unix epoch, as `year-month-day`.
pub(crate) fn date(ms: u64) -> String {
    let day = httpdate::HttpDate::from(std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms)).to_string();
    let mut words = day.split([' ', ',']).filter(|w| !w.is_empty()).skip(1);
    let (Some(d), Some(m), Some(y)) = (words.next(), words.next(), words.next()) else { return day };
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|n| *n == m).map_or(0, |i| i + 1);
    format!("{y}-{month:02}-{d}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{profile, session};

    #[test]
    fn a_day_is_written_year_first() {
        let check = |ms, expected: &str| assert_eq!(date(ms), expected);
        check(0, "1970-01-01");
        check(951_782_400_000, "2000-02-29");
        check(1_796_083_199_999, "2026-11-30");
    }

    #[test]
    fn the_blocks_are_prompt_environment_instructions() {
        let mut own = profile();
        own.prompt = Some("You test.".into());
        let blocks = system(&session(), &own, &["# Rules".into(), "  ".into()]);
        assert_eq!((blocks.len(), blocks[0].as_str(), blocks[2].as_str()), (3, "You test.", "# Rules"));
        assert!(blocks[1].contains("Working directory: /w\n"), "{}", blocks[1]);
    }

    #[test]
    fn the_answer_is_bounded_by_the_model() {
        let check = |output, expected| {
            let model = Model { output, ..Model::unknown("m") };
            assert_eq!(answer_tokens(&model), expected, "{output}");
        };
        check(0, None);
        check(4096, Some(4096));
        check(100_000, Some(32_000));
    }
}
