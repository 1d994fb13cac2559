use super::*;
use crate::strategies::Strategy;

fn apply(text: &str, old: &str, new: &str, all: bool) -> Result<Applied, Refusal> {
    apply::apply(text, Request { old, new, all })
}

#[track_caller]
fn check(text: &str, old: &str, new: &str, strategy: Strategy, expected: &str) {
    let applied = apply(text, old, new, false).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!((applied.text.as_str(), applied.strategy), (expected, strategy));
}

#[track_caller]
fn refused(text: &str, old: &str, new: &str) -> Refusal {
    apply(text, old, new, false).expect_err("refused")
}

#[test]
fn each_strategy_finds_what_is_its_own() {
    check("a b", "b", "$&", Strategy::Exact, "a $&");
    check("f {\r\n  x\r\n}\r\n", "f {\n  x\n}\n", "g {\n}\n", Strategy::Exact, "g {\r\n}\r\n");
    check("f {\n  x  \n}\n", "f {\nx\n}", "g {\n}", Strategy::LineTrimmed, "g {\n}\n");
    check("f {\n  let abc = 1;\n}\n", "f {\n  let abd = 1;\n}", "g", Strategy::BlockAnchor, "g\n");
    check("if  (a ==   b) {", "(a == b)", "(c)", Strategy::Whitespace, "if  (c) {");
    check("say \"hi\"\n", "say \\\"hi\\\"", "say \\\"ho\\\"", Strategy::Escapes, "say \"ho\"\n");
    check("x = call(1)", "  call(1)\n", "  call(2)\n", Strategy::TrimmedBoundary, "x = call(2)");
    check("a\nb\nqqqqqqqq\nc\n", "a\nb\n1\nc", "z", Strategy::ContextAware, "z\n");
}

#[test]
fn the_new_text_takes_the_indentation_of_the_file() {
    check(
        "if x:\n\tone()\n\ttwo()\n",
        "    two()",
        "    three()\n    four()",
        Strategy::LineTrimmed,
        "if x:\n\tone()\n\tthree()\n\tfour()\n",
    );
    check("  a\n    b\n", "a\n  b\n", "c\n  d\n", Strategy::LineTrimmed, "  c\n    d\n");
}

#[test]
fn several_places_are_refused_with_their_lines() {
    assert_eq!(
        refused("x\ny\nx\n", "x", "z"),
        Refusal::Ambiguous { lines: vec![1, 3], places: 2, strategy: Strategy::Exact }
    );
    let near = refused("  a(1)\n b\n    a(1)\n", "\ta(1)", "c");
    assert_eq!(near, Refusal::Ambiguous { lines: vec![1, 3], places: 2, strategy: Strategy::LineTrimmed });
    assert!(near.to_string().contains("not exactly") && near.to_string().contains("lines 1, 3"));
    let twice = "f {\n  let abc = 1;\n}\n".repeat(2);
    assert!(matches!(refused(&twice, "f {\n  let abd = 1;\n}", "g"), Refusal::Ambiguous { places: 2, .. }));
}

#[test]
fn the_shape_decides_between_lines_that_are_equal_when_trimmed() {
    check("if a:\n  b\nif a:\n    b\n", "  if a:\n      b\n", "  c\n", Strategy::LineTrimmed, "if a:\n  b\nc\n");
}

#[test]
fn all_places_can_be_asked_for() {
    let applied = apply("a a\n", "a", "aa", true).unwrap();
    assert_eq!((applied.text.as_str(), applied.places), ("aa aa\n", 2));
}

#[test]
fn what_would_do_nothing_is_named_so() {
    assert_eq!(refused("a", "a", "a"), Refusal::NoOp);
    assert_eq!(refused("a\r\nb", "a\nb", "a\r\nb"), Refusal::NoOp);
}

#[test]
fn a_far_larger_match_is_not_touched() {
    let text = format!("a{}b\n", " ".repeat(10) + &"\n".repeat(10));
    assert!(matches!(refused(&text, "a b", "c"), Refusal::NotFound { disproportionate: true, .. }));
}

#[test]
fn the_nearest_lines_are_shown() {
    let text = "one\nlet value = compute(1);\n\tthree\n";
    let Refusal::NotFound { nearest: Some(shown), .. } = refused(text, "let value = compute(2) + 7;\nx", "y") else {
        panic!()
    };
    assert_eq!(shown, "2: let value = compute(1);\n3: \tthree");
}

#[test]
fn white_space_alone_fits_exactly_or_not_at_all() {
    assert!(matches!(refused("a\n  \nb\n\n", "\t\t", "x"), Refusal::NotFound { .. }));
}

/// Bounded: long lines and many of them.
#[test]
fn large_texts_are_searched_in_bounded_time() {
    let began = std::time::Instant::now();
    let text =
        format!("start\n{}\nend\n", "x".repeat(200_000)).repeat(20) + &"start\nfiller line of text\n".repeat(50_000);
    let old = format!("start\n{}\nend", "y".repeat(200_000));
    assert!(matches!(refused(&text, &old, "z"), Refusal::NotFound { .. }));
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}
