use super::*;
use crate::testing::history::{
    asked, assistant, completed, continued, dropped, failed, interrupted, part, providers, summary, text, user,
};
use model::message::{FinishReason, MessageError};

fn check(name: &str, history: &[WithParts], answered: bool) {
    let expected = if answered { Step::Finish } else { Step::AskModel { last: false } };
    assert_eq!(next(history, &Bounds::default(), &Used::default(), &Load::default()), expected, "{name}");
}

fn answer(finish: FinishReason, parts: Vec<Part>) -> WithParts {
    let mut m = assistant(|m| m.finish = Some(finish));
    m.parts = parts;
    m
}

#[test]
fn no_call_ends_the_turn_whatever_the_reason() {
    use FinishReason as F;
    for reason in [F::Stop, F::Length, F::ToolCalls, F::ContentFilter, F::Error, F::Unknown] {
        check("text", &[user("a"), answer(reason, vec![text("b", false)])], true);
        check("nothing at all", &[user("a"), answer(reason, vec![])], true);
        check("a call", &[user("a"), answer(reason, vec![completed("read", "x")])], false);
        check("a failed call", &[user("a"), answer(reason, vec![failed("read", "x")])], false);
    }
}

#[test]
fn a_pause_is_not_the_end_but_not_for_ever() {
    let paused = |n: usize| {
        let pause = || answer(FinishReason::Pause, vec![text("b", false), providers("search")]);
        [user("a")].into_iter().chain((0..n).map(|_| pause())).collect::<Vec<_>>()
    };
    check("once", &paused(1), false);
    check("often", &paused(MOST_PAUSES), false);
    check("without end", &paused(MOST_PAUSES + 1), true);
    let mut over = paused(2);
    over.push(answer(FinishReason::Stop, vec![text("b", false)]));
    check("it went on", &over, true);
}

#[test]
fn calls_that_are_not_ours_do_not_count() {
    check("provider's", &[user("a"), answer(FinishReason::ToolCalls, vec![providers("search")])], true);
    check("orphan", &[user("a"), answer(FinishReason::ToolCalls, vec![interrupted("read")])], true);
    let given_up = vec![dropped(completed("read", "x")), text("b", false)];
    check("of a given-up attempt", &[user("a"), answer(FinishReason::Stop, given_up)], true);
    let both = vec![providers("search"), completed("read", "x")];
    check("one of ours too", &[user("a"), answer(FinishReason::Stop, both)], false);
}

#[test]
fn what_is_unanswered_goes_on() {
    check("a prompt", &[user("a")], false);
    check("a second prompt", &[user("a"), answer(FinishReason::Stop, vec![]), user("b")], false);
    let broken = assistant(|m| {
        m.finish = Some(FinishReason::ToolCalls);
        m.error = Some(MessageError::Aborted { message: "killed".into() });
    });
    check("a broken answer", &[user("a"), broken], false);
    check("an answer without an end", &[user("a"), assistant(|m| m.finish = None)], false);
    check("nothing to answer", &[], true);
}

fn limits(steps: Option<u32>, profile: Option<u32>, used: u32, history: &[WithParts]) -> Step {
    let bounds = Bounds { limits: Limits { steps, ..Limits::default() }, profile_steps: profile };
    next(history, &bounds, &Used { steps: used, ..Used::default() }, &Load::default())
}

#[test]
fn the_smaller_step_limit_counts() {
    let open = [user("a")];
    for (steps, profile) in [(Some(3), None), (None, Some(3)), (Some(3), Some(9)), (Some(9), Some(3))] {
        assert_eq!(limits(steps, profile, 1, &open), Step::AskModel { last: false });
        assert_eq!(limits(steps, profile, 2, &open), Step::AskModel { last: true });
        assert_eq!(limits(steps, profile, 3, &open), Step::Limit(Limit::Steps));
    }
    let done =
        [user("a"), answer(FinishReason::Stop, vec![part(PartBody::StepStart { metadata: Default::default() })])];
    assert_eq!(limits(Some(3), None, 3, &done), Step::Finish);
}

