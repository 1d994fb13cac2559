//! HTML as Markdown or as plain text: what a reader would see, without scripts and styles. The tags are taken as they come, no tree
//! is built, so a broken page costs no more than a whole one.

use crate::place::join;
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Markdown,
    Text,
    Html,
}

impl Format {
    /// What a server is asked for.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
            Self::Text => "text/plain, text/html;q=0.9, */*;q=0.1",
            Self::Html => "text/html, application/xhtml+xml, */*;q=0.1",
        }
    }

    /// A page in this form; `url` is where it stands.
    pub fn render(self, html: &str, url: &str) -> String {
        match self {
            Self::Html => html.to_owned(),
            Self::Markdown => Writer::new(url, true).read(html),
            Self::Text => Writer::new(url, false).read(html),
        }
    }
}

/// The text of a body; `None` for what is no text.
pub fn decode(bytes: &[u8], charset: &str) -> Option<String> {
    if bytes.iter().take(8 << 10).any(|b| *b == 0) {
        return None;
    }
    let charset = charset.trim_matches(['"', '\'', ' ']).to_ascii_lowercase();
    Some(match charset.split(';').next().unwrap_or_default() {
        "iso-8859-1" | "latin1" | "windows-1252" | "us-ascii" => bytes.iter().map(|b| char::from(*b)).collect(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// Not shown, with all that is in them.
const HIDDEN: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "title", "select"];
/// Stand apart from what is around them.
const BLOCKS: [&str; 14] = [
    "p", "section", "article", "header", "footer", "main", "aside", "nav", "table", "figure", "dl", "form", "ul", "ol",
];
/// On a line of their own.
const LINES: [&str; 9] = ["div", "tr", "dt", "dd", "address", "figcaption", "summary", "option", "legend"];
/// Lists in lists that are indented.
const DEEPEST: usize = 12;

struct Writer<'p> {
    url: &'p str,
    marks: bool,
    out: String,
    /// Line ends that stand before the next text.
    due: usize,
    /// A space stands before the next word.
    space: bool,
    /// The element whose content is left out, and how often it is open.
    hidden: Option<(&'static str, usize)>,
    pre: bool,
    /// The next number of each open list; none for one without numbers.
    lists: Vec<Option<u32>>,
    /// Targets of the links that are open.
    links: Vec<Option<String>>,
}

impl<'p> Writer<'p> {
    fn new(url: &'p str, marks: bool) -> Self {
        Self {
            url,
            marks,
            out: String::new(),
            due: 0,
            space: false,
            hidden: None,
            pre: false,
            lists: Vec::new(),
            links: Vec::new(),
        }
    }

    fn read(mut self, html: &str) -> String {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Token::StartTag(tag) => self.open(&tag),
                Token::EndTag(tag) => self.close(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Some((hidden, open)) = &mut self.hidden {
            *open += usize::from(*hidden == name && !tag.self_closing);
            return;
        }
        if let Some(hidden) = HIDDEN.iter().find(|h| **h == name) {
            self.hidden = (!tag.self_closing).then_some((hidden, 1));
            return;
        }
        let value = |key: &str| tag.attributes.get(key.as_bytes()).map(|v| String::from_utf8_lossy(v).into_owned());
        match name.as_str() {
            "a" => self.link(value("href")),
            "img" => self.image(&value("alt").unwrap_or_default(), value("src")),
            "br" => self.due = self.due.max(1),
            "hr" => self.rule(),
            "li" => self.item(),
            "td" | "th" => self.cell(),
            "pre" => self.fence(true),
            "ul" => self.list(None),
            "ol" => self.list(Some(value("start").and_then(|s| s.parse().ok()).unwrap_or(1))),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(&name),
            _ => self.around(&name, true),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((hidden, open)) = &mut self.hidden {
            *open -= usize::from(*hidden == name);
            if *open == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "a" => self.unlink(),
            "pre" => self.fence(false),
            "ul" | "ol" => {
                self.lists.pop();
                self.apart(if self.lists.is_empty() { 2 } else { 1 });
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.apart(2),
            "li" => self.apart(1),
            _ => self.around(name, false),
        }
    }

    fn around(&mut self, name: &str, opens: bool) {
        match name {
            "strong" | "b" => self.mark("**", opens),
            "em" | "i" => self.mark("*", opens),
            "code" | "kbd" | "samp" if !self.pre => self.mark("`", opens),
            "blockquote" => {
                self.apart(2);
                if opens && self.marks {
                    self.word("> ");
                }
            }
            _ if BLOCKS.contains(&name) => self.apart(2),
            _ if LINES.contains(&name) => self.apart(1),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.pre {
            self.word(text);
            return;
        }
        for (i, word) in text.split(|c: char| c.is_whitespace() && c != '\u{a0}').enumerate() {
            self.space |= i > 0;
            if !word.is_empty() {
                self.word(word);
            }
        }
    }

    /// Writes what stands before a word, then the word.
    fn word(&mut self, word: &str) {
        let begins = self.out.is_empty() || self.out.ends_with('\n');
        if self.due > 0 && !self.out.is_empty() {
            let there = self.out.len() - self.out.trim_end_matches('\n').len();
            self.out.extend(std::iter::repeat_n('\n', self.due.saturating_sub(there)));
        } else if self.space && !begins && !self.pre && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        (self.due, self.space) = (0, false);
        self.out.push_str(word);
    }

    fn apart(&mut self, lines: usize) {
        self.due = self.due.max(lines);
        self.space = false;
    }

    /// A mark of emphasis touches the word that it belongs to.
    fn mark(&mut self, mark: &str, opens: bool) {
        if !self.marks || self.pre {
            return;
        }
        if opens {
            self.word(mark);
        } else if self.out.ends_with(mark) {
            // Nothing was in it.
            self.out.truncate(self.out.len() - mark.len());
        } else {
            self.out.push_str(mark);
        }
    }

    fn heading(&mut self, name: &str) {
        self.apart(2);
        if self.marks {
            let level = name[1..].parse().unwrap_or(1);
            self.word(&format!("{} ", "#".repeat(level)));
        }
    }

    fn rule(&mut self) {
        self.apart(2);
        self.word("---");
        self.apart(2);
    }

    fn list(&mut self, first: Option<u32>) {
        self.apart(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(first);
    }

    fn item(&mut self) {
        self.apart(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(DEEPEST));
        let sign = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", number.saturating_sub(1))
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.word(&format!("{indent}{sign}"));
    }

    fn cell(&mut self) {
        if self.due == 0 && !self.out.is_empty() {
            self.word(" | ");
        }
    }

    fn fence(&mut self, opens: bool) {
        if opens {
            self.apart(2);
            if self.marks {
                self.word("```\n");
            }
        } else if self.marks && self.pre {
            let end = if self.out.ends_with('\n') { "```" } else { "\n```" };
            self.out.push_str(end);
        }
        self.pre = opens;
        if !opens {
            self.apart(2);
        }
    }

    fn link(&mut self, href: Option<String>) {
        let target = href.filter(|h| !h.starts_with('#')).and_then(|h| join(self.url, h.trim()));
        if self.marks && target.is_some() {
            self.word("[");
        }
        self.links.push(target);
    }

    fn unlink(&mut self) {
        let Some(Some(target)) = self.links.pop() else { return };
        if self.marks && self.out.ends_with('[') {
            self.out.pop();
        } else if self.marks {
            self.out.push_str(&format!("]({})", plain(&target)));
        }
    }

    fn image(&mut self, alt: &str, src: Option<String>) {
        let source = src.and_then(|s| join(self.url, s.trim()));
        match source {
            Some(source) if self.marks && !alt.trim().is_empty() => {
                self.word(&format!("![{}]({})", alt.trim(), plain(&source)));
            }
            _ if !alt.trim().is_empty() => self.word(alt.trim()),
            _ => {}
        }
    }
}

/// Brackets and blanks would end the link.
fn plain(url: &str) -> String {
    url.replace(' ', "%20").replace('(', "%28").replace(')', "%29").replace(['\n', '\r', '\t'], "")
}
