use super::*;
use crate::testing::history::{
    assistant, completed, dropped, failed, interrupted, part, providers, reasoning, running, text, user,
};
use crate::testing::model_ref;
use crate::transcript::Conversation;
use model::message::{FinishReason, TextPart, WithParts};
use serde_json::json;

/// A conversation in short: one line a message.
fn brief(history: &[WithParts], images: bool) -> Vec<String> {
    let model = model_ref();
    let of = |p: &ChatPart| match p {
        ChatPart::Text(t) => format!("'{t}'"),
        ChatPart::Reasoning { text, opaque } => format!("think({text},{})", opaque.as_deref().unwrap_or("")),
        ChatPart::File(f) => format!("file({},{})", f.mime, f.data.len()),
        ChatPart::ToolCall(c) => format!("call({} {})", c.name, c.input),
        ChatPart::ToolResult(r) => format!("{}({})", if r.is_error { "error" } else { "result" }, r.text),
    };
    let mut conversation = Conversation::new(View { model: &model, images, strip_media: false });
    conversation.extend(history);
    conversation
        .messages()
        .iter()
        .map(|m| format!("{:?}: {}", m.role, m.parts.iter().map(of).collect::<Vec<_>>().join(" ")))
        .collect()
}

fn check(change: impl FnOnce(&mut AssistantMessage), parts: Vec<Part>, expected: &[&str]) {
    let mut message = assistant(change);
    message.parts = parts;
    let mut all = vec!["User: 'go'"];
    all.extend(expected);
    all.push("User: 'next'");
    assert_eq!(brief(&[user("go"), message, user("next")], false), all);
}

fn aborted(m: &mut AssistantMessage) {
    m.finish = None;
    m.error = Some(MessageError::Aborted { message: "stopped".into() });
}

fn other_model(m: &mut AssistantMessage) {
    m.model_id = "other".into();
}

#[test]
fn every_call_has_its_result() {
    let lost = format!("Tool: error({LOST})");
    check(
        |_| (),
        vec![text("a", false), completed("read", "x")],
        &["Assistant: 'a' call(read {\"a\":1})", "Tool: result(x)"],
    );
    check(|_| (), vec![failed("read", "no")], &["Assistant: call(read {\"a\":1})", "Tool: error(no)"]);
    check(|_| (), vec![running("read")], &["Assistant: call(read {\"a\":1})", &lost]);
    check(|_| (), vec![interrupted("read")], &["Assistant: call(read {\"a\":1})", "Tool: error(stopped)"]);
    let two = vec![completed("read", "x"), completed("grep", "y")];
    check(|_| (), two, &["Assistant: call(read {\"a\":1}) call(grep {\"a\":1})", "Tool: result(x) result(y)"]);
}

#[test]
fn what_an_interrupted_call_had_printed_is_its_result() {
    let mut p = interrupted("bash");
    let PartBody::Tool(ToolPart { state: ToolState::Error { metadata, .. }, .. }) = &mut p.body else { panic!() };
    metadata.insert("output".into(), json!("so far"));
    check(|_| (), vec![p], &["Assistant: call(bash {\"a\":1})", "Tool: result(so far)"]);
}

#[test]
fn a_providers_own_call_is_answered_in_place() {
    check(
        |_| (),
        vec![providers("search"), text("a", false)],
        &["Assistant: call(search {\"a\":1}) result(found) 'a'"],
    );
}

#[test]
fn given_up_and_failed_is_left_out() {
    check(
        |_| (),
        vec![dropped(text("half", false)), dropped(completed("read", "x")), text("a", false)],
        &["Assistant: 'a'"],
    );
    check(|_| (), vec![dropped(text("half", false))], &[]);
    check(|m| m.error = Some(MessageError::Unknown { message: "no".into() }), vec![text("a", false)], &[]);
    check(aborted, vec![], &[]);
    check(aborted, vec![reasoning("hm", Some("sig"))], &[]);
    check(aborted, vec![reasoning("hm", None), text("half", false)], &["Assistant: 'half'"]);
    check(
        aborted,
        vec![reasoning("hm", Some("s")), running("read")],
        &["Assistant: think(hm,s) call(read {\"a\":1})", &format!("Tool: error({LOST})")],
    );
}

#[test]
fn nothing_is_empty() {
    check(|_| (), vec![], &[]);
    check(|_| (), vec![text("", false)], &[]);
    check(|m| m.finish = Some(FinishReason::Length), vec![reasoning("only thought", None)], &[]);
    let step = part(PartBody::StepStart { metadata: Metadata::new() });
    check(|_| (), vec![step], &[]);
}

#[test]
fn thoughts_go_back_to_their_own_model_only() {
    let parts = || vec![reasoning("hm", Some("sig")), text("a", false)];
    check(|_| (), parts(), &["Assistant: think(hm,sig) 'a'"]);
    check(other_model, parts(), &["Assistant: 'hm' 'a'"]);
    check(other_model, vec![reasoning(" ", Some("sig")), text("a", false)], &["Assistant: 'a'"]);
    check(|_| (), vec![reasoning("", Some("sealed")), text("a", false)], &["Assistant: think(,sealed) 'a'"]);
}

#[test]
fn a_result_that_was_taken_out_is_named_so() {
    let mut p = completed("read", "long ago");
    let PartBody::Tool(t) = &mut p.body else { panic!() };
    assert!(t.state.clear_output(9));
    check(|_| (), vec![p], &["Assistant: call(read {\"a\":1})", &format!("Tool: result({CLEARED})")]);
}

#[test]
fn pictures_of_a_result_are_named_where_they_cannot_be_sent() {
    let mut p = completed("read", "a picture");
    let PartBody::Tool(ToolPart { state: ToolState::Completed { attachments, .. }, .. }) = &mut p.body else {
        panic!()
    };
    attachments.push(Attachment {
        mime: "image/png".into(),
        filename: Some("a.png".into()),
        url: data_url("image/png", b"x"),
    });
    let mut message = assistant(|_| ());
    message.parts = vec![p];
    let model = model_ref();
    let text = |images, strip_media| {
        let mut conversation = Conversation::new(View { model: &model, images, strip_media });
        conversation.extend(&[user("go"), message.clone()]);
        format!("{:?}", conversation.messages()[2].parts)
    };
    assert!(text(false, false).contains("[Attached image/png: a.png]"));
    assert!(!text(true, false).contains("[Attached"));
}

#[test]
fn files_are_sent_as_the_model_can_take_them() {
    let file = |mime: &str, data: &[u8]| {
        let url = data_url(mime, data);
        part(PartBody::File(FilePart { mime: mime.into(), filename: Some("f".into()), url }))
    };
    let sent = |p: Part, images| {
        let mut m = user("x");
        m.parts = vec![p];
        brief(&[m], images)
    };
    assert_eq!(sent(file("image/png", b"abc"), true), ["User: file(image/png,3)"]);
    assert!(sent(file("image/png", b"abc"), false)[0].contains("cannot see images"));
    assert!(sent(file("image/png", b""), true)[0].contains("empty or damaged"));
    assert_eq!(sent(file("application/pdf", b"abc"), false), ["User: file(application/pdf,3)"]);
    // Nothing is left: somebody's words have to be there all the same.
    assert_eq!(sent(file("text/plain", b"abc"), true), ["User: 'Go on.'"]);
    assert_eq!(sent(part(PartBody::Text(TextPart::default())), true), ["User: 'Go on.'"]);
}