/// A window of 900 tokens, and an answer that was counted to use so many.
fn loaded(used: u64, parts: Vec<Part>) -> WithParts {
    let mut m = answer(FinishReason::ToolCalls, parts);
    if let Message::Assistant(info) = &mut m.info {
        info.tokens.input = used;
    }
    m
}

fn check_load(name: &str, history: &[WithParts], estimate: u64, auto: bool, expected: Step) {
    let model = model::provider::Model { context: 1000, output: 100, ..model::provider::Model::unknown("m") };
    let options = compaction::CompactionOptions::default();
    let load = Load { window: Window::new(&model, None, &options), estimate, auto };
    assert_eq!(next(history, &Bounds::default(), &Used::default(), &load), expected, "{name}");
}

#[test]
fn a_full_window_asks_for_a_summary_before_the_next_request() {
    let go_on = Step::AskModel { last: false };
    let call = || completed("read", "x");
    check_load("room", &[user("a"), loaded(800, vec![call()])], 0, true, go_on);
    check_load("full", &[user("a"), loaded(900, vec![call()])], 0, true, Step::Crowded);
    check_load("not by itself", &[user("a"), loaded(900, vec![call()])], 0, false, go_on);
    let large = completed("read", &"x".repeat(400));
    check_load("filled by a result", &[user("a"), loaded(800, vec![large])], 0, true, Step::Crowded);
    let answered = answer(FinishReason::Stop, vec![text("done", false)]);
    check_load("over", &[user("a"), loaded(950, vec![call()]), answered], 0, true, Step::Finish);
    let old = loaded(950, vec![text("done", false)]);
    check_load("a new prompt", &[user("a"), old, user("b")], 0, true, Step::Crowded);
    check_load("nobody counted", &[user("a"), loaded(0, vec![call()])], 900, true, Step::Crowded);
    check_load("nobody has counted yet", &[user("a")], 900, true, Step::Crowded);
}

#[test]
fn a_summary_is_written_once_it_is_asked_for() {
    let go_on = Step::AskModel { last: false };
    let before = || vec![user("a"), loaded(900, vec![completed("read", "x")])];
    let check = |name: &str, after: Vec<WithParts>, expected| {
        let history: Vec<_> = before().into_iter().chain(after).collect();
        check_load(name, &history, 5000, true, expected);
    };
    let (auto, manual) = (asked(true, false, None), asked(false, false, None));
    let broken = |asked: &WithParts| {
        let mut m = summary(asked, "");
        if let Message::Assistant(info) = &mut m.info {
            info.finish = None;
            info.error = Some(MessageError::Unknown { message: "empty".into() });
        }
        m
    };
    check("asked", vec![auto.clone()], Step::Compact);
    check("failed once", vec![auto.clone(), broken(&auto)], Step::Compact);
    check("failed thrice", vec![auto.clone(), broken(&auto), broken(&auto), broken(&auto)], Step::Unfit);
    check("written", vec![auto.clone(), summary(&auto, "s")], go_on);
    check("with the host's word", vec![auto.clone(), summary(&auto, "s"), continued("go on")], go_on);
    check("a person's", vec![manual.clone(), summary(&manual, "s")], Step::Finish);
    check("a new prompt instead", vec![auto.clone(), broken(&auto), user("b")], Step::Crowded);
    let good = || loaded(500, vec![completed("read", "y")]);
    let full = || loaded(950, vec![completed("read", "y")]);
    let round = |last: WithParts| vec![auto.clone(), summary(&auto, "s"), last];
    let three = |a: WithParts, b: WithParts, c: WithParts| [round(a), round(b), round(c)].concat();
    check("no room thrice", three(full(), full(), full()), Step::Unfit);
    check("a good step between", three(full(), good(), full()), Step::Crowded);
}
