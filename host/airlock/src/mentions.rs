//! What a prompt names with an `@`: files, folders, agents (agent-core, section 2.2). Pure; whether there is such a file is looked up
//! elsewhere.

/// A name behind an `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub name: String,
    /// First and last line, from 1.
    pub lines: Option<(u32, Option<u32>)>,
}

/// All of them, each once. What stands between backticks names nothing.
#[must_use]
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut all: Vec<Mention> = Vec::new();
    let mut before = None;
    let (mut in_code, mut at) = (false, 0);
    while let Some(c) = text[at..].chars().next() {
        let opens = before.is_none_or(|b: char| b.is_whitespace() || "([{<\"',;:".contains(b));
        if c == '`' {
            in_code = !in_code;
        }
        if c == '@' && opens && !in_code {
            let word = word(&text[at + 1..]);
            if let Some(mention) = mention(word).filter(|m| !all.contains(m)) {
                all.push(mention);
            }
        }
        before = Some(c);
        at += c.len_utf8();
    }
    all
}

/// Up to the next white space or closing sign; `@"a b"` names a path with spaces.
fn word(rest: &str) -> &str {
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split('"').next().unwrap_or_default();
    }
    let end = rest.find(|c: char| c.is_whitespace() || "()[]{}<>\"'`,;".contains(c)).unwrap_or(rest.len());
    rest[..end].trim_end_matches(['.', ':', '!', '?'])
}

/// `path#L10-20`, `path#L10`, `path?start=10&end=20`.
fn mention(word: &str) -> Option<Mention> {
    let (name, lines) = match (word.rsplit_once("#L"), word.rsplit_once("?start=")) {
        (Some((name, range)), _) => {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            (name, Some((first, Some(last.trim_start_matches('L')))))
        }
        (None, Some((name, range))) => match range.split_once("&end=") {
            Some((first, last)) => (name, Some((first, Some(last)))),
            None => (name, Some((range, None))),
        },
        (None, None) => (word, None),
    };
    let Some((first, last)) = lines else { return named(word, None) };
    match (first.parse().ok(), last.map(str::parse)) {
        (Some(first), None) if first > 0 => named(name, Some((first, None))),
        (Some(first), Some(Ok(last))) if first > 0 && last >= first => named(name, Some((first, Some(last)))),
        // No range after all: it belongs to the name.
        _ => named(word, None),
    }
}

fn named(name: &str, lines: Option<(u32, Option<u32>)>) -> Option<Mention> {
    (!name.is_empty()).then(|| Mention { name: name.to_owned(), lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_an_at() {
        let check = |text: &str, expected: &[&str]| {
            let names: Vec<String> = mentions(text).into_iter().map(|m| m.name).collect();
            assert_eq!(names, expected, "{text:?}");
        };
        check("look at @src/main.rs, and @README.md.", &["src/main.rs", "README.md"]);
        check("@a (@b) \"@c\" <@d>", &["a", "b", "c", "d"]);
        check("me@example.com a@b", &[]);
        check("twice @a @a", &["a"]);
        check("`@code` and ```\n@Override\n``` @real", &["real"]);
        check("@\"with space.txt\" @~/x @../y", &["with space.txt", "~/x", "../y"]);
        check("@ alone @", &[]);
        check("@was.rs? @is.rs!", &["was.rs", "is.rs"]);
    }

    #[test]
    fn a_range_of_lines() {
        let check = |text: &str, name: &str, lines: Option<(u32, Option<u32>)>| {
            assert_eq!(mentions(text), [Mention { name: name.into(), lines }], "{text:?}");
        };
        check("@a#L10-20", "a", Some((10, Some(20))));
        check("@a#L10-L20", "a", Some((10, Some(20))));
        check("@a#L7", "a", Some((7, Some(7))));
        check("@a?start=3&end=5", "a", Some((3, Some(5))));
        check("@a?start=3", "a", Some((3, None)));
        check("@a#Lx", "a#Lx", None);
        check("@a#L20-10", "a#L20-10", None);
        check("@a#L0", "a#L0", None);
    }
}
