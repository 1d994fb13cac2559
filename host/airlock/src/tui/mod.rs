//! What a person sees of a run: live on a terminal, plain lines otherwise. The answer goes to stdout, all else to stderr.

pub mod asker;
pub mod clean;
mod diff;
pub mod hidden;
mod input;
mod inquiry;
mod kept;
mod tool_line;

use clean::clean;
use indicatif::{ProgressBar, ProgressStyle};
use kept::{Kept, Output};
use model::event::{DeltaKind, Event, EventSink};
use model::id::{MessageId, PartId};
use model::message::{Message, Part, PartBody, TextPart, ToolPart};
use model::tool_state::ToolState;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Which of the two streams a person looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eyes {
    /// Text is shown as it comes.
    pub stdout: bool,
    /// There is a spinner, and colour.
    pub stderr: bool,
}

impl Eyes {
    #[must_use]
    pub fn look() -> Self {
        Self { stdout: std::io::stdout().is_terminal(), stderr: std::io::stderr().is_terminal() }
    }
}

/// The screen of one run. Shared by the observer and whoever asks questions, so that nothing writes through a spinner.
pub struct Screen {
    eyes: Eyes,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spinner: Option<ProgressBar>,
    /// The part whose text is being written, and whether its line is still open.
    open: Option<PartId>,
    mid_line: bool,
    shown: HashSet<PartId>,
    /// Messages that are summaries: they are for the model.
    summaries: HashSet<MessageId>,
    /// A person is typing: nothing may move the line, and what comes waits.
    held: bool,
    kept: Kept,
}

impl Screen {
    #[must_use]
    pub fn new(eyes: Eyes) -> Self {
        Self { eyes, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears what is live, so that the caller may write whole lines.
    pub fn rest(&self) {
        self.state().rest();
    }

    /// Clears what is live, and keeps all output back until the hold is dropped.
    #[must_use]
    pub fn hold(&self) -> Hold<'_> {
        let mut state = self.state();
        state.rest();
        state.held = true;
        Hold(self)
    }

    /// Shows that something is being waited for.
    pub fn wait(&self, what: &str) {
        if self.eyes.stderr {
            self.state().wait(what);
        }
    }

    /// A whole line to stderr.
    pub fn line(&self, line: &str) {
        self.state().line(line);
    }

    /// The answer, unless it was shown while it came.
    ///
    /// # Errors
    /// What kept it from being written.
    pub fn answer(&self, text: &str) -> std::io::Result<()> {
        self.rest();
        if self.eyes.stdout || text.is_empty() {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        write!(out, "{text}{end}").and_then(|()| out.flush())
    }

    fn delta(&self, part: &PartId, kind: DeltaKind, text: &str) {
        match kind {
            DeltaKind::Text if self.eyes.stdout => self.state().write(part, text),
            DeltaKind::Text => {}
            DeltaKind::Reasoning => self.wait("thinking"),
        }
    }

    fn part(&self, part: &Part) {
        match &part.body {
            PartBody::Text(text) => self.text(part, text),
            PartBody::Tool(tool) => self.tool(part, tool),
            PartBody::StepStart { .. } => self.wait("waiting for the model"),
            PartBody::Reasoning(_)
            | PartBody::File(_)
            | PartBody::StepFinish(_)
            | PartBody::Retry(_)
            | PartBody::Compaction(_)
            | PartBody::Prefix(_) => {}
        }
    }

    fn text(&self, part: &Part, text: &TextPart) {
        if !self.eyes.stdout || text.time.is_none_or(|t| t.end.is_none()) {
            return;
        }
        let mut state = self.state();
        if !state.shown.contains(&part.id) {
            state.write(&part.id, &text.text);
        }
        state.rest();
    }

    fn tool(&self, part: &Part, tool: &ToolPart) {
        match &tool.state {
            ToolState::Pending { .. } => {}
            ToolState::Running { .. } => self.wait(&tool_line::running(tool)),
            ToolState::Completed { .. } | ToolState::Error { .. } => self.tool_ended(part, tool),
        }
    }

    /// What a child does is told in lines; its words are for its parent.
    fn child(&self, agent: &str, event: Event) {
        match event {
            Event::PartUpdated { part } => {
                let PartBody::Tool(tool) = &part.body else { return };
                if !tool.state.is_final() {
                    self.wait(&format!("{}: {}", clean(agent), tool_line::running(tool)));
                } else if self.state().shown.insert(part.id.clone()) {
                    self.line(&format!("  ↳ {}: {}", clean(agent), tool_line::ended(tool)));
                }
            }
            Event::Retry { error, .. } => {
                self.line(&format!("  ↳ {}: trying again: {}", clean(agent), clean(&error.message)));
            }
            Event::Failed { error, .. } => {
                self.line(&format!("  ↳ {}: failed: {}", clean(agent), clean(&error.message)));
            }
            _ => {}
        }
    }

    fn tool_ended(&self, part: &Part, tool: &ToolPart) {
        if !self.state().shown.insert(part.id.clone()) {
            return;
        }
        self.line(&tool_line::ended(tool));
        if let (true, ToolState::Completed { metadata, .. }) = (self.eyes.stderr, &tool.state) {
            metadata.get("diff").and_then(|d| d.as_str()).map(diff::coloured).iter().for_each(|d| self.line(d));
        }
    }

    fn is_summary(&self, message: &MessageId) -> bool {
        self.state().summaries.contains(message)
    }

    fn dropped(&self, part: &Part) {
        let mut state = self.state();
        if state.open.as_ref() == Some(&part.id) || state.kept.has_text_of(&part.id) {
            state.line("(the attempt above was given up)");
        }
    }
}

/// A person has the screen.
pub struct Hold<'a>(&'a Screen);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.state().release();
    }
}

