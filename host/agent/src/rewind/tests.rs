use super::*;
use crate::testing::history::{assistant, user};
use model::id::{CallId, PartId};
use model::message::ToolPart;
use model::tool_state::{CallSpan, Metadata};

/// An answer that marks a place.
fn marks(name: &str) -> WithParts {
    let mut made = assistant(|_| ());
    let state = ToolState::Completed {
        input: json!({ "name": name }),
        output: String::new(),
        title: String::new(),
        metadata: Metadata::new(),
        time: CallSpan { start: 1, end: Some(2), compacted: None },
        attachments: vec![],
    };
    let body = PartBody::Tool(ToolPart {
        call_id: CallId::given("c"),
        tool: CHECKPOINT.into(),
        state,
        metadata: Metadata::new(),
    });
    let (message_id, session_id) = (made.info.id().clone(), made.info.session().clone());
    made.parts = vec![Part { id: PartId::new(), session_id, message_id, body }];
    made
}

#[test]
fn what_goes_begins_behind_the_place_that_is_meant() {
    let plain = || assistant(|_| ());
    let check = |history: &[WithParts], to: Option<&str>, expected: Result<usize, &str>| {
        let got = first_to_go(history, to);
        match expected {
            Ok(at) => assert_eq!(got.as_ref(), Ok(history[at].info.id()), "{to:?}"),
            Err(word) => assert!(got.as_ref().is_err_and(|e| e.contains(word)), "{to:?}: {got:?}"),
        }
    };
    let long = [user("old"), marks("a"), user("task"), plain(), marks("a"), plain(), marks("a"), plain(), plain()];
    check(&long, None, Ok(3));
    // The newest of its name.
    check(&long, Some("a"), Ok(7));
    check(&long, Some("b"), Err("no checkpoint \"b\""));
    check(&long[..3], Some("a"), Err("no checkpoint"));
    check(&long[..3], None, Err("nothing has come since"));
    check(&long[..7], Some("a"), Err("nothing has come since"));
    check(&[], None, Err("nobody has given a task"));
}

#[test]
fn a_run_goes_back_only_so_often() {
    let wish = Wish::default();
    let one = Return { checkpoint: None, message: "x".into(), files: false };
    assert_eq!((0..99).filter(|_| wish.make(one.clone())).count(), MOST as usize);
    assert_eq!((wish.take(), wish.take()), (Some(one), None));
}
