//! The law, held against histories that nobody would write.

use crate::testing::history::{
    asked, assistant, completed, continued, dropped, failed, interrupted, part, providers, reasoning, running, summary,
    text, user,
};
use crate::testing::model_ref;
use crate::transcript::{Conversation, View};
use model::id::CallId;
use model::message::{FinishReason, Message, MessageError, Part, PartBody, WithParts};
use model::provider::{ChatMessage, ChatPart, Role};
use model::tool_state::{Metadata, ToolState};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// The law, told apart from the code that keeps it.
fn law(messages: &[Arc<ChatMessage>]) -> Result<(), String> {
    let (mut open, mut used): (Vec<CallId>, HashSet<CallId>) = (vec![], HashSet::new());
    let first = messages.first().ok_or("no messages")?;
    if first.role != Role::User || messages.last().is_some_and(|m| m.role == Role::Assistant) {
        return Err("a person speaks neither first nor last".into());
    }
    for message in messages {
        if message.parts.is_empty() || message.parts.iter().all(|p| matches!(p, ChatPart::Reasoning { .. })) {
            return Err(format!("an empty message of {:?}", message.role));
        }
        if message.role != Role::Tool && !open.is_empty() {
            return Err(format!("no result for {open:?}"));
        }
        for part in &message.parts {
            match part {
                ChatPart::Text(t) if t.trim().is_empty() => return Err("a blank text".into()),
                ChatPart::ToolCall(c) => {
                    if c.id.as_str().trim().is_empty() || !used.insert(c.id.clone()) {
                        return Err(format!("the id {:?} is no id of its own", c.id));
                    }
                    if c.name.is_empty()
                        || c.name.len() > 64
                        || !serde_json::from_str::<serde_json::Value>(&c.input).is_ok_and(|v| v.is_object())
                    {
                        return Err(format!("a bad call: {c:?}"));
                    }
                    open.push(c.id.clone());
                }
                ChatPart::ToolResult(r) => {
                    let at = open.iter().position(|id| *id == r.call_id).ok_or("a result without its call")?;
                    open.remove(at);
                }
                _ => {}
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no result for {open:?}")) }
}

fn with_call(mut made: Part, id: &str, tool: &str) -> Part {
    if let PartBody::Tool(t) = &mut made.body {
        t.call_id = CallId::given(id);
        t.tool = tool.into();
    }
    made
}

fn pending() -> Part {
    let mut made = running("x");
    if let PartBody::Tool(t) = &mut made.body {
        t.state = ToolState::Pending { input: serde_json::json!("no object"), raw: "{".into() };
    }
    made
}

fn any_part() -> impl Strategy<Value = Part> {
    let words = prop_oneof![Just(""), Just("  \n"), Just("hello")];
    let ids = prop_oneof![Just(""), Just("c1"), Just("c2"), Just("c1_2")];
    let names = prop_oneof![
        Just(""),
        Just("read"),
        Just("a b/ü"),
        Just("x_very_long_name_that_no_server_takes_since_it_is_longer_than_sixty_four")
    ];
    let calls = prop_oneof![
        Just(completed("x", "")),
        Just(completed("x", "out")),
        Just(failed("x", "")),
        Just(interrupted("x")),
        Just(running("x")),
        Just(providers("x")),
        Just(pending()),
    ];
    let plain = prop_oneof![
        words.clone().prop_map(|w| text(w, false)),
        words.prop_map(|w| reasoning(w, None)),
        Just(reasoning("", Some("sealed"))),
        Just(part(PartBody::StepStart { metadata: Metadata::new() })),
    ];
    let made = prop_oneof![plain, (calls, ids, names).prop_map(|(c, id, name)| with_call(c, id, name))];
    (made, any::<bool>()).prop_map(|(p, gone)| if gone { dropped(p) } else { p })
}

fn any_message() -> impl Strategy<Value = Vec<WithParts>> {
    let parts = || prop::collection::vec(any_part(), 0..4);
    let errors = prop_oneof![
        3 => Just(None),
        1 => Just(Some(MessageError::Aborted { message: "stop".into() })),
        1 => Just(Some(MessageError::Unknown { message: "no".into() })),
    ];
    let answers = (parts(), errors, any::<bool>(), any::<bool>()).prop_map(|(parts, error, ended, other)| {
        let mut m = assistant(|m| {
            m.finish = ended.then_some(FinishReason::Stop);
            m.error = error;
            if other {
                m.model_id = "other".into();
            }
        });
        m.parts = parts;
        vec![m]
    });
    let prompts = parts().prop_map(|parts| {
        let mut m = user("");
        m.parts = parts;
        vec![m]
    });
    let summaries = (any::<bool>(), any::<bool>()).prop_map(|(overflow, told)| {
        let ask = asked(true, overflow, None);
        let mut all = vec![ask.clone(), summary(&ask, "SUM")];
        all.extend(told.then(|| continued("go on")));
        all
    });
    prop_oneof![4 => answers, 3 => prompts, 1 => summaries]
}

fn written(history: &[WithParts]) -> Vec<Arc<ChatMessage>> {
    let model = model_ref();
    let mut conversation = Conversation::new(View { model: &model, images: false, strip_media: false });
    conversation.extend(history);
    conversation.messages()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_gives_a_request_that_servers_take(history in prop::collection::vec(any_message(), 0..9)) {
        let history: Vec<WithParts> = history.into_iter().flatten().collect();
        prop_assert_eq!(law(&written(&history)), Ok(()));
    }

    /// Taken in piece by piece it is the same as all at once: what was sent is sent again.
    #[test]
    fn the_conversation_grows_as_if_it_were_written_at_once(history in prop::collection::vec(any_message(), 1..9)) {
        let model = model_ref();
        let mut grown = Conversation::new(View { model: &model, images: false, strip_media: false });
        let mut so_far: Vec<WithParts> = vec![];
        // A summary and the host's word after it come together.
        for piece in history {
            so_far.extend(piece);
            grown.extend(&so_far);
        }
        prop_assert_eq!(grown.messages(), written(&so_far));
    }
}

#[test]
fn a_call_keeps_its_id_until_somebody_has_it() {
    let answer = |id: &str| {
        let mut m = assistant(|_| ());
        m.parts = vec![with_call(completed("x", "1"), id, "read"), with_call(completed("x", "2"), id, "read")];
        m
    };
    let ids: Vec<String> = written(&[user("go"), answer("c"), answer("c")])
        .iter()
        .flat_map(|m| m.parts.clone())
        .filter_map(|p| match p {
            ChatPart::ToolCall(c) => Some(format!("+{}", c.id)),
            ChatPart::ToolResult(r) => Some(format!("-{}={}", r.call_id, r.text)),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["+c", "+c_2", "-c=1", "-c_2=2", "+c_3", "+c_4", "-c_3=1", "-c_4=2"]);
}

/// What a step costs is what it adds.
#[test]
fn each_message_is_written_once() {
    let model = model_ref();
    let mut conversation = Conversation::new(View { model: &model, images: false, strip_media: false });
    let mut history = vec![user("go")];
    for step in 1..200 {
        let before = conversation.written;
        let mut m = assistant(|_| ());
        m.parts = vec![completed("read", "x")];
        history.push(m);
        conversation.extend(&history);
        assert!(conversation.written - before <= 2, "step {step}");
    }
    assert_eq!(conversation.written, history.len());
    let Message::Assistant(_) = &history[1].info else { panic!() };
}
