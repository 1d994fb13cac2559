//! The one pattern language of rules (agent-core, section 7.3): `*` any run of characters (also `/` and newlines), `?` one
//! character, everything else literal, anchored at both ends; a trailing ` *` is optional.

/// Whether the whole of `text` fits `pattern`. Linear in the text for each `*`.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    glob(pattern, text) || pattern.strip_suffix(" *").is_some_and(|bare| glob(bare, text))
}

fn glob(pattern: &str, text: &str) -> bool {
    let (p, t): (Vec<char>, Vec<char>) = (normal(pattern), normal(text));
    let (mut i, mut j) = (0, 0);
    // Where the last `*` stood, and how much of the text it has taken: going back there is enough.
    let mut star: Option<(usize, usize)> = None;
    while j < t.len() {
        if i < p.len() && p[i] == '*' {
            star = Some((i, j));
            i += 1;
        } else if i < p.len() && (p[i] == '?' || p[i] == t[j]) {
            (i, j) = (i + 1, j + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (i, j) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    p[i..].iter().all(|&c| c == '*')
}

/// Backslashes count as slashes on both sides.
fn normal(text: &str) -> Vec<char> {
    text.chars().map(|c| if c == '\\' { '/' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, text, want) in [
            ("*", "", true),
            ("*", "a/b\nc", true),
            ("git *", "git log", true),
            ("git push *", "git push", true),
            ("git *", "gitk", false),
            ("*.env", "config/prod.env", true),
            ("*.env", "prod.env.example", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("docs/*", "docs/a/b.md", true),
            ("docs/**", "docs/a/b.md", true),
            ("*a*b*c", "xxaxxbxxbc", true),
            ("*a*b*c", "xxaxxcxxb", false),
            ("[a]", "a", false),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} against {text}");
        }
    }
}
