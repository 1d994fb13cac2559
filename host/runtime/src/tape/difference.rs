//! Where two requests part, in words for a person.

use super::exchange::{Asked, AskedBody};
use serde_json::Value;

/// Characters of a value that are shown, around the place where it differs.
const SHOWN: usize = 60;

/// The first difference, from the head to the end of the body.
#[must_use]
pub fn first(recorded: &Asked, now: &Asked) -> String {
    let told =
        |what: &str, a: &str, b: &str| format!("{what} differs: recorded {}, now {}", excerpt(a, b), excerpt(b, a));
    if recorded.method != now.method {
        return told("the method", &recorded.method, &now.method);
    }
    if recorded.url != now.url {
        return told("the URL", &recorded.url, &now.url);
    }
    if let Some((a, b)) = parted(&recorded.headers, &now.headers) {
        let text = |h: Option<&(String, String)>| h.map_or("none".to_owned(), |(n, v)| format!("{n}: {v}"));
        return told("a header", &text(a), &text(b));
    }
    match (&recorded.body, &now.body) {
        (AskedBody::Json(a), AskedBody::Json(b)) => match value(a, b, &mut String::new()) {
            Some((path, a, b)) => told(&format!("`{path}`"), &a, &b),
            None => "the bodies are equal".into(),
        },
        (a, b) => told("the body", &text(a), &text(b)),
    }
}

fn text(body: &AskedBody) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

/// The first pair of two lists that is not equal; the shorter list is filled up with nothing.
fn parted<'a, T: PartialEq>(a: &'a [T], b: &'a [T]) -> Option<(Option<&'a T>, Option<&'a T>)> {
    (0..a.len().max(b.len())).map(|i| (a.get(i), b.get(i))).find(|(a, b)| a != b)
}

/// Path and both values. A value that is not there is `nothing`.
fn value(a: &Value, b: &Value, path: &mut String) -> Option<(String, String, String)> {
    let length = path.len();
    let found = match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys = x.keys().chain(y.keys().filter(|k| !x.contains_key(*k)));
            keys.map(|k| (k.clone(), x.get(k), y.get(k))).find_map(|(k, a, b)| member(&k, a, b, path))
        }
        (Value::Array(x), Value::Array(y)) => {
            (0..x.len().max(y.len())).find_map(|i| member(&i.to_string(), x.get(i), y.get(i), path))
        }
        _ if a == b => None,
        _ => Some((path.clone(), plain(a), plain(b))),
    };
    path.truncate(length);
    found
}

fn member(key: &str, a: Option<&Value>, b: Option<&Value>, path: &mut String) -> Option<(String, String, String)> {
    let length = path.len();
    path.push('/');
    path.push_str(key);
    let found = match (a, b) {
        (Some(a), Some(b)) => value(a, b, path),
        (a, b) => {
            let shown = |v: Option<&Value>| v.map_or("nothing".to_owned(), plain);
            Some((path.clone(), shown(a), shown(b)))
        }
    };
    path.truncate(length);
    found
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The part of a text where it leaves the other one.
fn excerpt(text: &str, other: &str) -> String {
    let same = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN / 3);
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if text.chars().count() > from + SHOWN { "…" } else { "" });
    format!("{:?}", format!("{before}{shown}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(url: &str, header: &str, body: Value) -> Asked {
        let headers = vec![("x".to_owned(), header.to_owned())];
        Asked { method: "POST".into(), url: url.into(), headers, body: AskedBody::Json(body) }
    }

    #[test]
    fn the_first_difference_is_named() {
        let base = || asked("u", "h", json!({"model": "m", "messages": [{"content": "hello"}]}));
        for (now, words) in [
            (asked("v", "h", json!({})), &["the URL", "\"u\"", "\"v\""][..]),
            (asked("u", "i", json!({})), &["a header", "x: h", "x: i"]),
            (asked("u", "h", json!({"model": "n", "messages": []})), &["`/model`", "\"m\"", "\"n\""]),
            (
                asked("u", "h", json!({"model": "m", "messages": [{"content": "help"}]})),
                &["`/messages/0/content`", "help"],
            ),
            (asked("u", "h", json!({"model": "m", "messages": []})), &["`/messages/0`", "nothing"]),
            (
                asked("u", "h", json!({"model": "m", "messages": [{"content": "hello"}], "top": 1})),
                &["`/top`", "recorded \"nothing\"", "now \"1\""],
            ),
        ] {
            let told = first(&base(), &now);
            assert!(words.iter().all(|w| told.contains(w)), "{told} should hold {words:?}");
        }
    }

    #[test]
    fn a_long_value_is_shown_where_it_differs() {
        let long = |end: &str| "a".repeat(500) + end;
        let told = excerpt(&long("one"), &long("two"));
        assert!(told.ends_with("aone\"") && told.chars().count() < 80, "{told}");
    }
}
