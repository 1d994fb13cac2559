//! `question`: the model asks the person (agent-core, section 6.13).

use super::{HostTool, read};
use async_trait::async_trait;
use model::fault::FailureKind;
use model::id::QuestionId;
use model::permission::{AskTool, Gate};
use model::question::{Answers, Inquiry, Question};
use model::tool::{Annotations, ProgressSink, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Questions of one call.
const MAX_QUESTIONS: usize = 8;
const MAX_OPTIONS: usize = 12;

const DESCRIPTION: &str = "Asks the person who started this run one or more questions and waits for the answers. \
Use it only when the work cannot go on well without a decision that is the person's: what is meant, which of several ways to \
take. Do not use it to ask for permission to use a tool (that is asked for by itself) or for what you can find out. The person \
may choose options or answer in words of their own, or leave a question open.";

const NOBODY: &str = "Nobody is there to answer questions in this run. Decide yourself what is most likely meant, go on, and say in \
your answer what you assumed.";

/// Puts questions through the gate, which has the person's ear.
pub(crate) struct AskPerson {
    gate: Arc<dyn Gate>,
    spec: Arc<ToolSpec>,
}

#[derive(Deserialize)]
struct Input {
    questions: Vec<Question>,
}

impl AskPerson {
    pub(crate) fn new(gate: Arc<dyn Gate>) -> Self {
        Self { gate, spec: Arc::new(spec()) }
    }
}

fn spec() -> ToolSpec {
    let option = json!({
        "type": "object",
        "properties": {
            "label": {"type": "string", "minLength": 1, "description": "A few words, shown as the option"},
            "description": {"type": "string", "description": "What follows from choosing it"}
        },
        "required": ["label"]
    });
    let question = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "The whole question"},
            "header": {"type": "string", "description": "Its name, 30 characters at most"},
            "options": {"type": "array", "items": option, "maxItems": MAX_OPTIONS},
            "multiple": {"type": "boolean", "description": "Whether more than one option may be chosen"}
        },
        "required": ["question", "header", "options"]
    });
    ToolSpec {
        name: "question".into(),
        description: DESCRIPTION.into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "questions": {"type": "array", "items": question, "minItems": 1, "maxItems": MAX_QUESTIONS}
            },
            "required": ["questions"]
        }),
        annotations: Annotations::default(),
        scopes: vec![],
    }
}

#[async_trait]
impl HostTool for AskPerson {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let Input { questions } = read(call.input)?;
        let tool = AskTool { message_id: call.message, call_id: call.call, name: call.tool };
        let inquiry = Inquiry { id: QuestionId::new(), session_id: call.session, questions: questions.clone(), tool };
        let nobody = || ToolFailure::new(FailureKind::Unavailable, NOBODY);
        let answers = self.gate.consult(inquiry, &cancel).await.ok_or_else(nobody)?;
        Ok(told(&questions, &answers))
    }
}

fn told(questions: &[Question], answers: &Answers) -> ToolOutput {
    let line = |(i, q): (usize, &Question)| {
        let given = answers.get(i).filter(|a| !a.is_empty());
        format!("{}: {}", q.question, given.map_or_else(|| "Unanswered".to_owned(), |a| a.join(", ")))
    };
    let lines: Vec<String> = questions.iter().enumerate().map(line).collect();
    let title = match questions {
        [one] => one.header.clone(),
        several => format!("{} questions", several.len()),
    };
    let mut metadata = serde_json::Map::new();
    metadata.insert("answers".into(), answers.iter().map(|a| Value::from(a.clone())).collect());
    ToolOutput { title, text: lines.join("\n"), metadata, attachments: vec![] }
}
