//! Instructions near a file that is read; prompts that ask nobody.

use super::*;
use crate::nearby::Nearby;
use crate::prefix::Instruction;
use model::event::Ending;
use model::message::Message;
use model::provider::ChatPart;
use std::path::Path;
use std::sync::Arc;

/// Below `sub` lie two files of instructions, of which one holds for all of the session.
#[derive(Debug)]
struct Sub;

impl Nearby for Sub {
    fn of(&self, file: &Path) -> Vec<Instruction> {
        let block = |source: &str| Instruction { source: source.into(), text: format!("text of {source}") };
        if file.starts_with("/w/sub") { vec![block("/w/AGENTS.md"), block("/w/sub/AGENTS.md")] } else { vec![] }
    }
}

fn reads(path: &str) -> crate::testing::provider::Reply {
    calls(&[(path, "read", &format!(r#"{{"path":"{path}"}}"#))])
}

fn near(mut stage: Stage) -> Stage {
    stage.options.nearby = Some(Arc::new(Sub));
    stage.options.instructions = vec![Instruction { source: "/w/AGENTS.md".into(), text: "known".into() }];
    stage
}

#[tokio::test(start_paused = true)]
async fn what_lies_near_is_told_once_a_session() {
    let first = near(stage(vec![reads("a"), reads("sub/b"), reads("sub/c"), answers("ok")])).run().await;
    let told = "hooked read\n\n<system-reminder>\ntext of /w/sub/AGENTS.md\n</system-reminder>";
    assert_eq!(first.results(), ["hooked read", told, "hooked read"]);
    let again = near(Stage::resumed(&first, vec![reads("sub/d"), answers("ok")])).run().await;
    assert_eq!(again.results().last().map(String::as_str), Some("hooked read"));
}

#[tokio::test(start_paused = true)]
async fn other_tools_bring_nothing_along() {
    let write = calls(&[("1", "write", r#"{"path":"sub/b"}"#)]);
    let left = near(stage(vec![write, answers("ok")])).run().await;
    assert_eq!(left.results(), ["hooked write"]);
}

#[tokio::test(start_paused = true)]
async fn a_note_asks_nobody_and_is_read_with_the_next_prompt() {
    let noted = stage(vec![]).note().await;
    assert_eq!((noted.outcome.ending, noted.outcome.steps, noted.history.len()), (Ending::Done, 0, 1));
    assert!(matches!(noted.history[0].info, Message::User(_)));
    let mut next = stage(vec![answers("ok")]);
    next.store = noted.store.clone();
    next.session = noted.session.clone();
    next.is_new = false;
    next.prompt = "and now".into();
    let left = next.run().await;
    let said: Vec<_> = left.provider.requests()[0].messages.iter().flat_map(|m| m.parts.clone()).collect();
    assert_eq!(said, ["go", "and now"].map(|t| ChatPart::Text(t.into())));
}
