//! One word of a line after quote removal and the expansions that can be known.

use std::path::Path;

/// A word as it was written and as the program would get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub source: String,
    /// After quote removal; an unknown expansion stays as it was written.
    pub plain: String,
    /// Bytes of `plain` before the first thing that cannot be known (or would match many names).
    pub fixed: usize,
    /// Holds an expansion whose value the text does not tell.
    pub dynamic: bool,
    /// Holds an unquoted `*`, `?` or `[`.
    pub glob: bool,
    /// Holds an unquoted `{…,…}` or `{…..…}`.
    pub brace: bool,
    /// Begins with a quote.
    pub quoted: bool,
}

impl Word {
    /// Whether the program gets just `plain`.
    pub fn is_known(&self) -> bool {
        !(self.dynamic || self.glob || self.brace)
    }
}

/// Reads one word. `home` and `cwd` are the values of `HOME` and `PWD` where these are known.
pub(super) fn read(source: &str, home: Option<&Path>, cwd: Option<&Path>) -> Word {
    let word = Word { source: source.to_owned(), quoted: source.starts_with(['\'', '"', '$']), ..Word::default() };
    let mut reader = Reader { rest: source, word, unknown: None, home, cwd };
    reader.tilde();
    reader.bare();
    reader.finish()
}

struct Reader<'a> {
    rest: &'a str,
    word: Word,
    /// Where in `plain` the unknown begins.
    unknown: Option<usize>,
    home: Option<&'a Path>,
    cwd: Option<&'a Path>,
}

impl Reader<'_> {
    fn finish(mut self) -> Word {
        self.word.fixed = self.unknown.unwrap_or(self.word.plain.len());
        self.word
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn mark_unknown(&mut self) {
        self.unknown.get_or_insert(self.word.plain.len());
    }

    fn tilde(&mut self) {
        let Some(after) = self.rest.strip_prefix('~') else { return };
        match self.home {
            Some(home) if after.is_empty() || after.starts_with('/') => {
                self.word.plain.push_str(&home.to_string_lossy());
                self.rest = after;
            }
            // Somebody else's home, or one that is not known.
            _ => {
                self.mark_unknown();
                self.word.dynamic = true;
            }
        }
    }

    fn bare(&mut self) {
        let mut open_brace = false;
        while let Some(c) = self.take() {
            match c {
                '\'' => self.single(),
                '"' => self.double(),
                '$' => self.dollar(false),
                '`' => self.give_up(c),
                '\\' => self.escaped(),
                '*' | '?' | '[' => {
                    self.mark_unknown();
                    self.word.glob = true;
                    self.word.plain.push(c);
                }
                _ => {
                    open_brace |= c == '{';
                    let splits = c == ',' || (c == '.' && self.rest.starts_with('.'));
                    self.word.brace |= open_brace && splits;
                    self.word.plain.push(c);
                }
            }
        }
        if self.word.brace {
            self.unknown = Some(self.unknown.unwrap_or(usize::MAX).min(self.word.plain.find('{').unwrap_or(0)));
        }
    }

    /// Outside of quotes a backslash makes the next character literal.
    fn escaped(&mut self) {
        match self.take() {
            Some('\n') | None => {}
            Some(c) => self.word.plain.push(c),
        }
    }

    fn single(&mut self) {
        let (text, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.word.plain.push_str(text);
        self.rest = rest;
    }

    fn double(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '"' => return,
                '$' => self.dollar(true),
                '`' => self.give_up(c),
                '\\' if self.rest.starts_with(['$', '`', '"', '\\', '\n']) => self.escaped(),
                _ => self.word.plain.push(c),
            }
        }
    }

    fn dollar(&mut self, in_quotes: bool) {
        match self.rest.chars().next() {
            Some('\'') if !in_quotes => {
                self.take();
                self.ansi();
            }
            Some('"') if !in_quotes => {
                self.take();
                self.double();
            }
            Some('{' | '(' | '[') => self.braced(),
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => self.named(),
            _ => self.word.plain.push('$'),
        }
    }

    fn named(&mut self) {
        let length = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length.max(1));
        self.rest = rest;
        self.variable(name, &format!("${name}"));
    }

    fn braced(&mut self) {
        let inner = self.rest.strip_prefix('{').and_then(|r| r.split_once('}'));
        match inner {
            Some((name, rest)) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                self.rest = rest;
                self.variable(name, &format!("${{{name}}}"));
            }
            _ => self.give_up('$'),
        }
    }

    fn variable(&mut self, name: &str, written: &str) {
        let value = match name {
            "HOME" => self.home,
            "PWD" => self.cwd,
            _ => None,
        };
        if let Some(path) = value {
            self.word.plain.push_str(&path.to_string_lossy());
        } else {
            self.mark_unknown();
            self.word.dynamic = true;
            self.word.plain.push_str(written);
        }
    }

    /// A substitution: from here on nothing is known, the rest stays as it was written.
    fn give_up(&mut self, c: char) {
        self.mark_unknown();
        self.word.dynamic = true;
        self.word.plain.push(c);
        self.word.plain.push_str(self.rest);
        self.rest = "";
    }

    /// `$'…'`, with C's escapes.
    fn ansi(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '\'' => return,
                '\\' => self.ansi_escape(),
                _ => self.word.plain.push(c),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let Some(c) = self.take() else { return };
        let code = match c {
            'n' => Some(0x0a),
            't' => Some(0x09),
            'r' => Some(0x0d),
            'a' => Some(0x07),
            'b' => Some(0x08),
            'e' | 'E' => Some(0x1b),
            'f' => Some(0x0c),
            'v' => Some(0x0b),
            'x' => self.number(16, 2),
            'u' => self.number(16, 4),
            'U' => self.number(16, 8),
            'c' => self.take().map(|k| u32::from(k) & 0x1f),
            '0'..='7' => {
                let more = self.rest;
                let first = c.to_digit(8).unwrap_or(0);
                let tail = self.number(8, 2).unwrap_or(0);
                Some(first * 8u32.pow(u32::try_from(more.len() - self.rest.len()).unwrap_or(0)) + tail)
            }
            other => Some(u32::from(other)),
        };
        self.word.plain.extend(code.map(|n| char::from_u32(n).unwrap_or(char::REPLACEMENT_CHARACTER)));
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let digits = self.rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        u32::from_str_radix(number, radix).ok()
    }
}
