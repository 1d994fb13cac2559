use super::*;
use crate::testing::history::{asked, assistant, completed, continued, summary, text, user};
use crate::testing::model_ref;
use model::hook::Compacting;
use model::provider::Model;

/// A turn in short: `u10` a prompt of ten tokens, `a10` an answer of ten.
fn history(script: &str) -> Vec<WithParts> {
    script.split_whitespace().map(message).collect()
}

fn message(word: &str) -> WithParts {
    let (kind, tokens) = word.split_at(1);
    let said = "x".repeat(4 * tokens.parse::<usize>().unwrap());
    match kind {
        "u" => user(&said),
        _ => {
            let mut m = assistant(|_| ());
            m.parts = vec![text(&said, false)];
            m
        }
    }
}

fn window(context: u32) -> Window {
    let model = Model { context, output: 1, ..Model::unknown("m") };
    Window::new(&model, None, &CompactionOptions { reserved: Some(0), ..CompactionOptions::default() })
}

fn plan_of(history: &[WithParts], recent: u64, turns: u32, tries: u32) -> Plan {
    let model = model_ref();
    let options =
        CompactionOptions { preserve_recent_tokens: Some(recent), tail_turns: turns, ..CompactionOptions::default() };
    let mut all = history.to_vec();
    all.push(asked(true, false, None));
    let demand = Demand {
        history: &all,
        asked: all.len() - 1,
        options: &options,
        window: window(1000),
        tries,
        limit: HeadLimit::new(None, 0),
        view: View { model: &model, images: true, strip_media: false },
    };
    Plan::new(&demand)
}

/// The index of the first message that is kept.
fn check(script: &str, recent: u64, turns: u32, tries: u32, expected: Option<usize>) {
    let history = history(script);
    let plan = plan_of(&history, recent, turns, tries);
    let at = plan.tail_start.map(|id| history.iter().position(|m| *m.info.id() == id).unwrap());
    assert_eq!(at, expected, "{script:?} with {recent} tokens, {turns} turns, try {tries}");
}

#[test]
fn the_tail_is_whole_turns_while_they_fit() {
    check("u10 a10 u10 a10 u10 a10", 100, 2, 0, Some(2));
    check("u10 a10 u10 a10 u10 a10", 100, 1, 0, Some(4));
    check("u10 a10 u10 a10 u10 a10", 20, 2, 0, Some(4));
    check("u10 a10 u10 a10", 100, 0, 0, None);
}

#[test]
fn the_first_turn_that_does_not_fit_is_split() {
    check("u10 a10 u10 a10 a10 a10", 25, 2, 0, Some(4));
    check("u10 a10 a10 u10 a10", 30, 2, 0, Some(2));
    check("u10 a10 a90", 25, 2, 0, None);
}

#[test]
fn all_of_it_is_no_tail() {
    check("u10 a10", 100, 2, 0, None);
    check("u10", 100, 2, 0, None);
}

#[test]
fn a_prompt_that_nobody_has_answered_is_kept_whatever_it_takes() {
    check("u10 a10 u90", 20, 2, 0, Some(2));
    check("u10 a10 u90", 20, 0, 2, Some(2));
}

#[test]
fn each_try_keeps_less() {
    let script = "u10 a10 u10 a10 u10 a10";
    check(script, 45, 2, 0, Some(2));
    check(script, 45, 2, 1, Some(4));
    check(script, 45, 2, 2, None);
}

#[test]
fn the_budget_is_a_quarter_of_the_window_within_bounds() {
    let model = model_ref();
    let check = |context, expected| {
        let options = CompactionOptions::default();
        let demand = Demand {
            history: &[],
            asked: 0,
            options: &options,
            window: window(context),
            tries: 0,
            limit: HeadLimit::new(None, 0),
            view: View { model: &model, images: true, strip_media: false },
        };
        assert_eq!(allowance(&demand), (2, expected), "{context}");
    };
    check(0, 2000);
    check(4000, 2000);
    check(20_000, 5000);
    check(200_000, 8000);
}

#[test]
fn an_earlier_summary_is_updated_and_not_summarised() {
    let ask = asked(true, false, None);
    let h =
        vec![user("first"), ask.clone(), summary(&ask, "EARLIER"), continued("go on"), message("a10"), user("then")];
    let plan = plan_of(&h, 0, 0, 0);
    let question = plan.question(&Compacting::default());
    assert!(question.starts_with(UPDATE) && question.contains("<previous-summary>\nEARLIER\n</previous-summary>"));
    assert!(!plan.head.contains("EARLIER") && !plan.head.contains("first") && !plan.head.contains("go on"));
    let plan = plan_of(&h[..1], 0, 0, 0);
    assert!(
        plan.question(&Compacting::default()).starts_with(ANEW)
            && plan.question(&Compacting::default()).contains("[user] first")
    );
    for section in ["Objective", "Important Details", "Completed", "Active", "Blocked", "Next Move", "Relevant Files"] {
        assert!(plan.question(&Compacting::default()).contains(section), "{section}");
    }
}

#[test]
fn a_summary_is_held_against_what_it_stands_for() {
    let plan = |tokens: usize| Plan { head: "x".repeat(tokens * 4), tail_start: None, previous: None };
    let check = |head, summary: usize, good: bool| {
        assert_eq!(plan(head).verify(&"y".repeat(summary * 4)).is_ok(), good, "{summary} for {head}");
    };
    check(10_000, 9000, true);
    check(10_000, 9001, false);
    check(10, 900, true);
    check(10, 1100, false);
    check(10_000, 0, false);
    assert!(plan(100).verify(" \n ").is_err());
}

#[test]
fn the_host_tells_what_the_work_is() {
    let mut todos = assistant(|_| ());
    todos.parts = vec![completed("todowrite", "list")];
    if let model::message::PartBody::Tool(model::message::ToolPart {
        state: model::tool_state::ToolState::Completed { metadata, .. },
        ..
    }) = &mut todos.parts[0].body
    {
        let list = serde_json::json!([
            {"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"},
            {"content": "three", "status": "pending"}, {"content": "four", "status": "cancelled"},
        ]);
        metadata.insert("todos".into(), list);
    }
    let h = vec![user("fix the bug"), todos, message("a10"), message("a10")];
    let told = bridge(&h, None).unwrap();
    assert!(told.contains("<task>\nfix the bug\n</task>"), "{told}");
    assert!(told.contains("- [in_progress] two\n- [pending] three"), "{told}");
    assert!(!told.contains("one") && !told.contains("four"), "{told}");
    let told = bridge(&h, Some(2)).unwrap();
    assert!(told.contains("fix the bug"), "the prompt is not kept");
    let told = bridge(&h, Some(0)).unwrap();
    assert!(!told.contains("fix the bug") && told.contains("two"));
    assert_eq!(bridge(&[user("a"), user("b")], Some(1)), None, "nothing to tell");
    assert!(bridge(&[user("a")], None).unwrap().contains("<task>\na\n</task>"));
}
