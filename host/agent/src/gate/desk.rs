//! Who comes to the gate: the sessions of a run with the rules that each is judged by, and what is laid before the person.

use super::needs::{self, Need};
use super::{Gatekeeper, PoisonError};
use model::event::Event;
use model::id::{AskId, SessionId};
use model::permission::{Actor, Ask, AskTool, Policy, Standing};
use model::question::{Answers, Inquiry};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A session that was enrolled.
#[derive(Clone)]
pub(super) struct Member {
    root: SessionId,
    policy: Arc<Policy>,
}

impl Gatekeeper {
    pub(super) fn seat(&self, session: &SessionId, standing: Standing) {
        let member = Member { root: standing.root, policy: Arc::new(standing.policy) };
        self.standings.write().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), member);
    }

    pub(super) fn unseat(&self, session: &SessionId) {
        self.standings.write().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    fn member(&self, session: &SessionId) -> Option<Member> {
        self.standings.read().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    pub(super) fn policy_of(&self, session: &SessionId) -> Arc<Policy> {
        self.member(session).map_or_else(|| Arc::clone(&self.policy), |m| m.policy)
    }

    /// The session whose person answers for this one.
    pub(super) fn root_of(&self, session: &SessionId) -> SessionId {
        self.member(session).map_or_else(|| session.clone(), |m| m.root)
    }

    /// One question for all that is open. Its permission is that of the act; a directory outside only where nothing else is asked.
    /// It goes to the person of the session's root, and says for whom it is where that is another session.
    pub(super) fn question(&self, id: AskId, actor: &Actor, open: &[Need], metadata: Value) -> Ask {
        let main = open.iter().find(|n| n.permission != needs::EXTERNAL).unwrap_or(&open[0]);
        let (mut patterns, mut always): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for need in open {
            push_new(&mut patterns, &need.pattern);
            need.always.iter().for_each(|pattern| push_new(&mut always, pattern));
        }
        let root = self.root_of(&actor.session);
        let mut metadata = with_needs(metadata, open);
        if root != actor.session {
            metadata.insert("childID".into(), Value::from(actor.session.as_str()));
            metadata.insert("agent".into(), Value::from(actor.agent.as_str()));
        }
        Ask {
            id,
            session_id: root,
            permission: main.permission.clone(),
            patterns,
            always,
            metadata: Value::Object(metadata),
            tool: AskTool { message_id: actor.message.clone(), call_id: actor.call.clone(), name: actor.tool.clone() },
        }
    }

    /// The model's questions wait for the same turn as the gate's own: a person is asked one thing at a time.
    pub(super) async fn inquire(&self, inquiry: Inquiry, cancel: &CancellationToken) -> Option<Answers> {
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            turn = self.turn.lock() => turn,
        };
        self.sink.emit(Event::Inquired { inquiry: inquiry.clone() });
        let answers = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            answers = self.asker.question(&inquiry, cancel) => answers,
        };
        self.sink.emit(Event::Replied { inquiry, answers: answers.clone() });
        answers
    }
}

fn push_new(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|t| t == text) {
        list.push(text.to_owned());
    }
}

/// Which pattern belongs to which permission, where more than one is asked for.
fn with_needs(metadata: Value, open: &[Need]) -> Map<String, Value> {
    let is_mixed = open.iter().any(|n| n.permission != open[0].permission);
    let mut fields = match metadata {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    if is_mixed {
        let list = open.iter().map(|n| json!({"permission": n.permission, "pattern": n.pattern, "always": n.always}));
        fields.insert("needs".to_owned(), list.collect());
    }
    fields
}