impl EventSink for Screen {
    fn emit(&self, event: Event) {
        match event {
            Event::PartDelta { message, .. } if self.is_summary(&message) => self.wait("summarising the conversation"),
            Event::PartDelta { part, kind, delta, .. } => self.delta(&part, kind, &delta),
            Event::PartUpdated { part } if self.is_summary(&part.message_id) => {}
            Event::PartUpdated { part } => self.part(&part),
            Event::PartDropped { part } => self.dropped(&part),
            Event::Retry { attempt, next, error, .. } => {
                let wait = tool_line::length(u64::try_from(next.as_millis()).unwrap_or(u64::MAX));
                self.line(&format!("attempt {attempt} failed: {}; trying again in {wait}", clean(&error.message)));
            }
            Event::Compacted { before, after, .. } => {
                self.line(&format!("the conversation was summarised: about {before} tokens became {after}"));
            }
            Event::Rewound { messages, files, .. } => {
                self.line(&format!(
                    "the model went back: {messages} messages left the talk, {files} changes were taken back"
                ));
            }
            Event::Switched { from, to, error, .. } => {
                self.line(&format!("{from} failed: {}; going on with {to}", clean(&error.message)));
            }
            Event::MessageUpdated { info: Message::Assistant(info) } if info.summary => {
                self.state().summaries.insert(info.id.clone());
            }
            Event::Answered { ask, reply: None } => {
                self.line(&format!(
                    "not permitted, nobody to ask: {} {}",
                    clean(&ask.permission),
                    clean(&ask.patterns.join(", "))
                ));
            }
            Event::SessionOpened { .. }
            | Event::MessageUpdated { .. }
            | Event::Asked { .. }
            | Event::Inquired { .. }
            | Event::Replied { .. }
            | Event::Answered { .. }
            | Event::Failed { .. } => {}
            Event::Finished { .. } => self.rest(),
            Event::Child { agent, event } => self.child(&agent, *event),
        }
    }
}

impl State {
    fn rest(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        if std::mem::take(&mut self.mid_line) {
            // Ends the line of the text that was being written.
            let _ = std::io::stdout().lock().write_all(b"\n");
        }
        self.open = None;
    }

    fn wait(&mut self, what: &str) {
        if self.mid_line || self.held {
            return;
        }
        let spinner = self.spinner.get_or_insert_with(spinner);
        spinner.set_message(what.to_owned());
    }

    fn line(&mut self, line: &str) {
        if self.held {
            return self.kept.push(Output::Line(line.to_owned()));
        }
        self.rest();
        crate::cli::say_styled(line);
    }

    /// Shows what has waited.
    fn release(&mut self) {
        self.held = false;
        for output in self.kept.take() {
            match output {
                Output::Line(line) => self.line(&line),
                Output::Text(part, text) => self.write(&part, &text),
            }
        }
    }

    fn write(&mut self, part: &PartId, text: &str) {
        if self.held {
            self.shown.insert(part.clone());
            return self.kept.push(Output::Text(part.clone(), text.to_owned()));
        }
        if self.open.as_ref() != Some(part) {
            self.rest();
            self.open = Some(part.clone());
            self.shown.insert(part.clone());
        }
        let text = clean(text);
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.mid_line = text.chars().next_back().map_or(self.mid_line, |c| c != '\n');
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner:.dim} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_holds_all_output_back_until_it_is_answered() {
        let screen = Screen::new(Eyes { stdout: true, stderr: true });
        let part = PartId::new();
        let hold = screen.hold();
        screen.line("a line");
        screen.delta(&part, DeltaKind::Text, "text");
        screen.wait("something");
        assert!(screen.state().spinner.is_none() && screen.state().open.is_none());
        assert!(screen.state().kept.has_text_of(&part));
        drop(hold);
        let mut state = screen.state();
        assert!(state.kept.take().is_empty() && !state.held);
        assert_eq!(state.open, Some(part));
        state.rest();
    }
}
