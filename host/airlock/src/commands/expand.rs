//! From a template and what a person wrote behind it to the text of a message (agent-core, section 2.9). Pure: lines for the shell
//! are named here and run elsewhere.

/// A piece of an expanded template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// A line whose output takes its place.
    Shell(String),
}

/// Puts the arguments into the template. What a person wrote becomes part of a shell line only where the template has one: no
/// argument makes a line of its own.
#[must_use]
pub fn expand(template: &str, arguments: &str) -> Vec<Piece> {
    let words = split(arguments);
    let highest = placeholders(template).max().unwrap_or(0);
    let mut pieces: Vec<Piece> = parted(template)
        .into_iter()
        .map(|p| match p {
            Piece::Text(text) => Piece::Text(fill(&text, arguments, &words, highest)),
            Piece::Shell(line) => Piece::Shell(fill(&line, arguments, &words, highest)),
        })
        .collect();
    let takes_any = highest > 0 || template.contains("$ARGUMENTS");
    if !takes_any && !arguments.trim().is_empty() {
        pieces.push(Piece::Text(format!("\n\n{}", arguments.trim())));
    }
    pieces
}

/// Words, as a person parts them: quotes keep a word together and are taken off. `[Image 1]` is one word.
#[must_use]
pub fn split(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => rest[1..].find(first).map(|at| at + 2),
            '[' if rest.starts_with("[Image ") => rest.find(']').map(|at| at + 1),
            _ => None,
        };
        let end = end.unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let word = &rest[..end];
        let quoted = word.len() >= 2 && matches!(first, '"' | '\'') && word.ends_with(first);
        words.push(if quoted { word[1..word.len() - 1].to_owned() } else { word.to_owned() });
        rest = rest[end..].trim_start();
    }
    words
}

/// Parts a template at its `` !`line` ``.
fn parted(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find("!`") {
        let Some(length) = rest[start + 2..].find('`') else { break };
        pieces.push(Piece::Text(rest[..start].to_owned()));
        pieces.push(Piece::Shell(rest[start + 2..start + 2 + length].to_owned()));
        rest = &rest[start + length + 3..];
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces.retain(|p| !matches!(p, Piece::Text(t) if t.is_empty()));
    pieces
}

fn placeholders(text: &str) -> impl Iterator<Item = usize> {
    text.split('$').skip(1).filter_map(number)
}

/// The number that a text begins with, from 1 on.
fn number(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok().filter(|n| *n > 0)
}

/// The highest placeholder takes all the words that are left; a word that is not there is nothing.
fn fill(text: &str, arguments: &str, words: &[String], highest: usize) -> String {
    let mut out = String::with_capacity(text.len() + arguments.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            out.push_str(arguments.trim());
            rest = after;
        } else if let Some(n) = number(rest) {
            let found = if n == highest {
                words.get(n - 1..).unwrap_or_default()
            } else {
                words.get(n - 1..n).unwrap_or_default()
            };
            out.push_str(&found.join(" "));
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_by_a_persons_quotes() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text), expected, "{text:?}");
        check("", &[]);
        check("  a  b ", &["a", "b"]);
        check(r#"one "two three" 'four five'"#, &["one", "two three", "four five"]);
        check(r#"[Image 1] x "unended y"#, &["[Image 1]", "x", "\"unended", "y"]);
        check(r#""" a"#, &["", "a"]);
    }

    #[test]
    fn placeholders_are_filled() {
        let check = |template: &str, arguments: &str, expected: &str| {
            assert_eq!(expand(template, arguments), [Piece::Text(expected.into())], "{template:?} {arguments:?}");
        };
        check("a $1 b $2", "x y z", "a x b y z");
        check("$2 $1", "x y", "y x");
        check("$1-$1", "x y", "x y-x y");
        check("$1 $3", "x", "x ");
        check("all: $ARGUMENTS", " a \"b c\" ", "all: a \"b c\"");
        check("costs $5.00 and $x $", "", "costs .00 and $x $");
        check("$1", "$2", "$2");
    }

    #[test]
    fn arguments_nobody_asked_for_are_added() {
        assert_eq!(expand("Do it.", " now "), [Piece::Text("Do it.".into()), Piece::Text("\n\nnow".into())]);
        assert_eq!(expand("Do it.", ""), [Piece::Text("Do it.".into())]);
    }

    #[test]
    fn lines_for_the_shell_come_from_the_template_alone() {
        let text = |t: &str| Piece::Text(t.into());
        let line = |l: &str| Piece::Shell(l.into());
        assert_eq!(expand("Log: !`git log $1`.", "-3"), [text("Log: "), line("git log -3"), text(".")]);
        assert_eq!(expand("$ARGUMENTS", "!`rm x`"), [text("!`rm x`")]);
        assert_eq!(expand("!`a``b` and !`open", ""), [line("a"), text("`b` and !`open")]);
    }
}
