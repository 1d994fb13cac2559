//! Runs whose window is full.

use super::*;
use crate::testing::provider::{Reply, failure, is_aside, using};
use model::event::{Ending, Event};
use model::message::Message;
use model::provider::{FailureKind, Model, ModelRef, Request};

fn read(n: u32, used: u64) -> Reply {
    using(used, calls(&[("1", "read", &format!(r#"{{"path":"f{n}"}}"#))]))
}

fn overflow() -> Reply {
    Reply::Refuse(failure(FailureKind::ContextOverflow, false))
}

fn small(context: u32, replies: Vec<Reply>) -> Stage {
    let mut s = stage(replies);
    s.model = Model { context, output: 1000, ..Model::unknown("m") };
    s.prompt = "find the bug in parse.rs".into();
    s
}

/// Asides are requests for summaries.
fn asides(left: &Left) -> usize {
    left.provider.requests().iter().filter(|r| is_aside(r)).count()
}

fn sent(request: &Request) -> String {
    format!("{:?}", request.messages)
}

fn is_unfit(left: &Left) -> bool {
    matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::ContextOverflow && f.message.contains("could not be made to fit"))
}

/// Case C5: the window is looked at after every step, and the work goes on with the same task.
#[tokio::test(start_paused = true)]
async fn a_long_loop_is_summarised_between_two_steps() {
    let replies =
        vec![read(1, 8000), read(2, 14_000), read(3, 19_500), answers("what was done"), using(3000, answers("done"))];
    let left = small(20_000, replies).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "done"));
    assert_eq!((asides(&left), left.outcome.steps), (1, 4), "a summary is no step");
    let requests = left.provider.requests();
    let aside = sent(&requests[3]);
    assert!(aside.contains("[user] find the bug in parse.rs") && aside.contains("[tool call] read"), "{aside}");
    let after = sent(&requests[4]);
    assert!(after.contains("What did we do so far?") && after.contains("what was done"), "{after}");
    assert!(after.contains("<task>\\nfind the bug in parse.rs\\n</task>"), "the task is told again: {after}");
    assert_eq!(requests[4].system, requests[0].system, "the instructions are what they were");
    assert_eq!(requests[4].tools, requests[0].tools);
    let told = left.sink.events().into_iter().filter(|(_, e)| matches!(e, Event::Compacted { .. })).count();
    assert_eq!(told, 1);
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn the_rule_for_the_answer_is_told_again() {
    let mut s = small(20_000, vec![read(1, 19_500), answers("SUM"), using(100, answers("{}"))]);
    s.options.schema = Some(serde_json::json!({"type": "object", "title": "verdict"}));
    let left = s.run().await;
    assert_eq!(left.outcome.ending, Ending::Done);
    let requests = left.provider.requests();
    assert!(requests[1].response_schema.is_none(), "a summary is no answer");
    assert!(sent(&requests[2]).contains("verdict") && requests[2].response_schema.is_some());
}

/// Case C1a.
#[tokio::test(start_paused = true)]
async fn what_is_always_refused_ends_after_three_tries() {
    let left = small(10_000, (0..4).map(|_| overflow()).collect()).run().await;
    assert!(is_unfit(&left), "{:?}", left.outcome);
    assert_eq!(asides(&left), 3);
    left.assert_closed();
}

/// Case C1b.
#[tokio::test(start_paused = true)]
async fn summaries_that_leave_no_room_end_after_three() {
    let round = |n| [read(n, 9900), answers("ok")];
    let replies = (0..3).flat_map(round).chain([read(9, 9900)]).collect();
    let left = small(10_000, replies).run().await;
    assert!(is_unfit(&left), "{:?}", left.outcome);
    assert_eq!(asides(&left), 3);
}

/// Case C3: a window that nobody knows is never full, and a refusal is answered all the same.
#[tokio::test(start_paused = true)]
async fn an_unknown_window_is_left_to_the_provider() {
    let left = small(0, vec![using(30_000, answers("text"))]).run().await;
    assert_eq!((left.outcome.ending.clone(), asides(&left)), (Ending::Done, 0));
    let left = small(0, vec![overflow(), answers("summary"), answers("ok")]).run().await;
    assert_eq!((left.outcome.text.as_str(), asides(&left)), ("ok", 1));
    let is_told = |e: &Event| matches!(e, Event::Retry { error, .. } if error.kind == FailureKind::ContextOverflow);
    assert!(left.sink.events().iter().any(|(_, e)| is_told(e)), "why it takes longer is visible");
}

#[tokio::test(start_paused = true)]
async fn a_refused_prompt_stays_and_its_pictures_are_named() {
    let left = small(0, vec![answers("first answer")]).run().await;
    let mut again = Stage::resumed(&left, vec![overflow(), answers("SUM"), answers("ok")]);
    again.prompt = "and what is this?".into();
    again.files = vec![model::message::FilePart {
        mime: "image/png".into(),
        filename: Some("shot.png".into()),
        url: crate::transcript::data_url("image/png", &[1; 64]),
    }];
    again.model.images = true;
    let again = again.run().await;
    let requests = again.provider.requests();
    assert!(sent(&requests[0]).contains("File("));
    let last = sent(&requests[2]);
    assert!(last.contains("and what is this?") && last.contains("[Attached image/png: shot.png]"), "{last}");
    assert!(!last.contains("File(") && !last.contains("first answer"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_none_is_tried_again() {
    let call = calls(&[("1", "read", r#"{"path":"a"}"#)]);
    let long = answers(&(0..2500).map(|i| format!("{i} ")).collect::<String>());
    let left = small(20_000, vec![read(1, 19_500), call, long, answers("SUM"), answers("done")]).run().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "done"));
    assert_eq!(asides(&left), 3);
    assert_eq!(left.tools.seen().len(), 2, "the writer of a summary acts on nothing");
}

#[tokio::test(start_paused = true)]
async fn a_summary_whose_request_fails_on_its_way_ends_the_run() {
    let left = small(20_000, vec![read(1, 19_500), Reply::Refuse(failure(FailureKind::Auth, false))]).run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::Auth));
    left.assert_closed();
}

#[tokio::test(start_paused = true)]
async fn the_host_does_not_summarise_where_it_may_not() {
    let mut s = small(20_000, vec![read(1, 19_500), answers("done")]);
    s.options.compaction.auto = false;
    let left = s.run().await;
    assert_eq!((left.outcome.ending.clone(), asides(&left)), (Ending::Done, 0));
    let mut s = small(20_000, vec![overflow()]);
    s.options.compaction.auto = false;
    let left = s.run().await;
    assert!(matches!(&left.outcome.ending, Ending::Failed(f) if f.kind == FailureKind::ContextOverflow));
}

#[tokio::test(start_paused = true)]
async fn the_small_model_writes_the_summary_and_the_large_one_where_it_cannot() {
    let check = async |small_model: &str, replies: Vec<Reply>, asked: &[&str]| {
        let mut s = small(20_000, replies);
        s.options.small = ModelRef::parse(small_model);
        let left = s.run().await;
        assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "done"));
        let models: Vec<String> = left.provider.requests().iter().map(|r| r.model.clone()).collect();
        assert_eq!(models, asked);
    };
    let end = || using(100, answers("done"));
    check("test/small", vec![read(1, 19_500), answers("SUM"), end()], &["m", "small", "m"]).await;
    let refused = Reply::Refuse(failure(FailureKind::Auth, false));
    check("test/small", vec![read(1, 19_500), refused, answers("SUM"), end()], &["m", "small", "m", "m"]).await;
    check("gone/small", vec![read(1, 19_500), answers("SUM"), end()], &["m", "m", "m"]).await;
}

/// A summary that a kill cut off is written by the next run; one that landed is used.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_off_in_a_summary_is_taken_up() {
    let s = small(20_000, vec![read(1, 19_500), Reply::Hang(vec![(0, said("half a sum"))])]);
    let cancel = s.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        cancel.cancel();
    });
    let left = s.run().await;
    assert_eq!(left.outcome.ending, Ending::Interrupted);
    assert_eq!(left.outcome.text, "", "half a summary is no answer");
    let mut again = Stage::resumed(&left, vec![answers("SUM"), answers("done")]);
    again.model = Model { context: 20_000, output: 1000, ..Model::unknown("m") };
    again.prompt = String::new();
    let again = again.run().await;
    assert_eq!((again.outcome.ending.clone(), again.outcome.text.as_str()), (Ending::Done, "done"));
    assert_eq!(asides(&again), 1);
}

