//! One file after the other, in constant memory.

use airlock::ToolOutput;
use regex::bytes::Regex;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Matches in one result.
const MAX_MATCHES: usize = 100;
/// Characters of a line that are shown.
const MAX_SHOWN: usize = 500;
/// Bytes of a line that are searched: a longer line is data, and its rest is passed over.
const MAX_LINE: u64 = 1 << 20;
const BUFFER: usize = 64 * 1024;

/// How it went with one file.
#[derive(Debug)]
pub(crate) enum Looked {
    Searched,
    Binary,
    Failed(io::Error),
}

/// What was found so far.
pub(crate) struct Hits {
    regex: Regex,
    text: String,
    count: usize,
    more: bool,
    unreadable: usize,
    line: Vec<u8>,
}

impl Hits {
    pub(crate) fn new(regex: Regex) -> Self {
        Self { regex, text: String::new(), count: 0, more: false, unreadable: 0, line: Vec::new() }
    }

    /// A match beyond the limit was seen.
    pub(crate) fn is_full(&self) -> bool {
        self.more
    }

    /// Searches a file. One that cannot be read is counted.
    pub(crate) fn look(&mut self, path: &Path) -> Looked {
        match self.try_look(path) {
            Ok(looked) => looked,
            Err(error) => {
                self.unreadable += 1;
                Looked::Failed(error)
            }
        }
    }

    fn try_look(&mut self, path: &Path) -> io::Result<Looked> {
        let mut reader = BufReader::with_capacity(BUFFER, File::open(path)?);
        if reader.fill_buf()?.contains(&0) {
            return Ok(Looked::Binary);
        }
        let (mut number, mut is_first) = (0, true);
        while !self.more && self.next_line(&mut reader)? {
            number += 1;
            if self.regex.is_match(&self.line) {
                self.hit(path, number, is_first);
                is_first = false;
            }
        }
        Ok(Looked::Searched)
    }

    /// The next line without its end. `false` = end of file.
    fn next_line(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        self.line.clear();
        reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line)?;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if self.line.len() as u64 == MAX_LINE {
            reader.skip_until(b'\n')?;
        } else {
            return Ok(!self.line.is_empty());
        }
        Ok(true)
    }

    fn hit(&mut self, path: &Path, number: usize, is_first: bool) {
        if self.count == MAX_MATCHES {
            self.more = true;
            return;
        }
        self.count += 1;
        if is_first {
            let separator = if self.text.is_empty() { "" } else { "\n" };
            let path: PathBuf = path.components().collect();
            let _ = writeln!(self.text, "{separator}{}:", path.display());
        }
        let _ = writeln!(self.text, "  Line {number}: {}", shown(&self.line, &self.regex));
    }

    pub(crate) fn output(self, notes: &str) -> ToolOutput {
        let mut text = match self.count {
            0 => "No matches found".to_owned(),
            1 => format!("Found 1 match\n{}", self.text),
            n => format!("Found {n} matches\n{}", self.text),
        };
        if self.more {
            let _ = write!(
                text,
                "\n(Results are truncated: the first {MAX_MATCHES} matches. Use a narrower pattern, path or include.)"
            );
        }
        if self.unreadable > 0 {
            let _ = write!(text, "\n({} files could not be read and were skipped.)", self.unreadable);
        }
        text += notes;
        ToolOutput::text(text).with("matches", self.count).with("truncated", self.more)
    }
}

/// The part of a line that holds the match.
fn shown(line: &[u8], regex: &Regex) -> String {
    let text = String::from_utf8_lossy(line);
    if text.chars().nth(MAX_SHOWN).is_none() {
        return text.into_owned();
    }
    let start = regex.find(line).map_or(0, |m| m.start().saturating_sub(MAX_SHOWN / 4));
    let cut: String = String::from_utf8_lossy(&line[start..]).chars().take(MAX_SHOWN).collect();
    format!("{}{cut}… (line truncated, {} bytes)", if start > 0 { "…" } else { "" }, line.len())
}
