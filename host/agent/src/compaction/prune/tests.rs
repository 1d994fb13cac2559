use super::*;
use crate::testing::history::{asked, assistant, completed, summary, user};

/// `u` a prompt, `r12` a result of 12 thousand tokens, `k12` the same of a skill, `c12` one that was taken out before, `S` a summary.
fn history(script: &str) -> Vec<WithParts> {
    let one = |word: &str| match word.split_at(1) {
        ("u", _) => user("go"),
        ("S", _) => summary(&asked(true, false, None), "SUM"),
        (kind, thousands) => {
            let output = "x".repeat(4000 * thousands.parse::<usize>().unwrap());
            let mut m = assistant(|_| ());
            m.parts = vec![completed(if kind == "k" { "skill" } else { "read" }, &output)];
            if let (true, PartBody::Tool(t)) = (kind == "c", &mut m.parts[0].body) {
                t.state.clear_output(1);
            }
            m
        }
    };
    script.split_whitespace().map(one).collect()
}

fn check(script: &str, expected: &[usize]) {
    let history = history(script);
    let at = |c: &Change| match c {
        Change::Part(p) => history.iter().position(|m| m.parts[0].id == p.id).unwrap(),
        _ => panic!("only parts change"),
    };
    let mut found: Vec<usize> = prune(&history, 77).iter().map(at).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{script}");
}

#[test]
fn old_results_beyond_forty_thousand_tokens_are_taken_out() {
    check("u r30 r20 r20 u u", &[1]);
    check("u r15 r20 r20 u u", &[]);
    check("u r30 r20 r20 u", &[]);
    check("u r30 u r20 u r20", &[]);
    check("u r30 r10 u r40 u u", &[1, 2]);
}

#[test]
fn skills_stay_and_nothing_is_taken_out_twice() {
    check("u k90 r20 r20 u u", &[]);
    check("u r90 c10 r30 r30 u u", &[3]);
    check("u r90 S u r20 r20 u u", &[]);
}

#[test]
fn what_is_taken_out_says_when() {
    let changes = prune(&history("u r30 r20 r20 u u"), 77);
    for change in changes {
        let Change::Part(part) = change else { panic!() };
        let PartBody::Tool(t) = part.body else { panic!() };
        assert!(matches!(t.state, ToolState::Completed { time, .. } if time.compacted == Some(77)));
    }
}
