use super::*;
use crate::testing::history::{asked, assistant, completed, continued, summary, text, user};
use crate::testing::model_ref;
use crate::transcript::{Conversation, View};
use model::message::MessageError;
use model::provider::{ChatPart, Role};

/// What the model is sent, one word a message: `text`, `(calls)`.
fn shown(history: &[WithParts]) -> Vec<String> {
    let model = model_ref();
    let mut conversation = Conversation::new(View { model: &model, images: true, strip_media: false });
    conversation.extend(history);
    let word = |p: &ChatPart| match p {
        ChatPart::Text(t) => t.clone(),
        ChatPart::ToolCall(c) => format!("({})", c.name),
        other => format!("{other:?}"),
    };
    let said = conversation.messages().into_iter().filter(|m| m.role != Role::Tool);
    said.flat_map(|m| m.parts.iter().map(word).collect::<Vec<_>>()).collect()
}

fn says(said: &str) -> WithParts {
    let mut m = assistant(|_| ());
    m.parts = vec![text(said, false)];
    m
}

fn reads(name: &str) -> WithParts {
    let mut m = assistant(|_| ());
    m.parts = vec![completed(name, "x")];
    m
}

const Q: &str = "What did we do so far?";

#[test]
fn a_summary_stands_for_all_that_lies_before_it() {
    let ask = asked(true, false, None);
    let h = vec![user("a"), says("b"), ask.clone(), summary(&ask, "SUM"), continued("go on"), reads("late"), user("c")];
    assert_eq!(shown(&h), [Q, "SUM", "go on", "(late)", "c"]);
    assert_eq!(shown(&h[..4]), [Q, "SUM", "Go on."], "the host's word was not written: somebody speaks all the same");
}

#[test]
fn the_tail_lies_between_the_summary_and_what_came_after() {
    let kept = reads("kept");
    let ask = asked(true, false, Some(&kept));
    let h = vec![
        user("a"),
        reads("old"),
        kept,
        user("b"),
        ask.clone(),
        summary(&ask, "SUM"),
        continued("go on"),
        says("c"),
    ];
    assert_eq!(shown(&h), [Q, "SUM", "go on", "(kept)", "b", "c", "Go on."]);
}

#[test]
fn a_summary_that_failed_or_was_not_written_counts_for_nothing() {
    let ask = asked(true, false, None);
    let spoilt = |change: fn(&mut model::message::AssistantMessage)| {
        let mut m = summary(&ask, "SUM");
        if let Message::Assistant(info) = &mut m.info {
            change(info);
        }
        m
    };
    let failed = spoilt(|m| m.error = Some(MessageError::Unknown { message: "no".into() }));
    let unfinished = spoilt(|m| {
        m.finish = None;
        m.error = Some(MessageError::Aborted { message: "killed".into() });
        m.summary = true;
    });
    let whole = ["a", "b", "c"];
    assert_eq!(shown(&[user("a"), says("b"), ask.clone(), failed, user("c")]), whole);
    assert_eq!(shown(&[user("a"), says("b"), ask.clone(), unfinished, user("c")]), whole);
    assert_eq!(shown(&[user("a"), says("b"), ask.clone(), user("c")]), whole);
}

#[test]
fn the_newest_summary_counts_and_a_tail_may_reach_behind_an_older_one() {
    let (kept, ask) = (reads("kept"), asked(true, false, None));
    let again = asked(true, false, Some(&kept));
    let old = asked(true, false, Some(&kept));
    let h = vec![
        user("a"),
        kept.clone(),
        old.clone(),
        summary(&old, "ONE"),
        continued("first"),
        reads("then"),
        again.clone(),
        summary(&again, "TWO"),
        continued("second"),
        user("z"),
    ];
    assert_eq!(shown(&h), [Q, "TWO", "second", "(kept)", "(then)", "z"]);
    let (found, seen) = body(&h, 6);
    assert_eq!((found, seen), (Some(3), vec![1, 5]));
    let _ = ask;
}

#[test]
fn pictures_that_did_not_fit_are_named_in_the_tail() {
    let mut seen = user("look");
    let url = crate::transcript::data_url("image/png", b"png");
    let file = model::message::FilePart { mime: "image/png".into(), filename: Some("p.png".into()), url };
    seen.parts.push(crate::testing::history::part(PartBody::File(file)));
    let of = |overflow| {
        let ask = asked(true, overflow, Some(&seen));
        shown(&[user("a"), says("b"), seen.clone(), ask.clone(), summary(&ask, "SUM")]).join(" ")
    };
    assert!(of(true).ends_with("look [Attached image/png: p.png]"), "{}", of(true));
    assert!(of(false).contains("File("));
}
