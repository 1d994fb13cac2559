//! Names that every model provider takes, made from names that servers choose freely.

use std::collections::BTreeSet;

/// Longest name of a tool that all providers take.
pub const MAX_NAME: usize = 64;

/// Gives names and never one twice.
#[derive(Clone, Debug, Default)]
pub struct Names {
    given: BTreeSet<String>,
}

impl Names {
    /// `server_tool` in `[a-z][a-z0-9_-]*`, at most [`MAX_NAME`] long. Where two would be the same, the later one gets a number:
    /// which one that is depends on the order of the server's list alone.
    pub fn give(&mut self, server: &str, tool: &str) -> String {
        let wanted = fitted(&format!("{}_{}", plain(server), plain(tool)), "");
        let free = |name: &String| !self.given.contains(name);
        let numbered = (2_u64..).map(|n| fitted(&wanted, &format!("_{n}")));
        let name = std::iter::once(wanted.clone()).chain(numbered).find(free).unwrap_or(wanted);
        self.given.insert(name.clone());
        name
    }
}

/// Lower case; what is no letter, digit, `_` or `-` of ASCII becomes `_`.
fn plain(text: &str) -> String {
    let one = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '_',
    };
    text.chars().map(one).collect()
}

/// Begins with a letter and ends with the suffix, within the length. The text is ASCII.
fn fitted(text: &str, suffix: &str) -> String {
    let head = if text.starts_with(|c: char| c.is_ascii_lowercase()) { text.to_owned() } else { format!("t{text}") };
    let room = MAX_NAME - suffix.len();
    head.chars().take(room).chain(suffix.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, tool: &str, want: &str) {
        assert_eq!(Names::default().give(server, tool), want, "{server} {tool}");
    }

    #[test]
    fn names_fit_every_provider() {
        check("github", "create_issue", "github_create_issue");
        check("My Server", "Do.It/now!", "my_server_do_it_now_");
        check("7zip", "x", "t7zip_x");
        check("", "", "t_");
        check("größe", "ü", "gr__e__");
        check("a", &"b".repeat(100), &format!("a_{}", "b".repeat(62)));
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        let long = "x".repeat(80);
        let all = [("a", "b.c"), ("a", "b_c"), ("a", "b/c"), ("a", &long), ("a", &long)].map(|(s, t)| names.give(s, t));
        assert_eq!(all[..3], ["a_b_c", "a_b_c_2", "a_b_c_3"]);
        assert!(all[4].ends_with("_2") && all[4].len() == MAX_NAME && all[3] != all[4]);
    }
}
