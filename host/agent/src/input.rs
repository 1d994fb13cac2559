//! From what a person gave to a stored user message, and what the host itself has to tell the model.

use crate::plan::reminder;
use crate::prompt::date;
use crate::run::Prompt;
use crate::transcript::decode;
use model::id::{MessageId, PartId};
use model::message::{
    COMPACTION_CONTINUE, CompactionPart, Created, FilePart, Message, Part, PartBody, TextPart, UserMessage, WithParts,
};
use model::session::Session;
use model::tool_state::Metadata;
use serde_json::Value;

/// Longest title made of a prompt, in characters.
const MAX_TITLE: usize = 50;

/// What a new user message is made of.
pub(crate) struct Drafting<'a> {
    pub session: &'a Session,
    pub agent: &'a str,
    pub schema: Option<&'a Value>,
    pub now: u64,
}

impl Drafting<'_> {
    /// A person's message. The day is told where it is not the one that the session began with: the system prompt stays the
    /// same, so that provider caches hit.
    pub(crate) fn prompt(&self, prompt: Prompt, history: &[WithParts], news: Vec<PartBody>) -> (Message, Vec<Part>) {
        let mut bodies = news;
        if !prompt.text.is_empty() {
            bodies.push(text(prompt.text, false));
        }
        bodies.extend(prompt.notes.into_iter().map(|n| text(n, true)));
        for file in prompt.files {
            bodies.extend(read_aloud(&file).map(|t| text(t, true)));
            bodies.push(PartBody::File(file));
        }
        let known = last_told(history).unwrap_or(self.session.time.created);
        if date(known) != date(self.now) {
            bodies.push(text(format!("The date is now {}.", date(self.now)), true));
        }
        bodies.extend(reminder(self.agent, self.session, history).map(|t| text(t, true)));
        bodies.extend(self.schema.map(|s| text(schema_rule(s), true)));
        self.message(bodies)
    }

    /// A message of the host's own to the model.
    pub(crate) fn note(&self, said: String) -> (Message, Vec<Part>) {
        self.message(vec![text(said, true)])
    }

    /// As [`Drafting::note`], under an id that was written down before.
    pub(crate) fn note_as(&self, id: MessageId, said: String) -> WithParts {
        let (info, parts) = self.message_as(id, vec![text(said, true)]);
        WithParts { info, parts }
    }

    /// A request for a summary. `auto`: the host's own, in the middle of other work.
    pub(crate) fn compaction(&self, auto: bool, overflow: bool) -> (Message, Vec<Part>) {
        self.message(vec![PartBody::Compaction(CompactionPart { auto, overflow, tail_start_id: None })])
    }

    /// The host's word after a summary, with the rule for the answer: the prompt that had it may be gone.
    pub(crate) fn continuation(&self, said: String) -> (Message, Vec<Part>) {
        let rule = self.schema.map(|s| text(schema_rule(s), true));
        let metadata = Metadata::from_iter([(COMPACTION_CONTINUE.to_owned(), Value::Bool(true))]);
        let word = TextPart { text: said, synthetic: true, metadata, ..TextPart::default() };
        self.message(std::iter::once(PartBody::Text(word)).chain(rule).collect())
    }

    fn message(&self, bodies: Vec<PartBody>) -> (Message, Vec<Part>) {
        self.message_as(MessageId::new(), bodies)
    }

    fn message_as(&self, id: MessageId, bodies: Vec<PartBody>) -> (Message, Vec<Part>) {
        let session = &self.session.id;
        let part = |body| Part { id: PartId::new(), session_id: session.clone(), message_id: id.clone(), body };
        let parts = bodies.into_iter().map(part).collect();
        let info = UserMessage {
            id: id.clone(),
            session_id: session.clone(),
            time: Created { created: self.now },
            agent: self.agent.to_owned(),
            model: self.session.model.clone(),
            format: self.schema.cloned(),
        };
        (Message::User(info), parts)
    }
}

fn text(text: String, synthetic: bool) -> PartBody {
    PartBody::Text(TextPart { text, synthetic, ..TextPart::default() })
}

/// The content of a text file, for models read text.
fn read_aloud(file: &FilePart) -> Option<String> {
    if !file.mime.starts_with("text/") {
        return None;
    }
    let content = String::from_utf8_lossy(&decode(&file.url)?).into_owned();
    let name = file.filename.as_deref().unwrap_or("unnamed");
    Some(format!("<file name={name:?}>\n{content}\n</file>"))
}

fn last_told(history: &[WithParts]) -> Option<u64> {
    history.iter().rev().find_map(|m| match &m.info {
        Message::User(user) => Some(user.time.created),
        Message::Assistant(_) => None,
    })
}

fn schema_rule(schema: &Value) -> String {
    format!("Your final answer must be one JSON value, without any other text, that fits this JSON Schema:\n{schema}")
}

/// A title from the first line of a prompt.
pub(crate) fn title(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|l| !l.is_empty())?;
    if line.chars().count() <= MAX_TITLE {
        return Some(line.to_owned());
    }
    let head: String = line.chars().take(MAX_TITLE - 1).collect();
    Some(format!("{}…", head.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::session;
    use crate::transcript::data_url;

    #[test]
    fn a_title_is_the_first_line_cut_to_fifty() {
        let check = |prompt: &str, expected: Option<&str>| assert_eq!(title(prompt).as_deref(), expected, "{prompt:?}");
        check("", None);
        check(" \n\n", None);
        check("\n  fix it \nnow", Some("fix it"));
        check(&"x".repeat(50), Some(&"x".repeat(50)));
        check(&"é".repeat(60), Some(&format!("{}…", "é".repeat(49))));
    }

    fn texts(created: u64, now: u64, files: Vec<FilePart>) -> Vec<String> {
        let mut session = session();
        session.time.created = created;
        let drafting = Drafting { session: &session, agent: "build", schema: None, now };
        let (_, parts) = drafting.prompt(Prompt { text: "hi".into(), files, notes: vec![] }, &[], vec![]);
        let texts = parts.into_iter().filter_map(|p| match p.body {
            PartBody::Text(t) => Some(t.text),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn a_new_day_is_told_in_the_message() {
        const DAY: u64 = 86_400_000;
        assert_eq!(texts(DAY, DAY + 5, vec![]), ["hi"]);
        assert_eq!(texts(DAY - 1, DAY, vec![]), ["hi", "The date is now 1970-01-02."]);
    }

    #[test]
    fn a_text_file_is_read_aloud() {
        let file = |mime: &str| FilePart {
            mime: mime.into(),
            filename: Some("a.txt".into()),
            url: data_url(mime, b"content"),
        };
        assert_eq!(texts(0, 0, vec![file("text/plain")]), ["hi", "<file name=\"a.txt\">\ncontent\n</file>"]);
        assert_eq!(texts(0, 0, vec![file("image/png")]), ["hi"]);
    }
}
