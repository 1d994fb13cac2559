use super::*;

fn f<'a>(index: Option<u64>, id: &'a str, name: &'a str, arguments: &'a str) -> Fragment<'a> {
    Fragment { index, id, name, arguments }
}

fn check(what: &str, fragments: &[Fragment<'_>], expected: &[(&str, &str, &str)]) {
    let mut calls = Calls::default();
    for fragment in fragments {
        calls.add(fragment, || "made".into()).unwrap();
    }
    let got = calls.take();
    let got: Vec<_> = got.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(got, expected, "{what}");
}

#[test]
fn fragments_find_their_calls() {
    let (i0, i1) = (Some(0), Some(1));
    check(
        "id and name in the first fragment only",
        &[f(i0, "a", "read", "{"), f(i0, "", "", "}")],
        &[("a", "read", "{}")],
    );
    check("no index at all", &[f(None, "a", "read", ""), f(None, "", "", "{}")], &[("a", "read", "{}")]);
    check(
        "two calls in turn",
        &[f(i0, "a", "read", ""), f(i0, "", "", "{}"), f(i1, "b", "read", ""), f(i1, "", "", "{}")],
        &[("a", "read", "{}"), ("b", "read", "{}")],
    );
    check(
        "two calls in turn, both without arguments",
        &[f(i0, "a", "now", ""), f(i1, "b", "now", "")],
        &[("a", "now", ""), ("b", "now", "")],
    );
    check(
        "interleaved",
        &[f(i0, "a", "x", "{"), f(i1, "b", "y", "["), f(i0, "", "", "}"), f(i1, "", "", "]")],
        &[("a", "x", "{}"), ("b", "y", "[]")],
    );
    check(
        "every call at index 0, each complete",
        &[f(i0, "a", "grep", "{}"), f(i0, "b", "grep", "{}"), f(i0, "c", "read", "{}")],
        &[("a", "grep", "{}"), ("b", "grep", "{}"), ("c", "read", "{}")],
    );
    check(
        "the tail of the second call names an index that nobody has",
        &[f(i0, "a", "grep", ""), f(i0, "", "", "{\"q\":1}"), f(i0, "b", "grep", ""), f(i1, "", "", "{\"q\":2}")],
        &[("a", "grep", "{\"q\":1}"), ("b", "grep", "{\"q\":2}")],
    );
    check(
        "the name in every fragment",
        &[f(i0, "a", "read", "{\"p\":"), f(i0, "", "read", "\"x\""), f(i0, "", "read", "}")],
        &[("a", "read", "{\"p\":\"x\"}")],
    );
    check(
        "name and a new id in every fragment",
        &[f(i0, "a", "read", "{\"p\":"), f(i0, "b", "read", "1"), f(i0, "c", "read", "}")],
        &[("a", "read", "{\"p\":1}")],
    );
    check(
        "the id in every fragment",
        &[f(i0, "a", "echo", "{\"t\":"), f(i0, "a", "", "1}")],
        &[("a", "echo", "{\"t\":1}")],
    );
    check(
        "ids tell where no index does",
        &[f(None, "a", "x", "{"), f(None, "b", "y", "{"), f(None, "a", "", "}"), f(None, "b", "", "}")],
        &[("a", "x", "{}"), ("b", "y", "{}")],
    );
    check(
        "a new id in every fragment, no name",
        &[f(i0, "a", "w", "{"), f(i0, "b", "", "\"k\""), f(i0, "c", "", ":1"), f(i0, "d", "", "}")],
        &[("a", "w", "{\"k\":1}")],
    );
    check("a call without id and name", &[f(i0, "", "", "{}"), f(i0, "a", "", "{}")], &[]);
    check("a name without an id", &[f(i0, "", "x", "{}")], &[("made", "x", "{}")]);
    check(
        "names without ids, the first complete",
        &[f(i0, "", "x", "{}"), f(i0, "", "x", "{\"n\":1}")],
        &[("made", "x", "{}"), ("made_2", "x", "{\"n\":1}")],
    );
    check(
        "the whole call again at the end",
        &[f(i0, "a", "x", "{\"n\":1}"), f(i0, "a", "x", "{\"n\":1}")],
        &[("a", "x", "{\"n\":1}")],
    );
    check(
        "one id for two calls",
        &[f(i0, "a", "x", "{\"n\":1}"), f(i1, "a", "y", "{\"n\":2}")],
        &[("a", "x", "{\"n\":1}"), ("made", "y", "{\"n\":2}")],
    );
    check(
        "braces in strings close nothing",
        &[f(i0, "a", "x", "{\"s\":\"}\\\"}"), f(i0, "", "x", "\"}")],
        &[("a", "x", "{\"s\":\"}\\\"}\"}")],
    );
}

#[test]
fn an_answer_is_bounded() {
    let mut calls = Calls::default();
    for n in 0..Calls::MOST {
        let id = n.to_string();
        assert!(calls.add(&f(None, &id, "x", "{}"), String::new).is_ok());
    }
    assert_eq!(calls.add(&f(None, "one more", "x", "{}"), String::new), Err(TooMuch));
    let long = " ".repeat(Calls::MOST_BYTES);
    assert_eq!(Calls::default().add(&f(None, "a", "x", &(long + " ")), String::new), Err(TooMuch));
}
