//! Lines of text, streamed: memory does not grow with the file.

use airlock::{ToolFailure, ToolOutput};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use textfile::Text;

/// Characters of a line that are shown.
const MAX_LINE: usize = 2000;
/// Bytes of a line that are kept: enough for so many characters, and one to see that there are more.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE + 4;
/// Bytes of the lines in one result.
const MAX_BYTES: usize = 50 * 1024;
/// Bytes behind the window that are read to count the lines.
const MAX_COUNTED: u64 = 256 << 20;
const PREVIEW_LINES: usize = 20;
const BUFFER: usize = 64 * 1024;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// From 1.
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Window {
    pub(crate) fn skipped(self) -> usize {
        usize::try_from(self.offset - 1).unwrap_or(usize::MAX)
    }

    pub(crate) fn taken(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }

    pub(crate) fn past_the_end(self, of: &str, total: u64) -> ToolFailure {
        ToolFailure::InvalidInput(format!("Offset {} is past the end: there are {total} {of}.", self.offset))
    }
}

/// Reads a file of UTF-8, or of bytes that are shown as far as they are.
pub(crate) fn read(path: &Path, file: impl Read, len: u64, window: Window) -> Result<ToolOutput, ToolFailure> {
    let buffer = usize::try_from(len).map_or(BUFFER, |len| BUFFER.min(len + 1));
    from_reader(path, &mut BufReader::with_capacity(buffer, file), window)
}

/// Reads a file of UTF-16, whole: it is decoded first.
pub(crate) fn read_utf16(path: &Path, window: Window) -> Result<ToolOutput, ToolFailure> {
    let bytes = textfile::load(path)?.ok_or_else(|| textfile::missing(path))?;
    let text =
        Text::decode(&bytes).map_err(|e| ToolFailure::InvalidInput(format!("Cannot read {}: {e}.", path.display())))?;
    from_reader(path, &mut text.text.as_bytes(), window)
}

fn from_reader(path: &Path, reader: &mut dyn BufRead, window: Window) -> Result<ToolOutput, ToolFailure> {
    let page = Page::read(reader, window).map_err(|e| ToolFailure::io(&format!("read {}", path.display()), &e))?;
    if page.shown == 0 && window.offset > 1 {
        return Err(window.past_the_end("lines", page.passed));
    }
    let text = format!(
        "<path>{}</path>\n<type>file</type>\n<content>\n{}</content>\n{}",
        path.display(),
        page.text,
        page.foot(window)
    );
    let truncated = page.is_cut();
    Ok(ToolOutput::text(text).with("preview", page.preview).with("truncated", truncated))
}

/// Why a page ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    File,
    /// As many lines as were wanted; how many there are, if they were counted.
    Lines {
        total: Option<u64>,
    },
    /// As many bytes as one result may have.
    Bytes,
}

/// What is shown.
struct Page {
    text: String,
    preview: String,
    /// Lines before the window that were there.
    passed: u64,
    shown: u64,
    cut_lines: u64,
    replaced: bool,
    end: End,
}

impl Page {
    fn read(reader: &mut dyn BufRead, window: Window) -> io::Result<Self> {
        let mut page = Self {
            text: String::new(),
            preview: String::new(),
            passed: 0,
            shown: 0,
            cut_lines: 0,
            replaced: false,
            end: End::File,
        };
        while page.passed < window.offset - 1 {
            if reader.skip_until(b'\n')? == 0 {
                return Ok(page);
            }
            page.passed += 1;
        }
        page.fill(reader, window)?;
        Ok(page)
    }

    fn fill(&mut self, reader: &mut dyn BufRead, window: Window) -> io::Result<()> {
        let mut line = Vec::new();
        while let Some(len) = next_line(reader, &mut line)? {
            if self.shown == window.limit {
                let total = count(reader)?.map(|rest| self.passed + self.shown + 1 + rest);
                self.end = End::Lines { total };
                return Ok(());
            }
            if !self.push(&line, len) {
                self.end = End::Bytes;
                return Ok(());
            }
        }
        Ok(())
    }

    /// `false` where the line has no room. The first has always.
    fn push(&mut self, line: &[u8], len: usize) -> bool {
        let text = String::from_utf8_lossy(line);
        let is_first = self.passed + self.shown == 0;
        let text = if is_first { text.trim_start_matches('\u{feff}') } else { &text };
        let cut = text.char_indices().nth(MAX_LINE).map(|(at, _)| at);
        let mark =
            cut.map_or(String::new(), |_| format!("… (line truncated at {MAX_LINE} characters, it has {len} bytes)"));
        let shown = format!("{}: {}{mark}\n", self.passed + self.shown + 1, &text[..cut.unwrap_or(text.len())]);
        if self.text.len() + shown.len() > MAX_BYTES && self.shown > 0 {
            return false;
        }
        if self.shown < PREVIEW_LINES as u64 {
            self.preview.push_str(&text[..cut.unwrap_or(text.len())]);
            self.preview.push('\n');
        }
        self.replaced |= text.contains(char::REPLACEMENT_CHARACTER) && str::from_utf8(line).is_err();
        self.cut_lines += u64::from(cut.is_some());
        self.shown += 1;
        self.text += &shown;
        true
    }

    fn is_cut(&self) -> bool {
        self.end != End::File || self.cut_lines > 0
    }

    fn foot(&self, window: Window) -> String {
        let last = self.passed + self.shown;
        let mut foot = match self.end {
            End::File if last == 0 => "(The file is empty.)".to_owned(),
            End::File => format!("(End of file: {last} lines.)"),
            End::Lines { total } => {
                let total = total.map_or("many more".to_owned(), |n| n.to_string());
                format!(
                    "(Truncated: lines {} to {last} of {total}. Use offset {} to read on.)",
                    window.offset,
                    last + 1
                )
            }
            End::Bytes => format!(
                "(Truncated at {} KiB: lines {} to {last}. Use offset {} to read on.)",
                MAX_BYTES / 1024,
                window.offset,
                last + 1
            ),
        };
        if self.cut_lines > 0 {
            foot += "\n(The rest of a long line can be found by grep, or printed by a program.)";
        }
        if self.replaced {
            foot += "\n(The encoding is not UTF-8: other bytes are shown as \u{fffd}.)";
        }
        foot
    }
}

/// The next line without its end, up to what is shown of it, and its length in bytes. `None` = end of file.
fn next_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<usize>> {
    line.clear();
    let mut len = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|b| *b == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&piece[..piece.len().min(MAX_LINE_BYTES - line.len())]);
        len += piece.len();
        let (used, at_end) = (piece.len() + usize::from(end.is_some()), buffer.is_empty());
        reader.consume(used);
        if at_end && len == 0 {
            return Ok(None);
        }
        if at_end || end.is_some() {
            line.pop_if(|b| *b == b'\r');
            return Ok(Some(len));
        }
    }
}

/// The lines that are left, unless there are too many bytes to look through.
fn count(reader: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let (mut lines, mut bytes, mut is_open) = (0, 0, false);
    while bytes < MAX_COUNTED {
        let buffer = reader.fill_buf()?;
        let Some(last) = buffer.last() else { return Ok(Some(lines + u64::from(is_open))) };
        is_open = *last != b'\n';
        lines += buffer.iter().filter(|b| **b == b'\n').count() as u64;
        let used = buffer.len();
        bytes += used as u64;
        reader.consume(used);
    }
    Ok(None)
}
