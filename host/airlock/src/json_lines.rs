//! `--format json`: one object a line, `{type, timestamp, sessionID, …}`, in the shapes that scripts rely on.

use crate::attempts::Trial;
use crate::report::Exit;
use model::budget::Tokens;
use model::event::{Ending, Event, EventSink, RunOutcome};
use model::id::{MessageId, PartId, SessionId};
use model::message::{FinishReason, Message, Part, PartBody};
use model::permission::{Ask, Reply};
use model::provider::ProviderFailure;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Writes a line for each event that has one. A reader that went away ends the writing, not the run.
pub struct JsonLines<W> {
    state: Mutex<State<W>>,
    now_ms: fn() -> u64,
}

struct State<W> {
    out: Option<W>,
    /// Why the writing ended, where it was not the reader's wish.
    lost: Option<String>,
    told: HashSet<PartId>,
    /// Parts of the attempt that was just given up; the `retry` line that follows names them.
    dropped: Vec<PartId>,
    /// Messages that are summaries: their texts answer nobody.
    summaries: HashSet<MessageId>,
}

impl<W: Write + Send> JsonLines<W> {
    pub fn new(out: W, now_ms: fn() -> u64) -> Self {
        Self {
            state: Mutex::new(State {
                out: Some(out),
                lost: None,
                told: HashSet::new(),
                dropped: Vec::new(),
                summaries: HashSet::new(),
            }),
            now_ms,
        }
    }

    /// The last line of a run.
    pub fn result(&self, session: &SessionId, outcome: &RunOutcome, attempts: &[Trial], exit: Exit) {
        let mut line = result(outcome, exit);
        if !attempts.is_empty() {
            line["attempts"] = attempts.iter().map(Trial::as_json).collect();
        }
        self.write(session, line);
    }

    /// The last lines of a run that could not go on: what it cost is not known here, the ledger has it.
    pub fn broke_off(&self, session: &SessionId, why: &str, exit: Exit) {
        self.internal_error(session, why);
        let outcome = RunOutcome {
            ending: Ending::Internal(why.into()),
            finish: FinishReason::Error,
            text: String::new(),
            cost: Decimal::ZERO,
            tokens: Tokens::default(),
            steps: 0,
        };
        self.result(session, &outcome, &[], exit);
    }

    /// A failure that is not the provider's.
    pub fn internal_error(&self, session: &SessionId, message: &str) {
        let error = json!({ "kind": "unknown", "message": message, "retryable": false });
        self.write(session, json!({ "type": "error", "error": error }));
    }

    fn write(&self, session: &SessionId, line: Value) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(out) = state.out.as_mut() else { return };
        let text = framed(line, session, (self.now_ms)());
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            state.out = None;
            state.lost = lost(&error);
        }
    }

    /// Why lines were lost, if they were.
    pub fn lost(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lost.clone()
    }

    /// Only what a line has told of has to be taken back.
    fn drop_part(&self, part: &Part) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.told.contains(&part.id) && !state.dropped.contains(&part.id) {
            state.dropped.push(part.id.clone());
        }
    }

    fn take_dropped(&self) -> Vec<PartId> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).dropped)
    }

    /// A part is told of once, when it has come to its end; what a summary says is not.
    fn is_news(&self, part: &Part) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_said = matches!(part.body, PartBody::Text(_) | PartBody::Reasoning(_));
        !(is_said && state.summaries.contains(&part.message_id)) && state.told.insert(part.id.clone())
    }

    fn message(&self, info: &Message) {
        if let Message::Assistant(answer) = info
            && answer.summary
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.summaries.insert(answer.id.clone());
        }
    }
}

impl<W: Write + Send> EventSink for JsonLines<W> {
    fn emit(&self, event: Event) {
        if let Event::PartDropped { part } = &event {
            self.drop_part(part);
        } else if let Some((session, line)) = self.line(event) {
            self.write(&session, line);
        }
    }
}