/// What the ledger holds after each transaction: a kill can fall after any of them.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_killed_around_a_summary_comes_to_the_same_end() {
    let whole = small(20_000, vec![read(1, 19_500), answers("SUM"), answers("done")]).run().await;
    let log = whole.store.log();
    for kept in 1..log.len() {
        let mut transcript = crate::transcript::Transcript::new(vec![]);
        let mut session = None;
        for change in log[..kept].iter().flat_map(|(_, c)| c.clone()) {
            transcript.apply(&change);
            if let model::store::Change::Session(s) = change {
                session = Some(s);
            }
        }
        let history = transcript.messages().to_vec();
        let is = |test: fn(&model::message::AssistantMessage) -> bool| {
            history.iter().any(|m| matches!(&m.info, Message::Assistant(i) if test(i)))
        };
        let replies = match (is(|i| i.summary && i.finish.is_some()), is(|i| !i.summary && i.time.completed.is_some()))
        {
            (true, _) => vec![answers("done")],
            (false, true) => vec![answers("SUM"), answers("done")],
            // The call was cut off: it is not made again behind the model's back.
            (false, false) if is(|i| i.finish.is_some()) => vec![answers("done")],
            (false, false) => vec![read(1, 19_500), answers("SUM"), answers("done")],
        };
        let mut s = small(20_000, replies);
        s.store = std::sync::Arc::new(crate::testing::store::Memory::with(session.clone().unwrap(), history));
        (s.session, s.is_new, s.prompt) = (session.unwrap(), false, String::new());
        let left = s.run().await;
        assert_eq!((left.outcome.ending.clone(), left.outcome.text.as_str()), (Ending::Done, "done"), "after {kept}");
        left.assert_closed();
    }
}

