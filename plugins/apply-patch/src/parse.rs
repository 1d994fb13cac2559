//! The envelope: which files a patch speaks of, and what it says of each.

/// What a patch says of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    Add { path: String, content: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

/// One place of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// A line above the place.
    pub below: Option<String>,
    pub lines: Vec<Line>,
    /// The last line is the file's last.
    pub at_end: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Stays(String),
    Goes(String),
    Comes(String),
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Reads a patch.
///
/// # Errors
/// What is wrong with it, with the number of the line.
pub fn sections(patch: &str) -> Result<Vec<Section>, String> {
    let mut reader = Reader { lines: body(patch)?, at: 0 };
    let mut all = Vec::new();
    while let Some(section) = reader.section()? {
        all.push(section);
    }
    if all.is_empty() { Err("The patch is empty: it names no file.".into()) } else { Ok(all) }
}

/// The lines between the marks, numbered as in the patch. Models wrap a patch into a here-document or a fence now and then.
fn body(patch: &str) -> Result<Vec<(usize, &str)>, String> {
    let lines: Vec<(usize, &str)> = patch.lines().enumerate().map(|(i, l)| (i + 1, l)).collect();
    let begin = lines.iter().position(|(_, l)| l.trim() == BEGIN);
    let end = lines.iter().rposition(|(_, l)| l.trim() == END);
    match (begin, end) {
        (Some(begin), Some(end)) if begin < end => Ok(lines[begin + 1..end].to_vec()),
        (None, _) => Err(format!("The patch does not begin with the line `{BEGIN}`.")),
        (Some(_), _) => Err(format!("The patch does not end with the line `{END}`. Write it again, whole.")),
    }
}

struct Reader<'p> {
    lines: Vec<(usize, &'p str)>,
    at: usize,
}

impl<'p> Reader<'p> {
    fn peek(&self) -> Option<(usize, &'p str)> {
        self.lines.get(self.at).copied()
    }

    fn take_if<T>(&mut self, how: impl FnOnce(&'p str) -> Option<T>) -> Option<T> {
        let taken = self.peek().and_then(|(_, line)| how(line))?;
        self.at += 1;
        Some(taken)
    }

    fn section(&mut self) -> Result<Option<Section>, String> {
        while self.take_if(|l| l.trim().is_empty().then_some(())).is_some() {}
        let Some((number, line)) = self.peek() else { return Ok(None) };
        self.at += 1;
        if let Some(path) = named(line, "*** Add File:") {
            return Ok(Some(Section::Add { path: path.into(), content: self.content() }));
        }
        if let Some(path) = named(line, "*** Delete File:") {
            return Ok(Some(Section::Delete { path: path.into() }));
        }
        if let Some(path) = named(line, "*** Update File:") {
            return self.update(path.to_owned()).map(Some);
        }
        Err(format!(
            "Line {number} of the patch is no header of a file (`*** Add File: PATH`, `*** Update File: PATH` or \
             `*** Delete File: PATH`): {line}"
        ))
    }

    fn content(&mut self) -> String {
        let mut content = String::new();
        while let Some(line) = self.take_if(|l| l.strip_prefix('+')) {
            content.push_str(line);
            content.push('\n');
        }
        content
    }

    fn update(&mut self, path: String) -> Result<Section, String> {
        let to = self.take_if(|l| named(l, "*** Move to:")).map(str::to_owned);
        let mut hunks = Vec::new();
        while let Some(hunk) = self.hunk()? {
            hunks.push(hunk);
        }
        if hunks.is_empty() && to.is_none() {
            return Err(format!("The patch changes nothing in {path}: the section has no hunk."));
        }
        Ok(Section::Update { path, to, hunks })
    }

    /// The first hunk may go without its `@@`.
    fn hunk(&mut self) -> Result<Option<Hunk>, String> {
        let mut hunk = Hunk::default();
        let begins = self.take_if(|l| l.strip_prefix("@@"));
        if let Some(below) = begins.map(|b| b.trim().trim_end_matches("@@").trim_end()).filter(|b| !b.is_empty()) {
            hunk.below = Some(below.to_owned());
        }
        while let Some(line) = self.take_if(line_of) {
            hunk.lines.push(line);
        }
        hunk.at_end = self.take_if(|l| (l.trim() == END_OF_FILE).then_some(())).is_some();
        match (begins, hunk.lines.is_empty(), self.peek()) {
            (_, false, _) => Ok(Some(hunk)),
            (Some(_), true, _) => Err(format!("A hunk without lines ends before line {} of the patch.", self.number())),
            (None, true, Some((number, line))) if !line.starts_with("*** ") => {
                Err(format!("Line {number} of the patch begins with none of ` `, `-`, `+`, `@@` and `***`: {line}"))
            }
            (None, true, _) => Ok(None),
        }
    }

    fn number(&self) -> usize {
        self.peek().or(self.lines.last().copied()).map_or(0, |(number, _)| number)
    }
}

fn named<'l>(line: &'l str, header: &str) -> Option<&'l str> {
    line.trim_end().strip_prefix(header).map(str::trim).filter(|path| !path.is_empty())
}

/// A line without anything is an empty line that stays: its space gets lost easily.
fn line_of(line: &str) -> Option<Line> {
    match line.chars().next() {
        None => Some(Line::Stays(String::new())),
        Some(' ') => Some(Line::Stays(line[1..].to_owned())),
        Some('-') => Some(Line::Goes(line[1..].to_owned())),
        Some('+') => Some(Line::Comes(line[1..].to_owned())),
        Some(_) => None,
    }
}