impl<W: Write + Send> JsonLines<W> {
    /// The session that a line is about, and the line; none for what needs none.
    fn line(&self, event: Event) -> Option<(SessionId, Value)> {
        Some(match event {
            Event::PartUpdated { part } => {
                let kind = ended(&part.body).filter(|_| self.is_news(&part))?;
                (part.session_id.clone(), json!({ "type": kind, "part": *part }))
            }
            Event::Answered { ask, reply } => (ask.session_id.clone(), answered(&ask, reply.as_ref())),
            Event::Replied { inquiry, answers } => {
                let line = json!({ "type": "question", "request": inquiry, "answers": answers });
                (inquiry.session_id.clone(), line)
            }
            Event::Retry { session, attempt, next, error } => {
                (session, retry(attempt, next, &error, &self.take_dropped()))
            }
            Event::Failed { session, error } => (session, json!({ "type": "error", "error": failure(&error) })),
            // In the name of the child, and of no type that the run's own lines have.
            Event::Child { agent, event } => {
                let (session, line) = self.line(*event)?;
                (session, json!({ "type": "child", "agent": *agent, "event": line }))
            }
            Event::Compacted { session, before, after } => {
                (session, json!({ "type": "compacted", "before": before, "after": after }))
            }
            Event::Rewound { session, messages, files } => {
                (session, json!({ "type": "rewound", "messages": messages, "files": files }))
            }
            Event::Switched { session, from, to, error } => {
                let (from, to) = (from.to_string(), to.to_string());
                (session, json!({ "type": "fallback", "from": from, "to": to, "error": failure(&error) }))
            }
            Event::MessageUpdated { info } => {
                self.message(&info);
                return None;
            }
            Event::PartDropped { .. }
            | Event::SessionOpened { .. }
            | Event::PartDelta { .. }
            | Event::Asked { .. }
            | Event::Inquired { .. }
            | Event::Finished { .. } => return None,
        })
    }
}

/// Why an output was lost. A reader that went away wanted no more: nothing is lost then.
pub fn lost(error: &std::io::Error) -> Option<String> {
    (error.kind() != std::io::ErrorKind::BrokenPipe).then(|| error.to_string())
}

fn framed(line: Value, session: &SessionId, now_ms: u64) -> String {
    let mut framed = json!({ "type": line["type"], "timestamp": now_ms, "sessionID": session });
    if let (Value::Object(all), Value::Object(line)) = (&mut framed, line) {
        all.extend(line);
    }
    framed.to_string() + "\n"
}

/// The type of the line for a part that has ended; `None` while it has not, and for parts of a person's message.
fn ended(body: &PartBody) -> Option<&'static str> {
    match body {
        PartBody::Text(p) => p.time.is_some_and(|t| t.end.is_some()).then_some("text"),
        PartBody::Reasoning(p) => p.time.end.map(|_| "reasoning"),
        PartBody::Tool(p) => p.state.is_final().then_some("tool_use"),
        PartBody::StepStart { .. } => Some("step_start"),
        PartBody::StepFinish(_) => Some("step_finish"),
        PartBody::File(_) | PartBody::Retry(_) | PartBody::Compaction(_) | PartBody::Prefix(_) => None,
    }
}

fn answered(ask: &Ask, reply: Option<&Reply>) -> Value {
    let (word, message) = match reply {
        None => (None, None),
        Some(Reply::Once) => (Some("once"), None),
        Some(Reply::Always) => (Some("always"), None),
        Some(Reply::Reject { message }) => (Some("reject"), message.as_deref()),
    };
    let mut line = json!({ "type": "ask", "request": ask, "reply": word });
    if let Some(message) = message {
        line["message"] = message.into();
    }
    line
}

/// `next` is the wait in milliseconds; `dropped` are the ids of parts told of before that count no more.
fn retry(attempt: u32, next: Duration, error: &ProviderFailure, dropped: &[PartId]) -> Value {
    let wait = u64::try_from(next.as_millis()).unwrap_or(u64::MAX);
    json!({ "type": "retry", "attempt": attempt, "next": wait, "error": failure(error), "dropped": dropped })
}

fn failure(error: &ProviderFailure) -> Value {
    json!({ "kind": error.kind, "message": error.message, "retryable": error.retryable })
}

fn result(outcome: &RunOutcome, exit: Exit) -> Value {
    let mut line = json!({
        "type": "result",
        "finish": outcome.finish,
        "text": outcome.text,
        "cost": outcome.cost.to_f64().unwrap_or_default(),
        "tokens": outcome.tokens,
        "steps": outcome.steps,
        "exit": exit.code(),
    });
    // Which bound, or which circle, ended the run.
    match &outcome.ending {
        Ending::Limit(limit) => line["limit"] = json!(limit),
        Ending::Looped(what) => line["loop"] = json!(what),
        Ending::Done | Ending::Failed(_) | Ending::Internal(_) | Ending::Denied(_) | Ending::Interrupted => {}
    }
    line
}

#[cfg(test)]
mod tests;