#[tokio::test(start_paused = true)]
async fn old_results_are_taken_out_after_a_run_where_that_is_wanted() {
    let big = |n: u32| calls(&[("1", "read", &format!(r#"{{"path":"f{n}","size":50000}}"#))]);
    let check = async |prune: bool| {
        let mut s = stage((0..8).map(big).chain([answers("one")]).collect());
        s.options.compaction.prune = prune;
        let mut left = s.run().await;
        for _ in 0..2 {
            let mut s = Stage::resumed(&left, vec![answers("more")]);
            s.options.compaction.prune = prune;
            left = s.run().await;
        }
        let is_cleared = |t: &&model::message::ToolPart| matches!(t.state, model::tool_state::ToolState::Completed { time, .. } if time.compacted.is_some());
        left.tool_parts().into_iter().filter(is_cleared).count()
    };
    assert_eq!(check(false).await, 0);
    // 12 500 tokens each: the newest three and a part of the fourth are within the 40 000 that stay.
    assert_eq!(check(true).await, 5);
}

/// A step costs what it adds: counted in messages that are written out for the model.
#[tokio::test(start_paused = true)]
async fn a_session_of_many_steps_is_sent_with_what_was_written_before() {
    let left = stage((0..60).map(|n| read(n, 10)).chain([answers("done")]).collect()).run().await;
    let requests = left.provider.requests();
    for (before, after) in requests.iter().zip(&requests[1..]) {
        let shared = before.messages.iter().zip(&after.messages).filter(|(a, b)| std::sync::Arc::ptr_eq(a, b)).count();
        assert_eq!(shared, before.messages.len(), "not one message was written twice");
    }
    assert!(left.history.iter().all(|m| !matches!(&m.info, Message::Assistant(i) if i.summary)));
}

/// Asked for by a person: one request, no step, and the next prompt finds the summary.
#[tokio::test(start_paused = true)]
async fn a_person_may_ask_for_a_summary() {
    let left = small(0, vec![read(1, 100), answers("the bug is in line 3")]).run().await;
    let left = Stage::resumed(&left, vec![answers("SUM of it")]).summarise().await;
    assert_eq!((left.outcome.ending.clone(), left.outcome.steps), (Ending::Done, 0));
    assert!(left.sink.events().iter().any(|(_, e)| matches!(e, Event::Compacted { .. })));
    let mut next = Stage::resumed(&left, vec![answers("done")]);
    next.prompt = "and now?".into();
    let left = next.run().await;
    let requests = left.provider.requests();
    assert_eq!(requests.len(), 1);
    let after = sent(&requests[0]);
    assert!(
        after.contains("SUM of it") && after.contains("and now?") && !after.contains("Go on with the work"),
        "{after}"
    );
    left.assert_closed();
}

/// Nothing is lost of work that was cut off: the run that comes next goes on with it.
#[tokio::test(start_paused = true)]
async fn a_summary_of_open_work_leaves_it_open() {
    let cut = small(0, vec![read(1, 100), Reply::Refuse(failure(FailureKind::Auth, false))]).run().await;
    let left = Stage::resumed(&cut, vec![answers("SUM")]).summarise().await;
    assert_eq!(left.outcome.ending, Ending::Done);
    let mut next = Stage::resumed(&left, vec![answers("done")]);
    next.prompt = String::new();
    let left = next.run().await;
    let after = sent(&left.provider.requests()[0]);
    assert!(after.contains("SUM") && after.contains("find the bug in parse.rs"), "{after}");
    assert_eq!(left.outcome.text, "done");
}

/// A summary of nothing, or one that fails, changes nothing.
#[tokio::test(start_paused = true)]
async fn an_empty_summary_is_none() {
    let left = small(0, vec![answers("one")]).run().await;
    let left = Stage::resumed(&left, vec![answers(""), answers(" "), answers("")]).summarise().await;
    assert!(matches!(left.outcome.ending, Ending::Failed(_)), "{:?}", left.outcome.ending);
    let mut next = Stage::resumed(&left, vec![answers("done")]);
    next.prompt = "more".into();
    let after = sent(&next.run().await.provider.requests()[0]);
    assert!(after.contains("one") && after.contains("more"), "{after}");
}
