use super::*;
use crate::testing::history::{assistant, completed, dropped, failed, part, reasoning, running, text, user};
use model::message::{FilePart, MessageError};

fn of(messages: &[WithParts]) -> String {
    write(messages.iter(), HeadLimit::new(None, 0))
}

fn says(parts: Vec<Part>) -> WithParts {
    let mut m = assistant(|_| ());
    m.parts = parts;
    m
}

#[test]
fn every_kind_of_entry_is_tagged() {
    let mut prompt = user("do it");
    let file = |mime: &str| FilePart { mime: mime.into(), filename: Some("f".into()), url: "data:,x".into() };
    prompt.parts.push(part(PartBody::File(file("image/png"))));
    prompt.parts.push(part(PartBody::File(file("text/plain"))));
    let answer = says(vec![
        reasoning("hm", None),
        text("well", false),
        completed("read", "content"),
        failed("edit", "no such file"),
        running("bash"),
        dropped(text("given up", false)),
        text(" ", false),
    ]);
    let mut failed_answer = assistant(|m| m.error = Some(MessageError::Unknown { message: "no".into() }));
    failed_answer.parts = vec![text("never sent", false)];
    let expected = [
        "[user] do it",
        "[user] [Attached image/png: f]",
        "[assistant reasoning] hm",
        "[assistant] well",
        "[tool call] read({\"a\":1})\n[tool result] content",
        "[tool call] edit({\"a\":1})\n[tool error] no such file",
        "[tool call] bash({\"a\":1})\n[tool error] it did not end",
    ];
    assert_eq!(of(&[prompt, answer, failed_answer]), expected.join("\n"));
}

#[test]
fn long_results_are_cut_and_cleared_ones_named() {
    let long = of(&[says(vec![completed("read", &"é".repeat(2500))])]);
    assert!(long.contains(&"é".repeat(2000)) && !long.contains(&"é".repeat(2001)));
    assert!(long.ends_with("… [1000 more bytes are cut off]"), "{}", &long[long.len() - 60..]);
    let mut cleared = completed("read", "secret of old");
    if let PartBody::Tool(t) = &mut cleared.body {
        t.state.clear_output(1);
    }
    assert!(of(&[says(vec![cleared])]).ends_with(CLEARED));
}

#[test]
fn what_is_too_much_is_left_out_at_the_beginning() {
    let talk: Vec<WithParts> = (0..100).map(|i| user(&format!("message {i:03} {}", "x".repeat(100)))).collect();
    let whole = write(talk.iter(), HeadLimit::new(Some(100_000), 0));
    assert!(whole.contains("message 000") && !whole.contains("left out"));
    // 1000 tokens, three quarters of that: 3000 bytes, at about 120 an entry.
    let part = write(talk.iter(), HeadLimit::new(Some(1000), 0));
    assert!(part.len() <= 3050 && part.starts_with("[75 earlier entries are left out]"), "{:.40}", part);
    assert!(part.contains("message 099"));
    let half = write(talk.iter(), HeadLimit::new(Some(1000), 1));
    assert!(half.len() <= 1550 && half.contains("message 099"));
}
