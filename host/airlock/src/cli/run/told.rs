//! How a run is shown, to people or to programs, up to its last line.

use crate::attempts::Trial;
use crate::cli::{Format, say};
use crate::json_lines::{JsonLines, lost};
use crate::report::{self, Exit, Report};
use crate::tui::{Eyes, Screen};
use crate::wire;
use model::event::{Ending, EventSink, RunOutcome};
use model::id::SessionId;
use model::message::FinishReason;
use std::sync::Arc;

/// What a run came to, and in which session.
pub(super) struct Stood {
    pub session: SessionId,
    pub outcome: RunOutcome,
    /// Where there were several attempts.
    pub attempts: Vec<Trial>,
}

pub(super) enum Shown {
    Text(Arc<Screen>),
    Lines(Arc<JsonLines<std::io::Stdout>>),
}

impl Shown {
    pub(super) fn new(format: Format, screen: &Arc<Screen>) -> Self {
        match format {
            Format::Text => Self::Text(screen.clone()),
            Format::Json => Self::Lines(Arc::new(JsonLines::new(std::io::stdout(), wire::now_ms))),
        }
    }

    pub(super) fn sink(&self) -> Arc<dyn EventSink> {
        match self {
            Self::Text(screen) => screen.clone(),
            Self::Lines(lines) => lines.clone(),
        }
    }
}

pub(super) fn screen() -> Arc<Screen> {
    Arc::new(Screen::new(Eyes::look()))
}

/// A run that could not go on. Programs get their last lines all the same; the sentence for people is the error's own.
pub(super) fn broke_off(shown: &Shown, session: &SessionId, report: Report) -> Report {
    match shown {
        Shown::Text(screen) => screen.rest(),
        Shown::Lines(lines) => lines.broke_off(session, &report.what, report.exit),
    }
    report
}

/// The last line, and the code to leave with.
pub(super) fn tell(shown: &Shown, model: &str, stood: &Stood) -> Exit {
    let Stood { session, outcome, attempts } = stood;
    let exit = report::exit_of(outcome);
    let lost = match shown {
        Shown::Text(screen) => screen.answer(&outcome.text).err().as_ref().and_then(lost),
        Shown::Lines(lines) => {
            if let Ending::Internal(why) = &outcome.ending {
                lines.internal_error(session, why);
            }
            lines.result(session, outcome, attempts, exit);
            lines.lost()
        }
    };
    if let (Some(why), Exit::Well) = (lost, exit) {
        unwritten(session, &why).print();
        return Exit::Failed;
    }
    if let Some(report) = report::of_ending(&outcome.ending, model) {
        report.print();
    } else if let Some(note) = cut_short(outcome.finish) {
        say(note);
    }
    exit
}

/// An answer that nobody got is no success.
fn unwritten(session: &SessionId, why: &str) -> Report {
    let what = format!("the answer could not be written to standard output: {why}");
    Report::new(Exit::Failed, what, format!("It is in the ledger: `airlock session show {session}`."))
}

/// What a person should know of an answer that ended well and is not whole.
fn cut_short(finish: FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::Length => Some("the answer was cut: the limit of output tokens is reached"),
        FinishReason::ContentFilter => Some("the answer was cut by the provider's content filter"),
        FinishReason::Stop
        | FinishReason::ToolCalls
        | FinishReason::Pause
        | FinishReason::Error
        | FinishReason::Unknown => None,
    }
}
