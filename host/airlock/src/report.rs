//! How anything that went wrong is told to people, and with which exit code: what was attempted, on what; why; what to do next.

use crate::config::ConfigError;
use crate::tui::clean::clean_for;
use agent::AgentError;
use agent::journal::UndoError;
use model::budget::Limit;
use model::event::{Ending, RunOutcome};
use model::permission::Denial;
use model::provider::{FailureKind, ProviderFailure};
use model::store::StoreError;
use runtime::RuntimeError;
use std::fmt;
use std::io::Write;

/// The exit codes that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Well,
    /// Provider or internal error.
    Failed,
    /// Usage, config, or a file that is not there.
    Usage,
    /// No model, or no key.
    NoModel,
    /// A permission was denied, or nobody could give it.
    Denied,
    /// Steps, cost, time, tokens or output.
    Limit,
    /// The loop guard stopped it.
    Looped,
    /// The context could not be made to fit.
    Context,
    Interrupted,
}

impl Exit {
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoModel => 3,
            Self::Denied => 4,
            Self::Limit => 5,
            Self::Looped => 6,
            Self::Context => 7,
            Self::Interrupted => 130,
        }
    }
}

/// An error as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was attempted, on what; and why it did not go.
    pub what: String,
    /// What to do next.
    pub next: String,
    pub exit: Exit,
}

impl Report {
    #[must_use]
    pub fn new(exit: Exit, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), exit }
    }

    #[must_use]
    pub fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what, next)
    }

    /// A part of the interface that this version does not have.
    #[must_use]
    pub fn not_yet(what: &str) -> Self {
        Self::usage(format!("{what} is not there yet"), "`airlock --help` lists what this version can do.")
    }

    /// Something broke that should not.
    #[must_use]
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Exit::Failed, what, "If it happens again, set RUST_BACKTRACE=1 and report what is printed.")
    }

    /// Writes it to stderr. A closed stderr is no reason to fail differently.
    pub fn print(&self) {
        let mut err = anstream::stderr().lock();
        let red = anstyle::AnsiColor::Red.on_default().bold();
        // What went wrong is often told in words of a provider, a tool or a file.
        let is_terminal = err.is_terminal();
        let _ = writeln!(err, "{red}error:{red:#} {}", clean_for(is_terminal, &self.what));
        if !self.next.is_empty() {
            let _ = writeln!(err, "  {}", clean_for(is_terminal, &self.next));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<ConfigError> for Report {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string(), error.hint())
    }
}

impl From<StoreError> for Report {
    fn from(error: StoreError) -> Self {
        let is_usage = matches!(error, StoreError::NoSession(_) | StoreError::InboxFull { .. });
        let exit = if is_usage { Exit::Usage } else { Exit::Failed };
        // The ledger's sentences say what to do next themselves.
        Self::new(exit, error.to_string(), "")
    }
}

impl From<AgentError> for Report {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(error) => error.into(),
            // These say what to do next themselves.
            AgentError::NothingToAnswer(_) | AgentError::Schema(_) => Self::usage(error.to_string(), ""),
        }
    }
}

impl From<UndoError> for Report {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Store(error) => error.into(),
            error if error.is_usage() => Self::usage(error.to_string(), error.next()),
            error => Self::new(Exit::Failed, error.to_string(), error.next()),
        }
    }
}

impl From<RuntimeError> for Report {
    fn from(error: RuntimeError) -> Self {
        let exit = match error {
            RuntimeError::Compile { .. } | RuntimeError::Engine { .. } => Exit::Failed,
            _ => Exit::Usage,
        };
        // The boundary's sentences say what to do next themselves.
        Self::new(exit, error.to_string(), "")
    }
}

/// The exit code of a run that came to an end of its own.
#[must_use]
pub fn exit_of(outcome: &RunOutcome) -> Exit {
    match &outcome.ending {
        Ending::Done => Exit::Well,
        Ending::Failed(failure) => exit_of_failure(failure.kind),
        Ending::Internal(_) => Exit::Failed,
        Ending::Denied(_) => Exit::Denied,
        Ending::Limit(_) => Exit::Limit,
        Ending::Looped(_) => Exit::Looped,
        Ending::Interrupted => Exit::Interrupted,
    }
}

fn exit_of_failure(kind: FailureKind) -> Exit {
    if kind == FailureKind::ContextOverflow { Exit::Context } else { Exit::Failed }
}

/// What there is to say about a run that did not end well.
#[must_use]
pub fn of_ending(ending: &Ending, model: &str) -> Option<Report> {
    let exit = |what: String, next: &str, exit| Some(Report::new(exit, what, next));
    match ending {
        Ending::Done => None,
        Ending::Failed(failure) => Some(of_failure(failure, model)),
        Ending::Internal(why) => Some(Report::internal(format!("the run broke off: {why}"))),
        Ending::Denied(why) => {
            exit(format!("the run was stopped since an act was not permitted: {why}"), denied_next(why), Exit::Denied)
        }
        Ending::Limit(limit) => exit(of_limit(*limit).into(), of_limit_next(*limit), Exit::Limit),
        Ending::Looped(what) => exit(
            format!("the run was stopped since it went round in circles: {what}"),
            "Say it otherwise, or let it go on with `--allow doom_loop`; `airlock run --continue` keeps the session.",
            Exit::Looped,
        ),
        Ending::Interrupted => exit(
            "the run was interrupted; what was done is in the ledger".into(),
            "`airlock run --continue` goes on from here.",
            Exit::Interrupted,
        ),
    }
}

/// What to do about an act that was not permitted, by the words in which it was told.
#[must_use]
pub fn denied_next(why: &str) -> &'static str {
    let said = |denial: Denial| why.contains(&denial.to_string());
    if said(Denial::Rejected(None)) {
        return "Say to the model what it should do instead: `airlock run --continue \"…\"`.";
    }
    if why.contains("the flow rule `") {
        return "It was refused for what the session has read. [flow] in the config says which reading forbids what; a new session has read nothing.";
    }
    "Allow it with `--allow PERMISSION[:PATTERN]` or a rule in the config, answer on a terminal, or use --yes. Where the session has \
     read secrets, rules do not answer for requests: --yes does, or [flow] in the config."
}

/// A request that came to nothing.
#[must_use]
pub fn of_failure(failure: &ProviderFailure, model: &str) -> Report {
    let what = format!("the model {model} could not be asked: {}", failure.message);
    Report::new(exit_of_failure(failure.kind), what, next_step(failure.kind))
}

fn next_step(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Auth => "Check the key: `airlock providers` shows where each one is looked for.",
        FailureKind::Quota => "The account has nothing left: top it up, or choose another model with --model.",
        FailureKind::RateLimit | FailureKind::Overloaded => "Wait a while and go on with `airlock run --continue`.",
        FailureKind::ContextOverflow => "Begin a new session, or choose a model with a larger window.",
        FailureKind::InvalidRequest => "Check the model's name and the provider's options in the config.",
        FailureKind::ContentFilter => "The provider refused the content: say it otherwise, or choose another model.",
        FailureKind::Server => "It is the provider's fault: go on later with `airlock run --continue`.",
        FailureKind::Transport => "Check that the server runs, its base_url in the config, and the network.",
        FailureKind::MalformedToolCall => {
            "The model writes calls that cannot be read: choose another one with --model."
        }
        FailureKind::Unknown => "Go on with `airlock run --continue`, or choose another model with --model.",
    }
}

fn of_limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Steps => "the run was stopped: the limit of steps is reached",
        Limit::Cost => "the run was stopped: the limit of cost is reached",
        Limit::Wall => "the run was stopped: the limit of time is reached",
        Limit::Tokens => "the run was stopped: the limit of tokens is reached",
        Limit::OutputTokens => "the run was stopped: the limit of tokens that the model writes is reached",
        Limit::OutputBytes => "the run was stopped: the limit of bytes that the model writes is reached",
    }
}

fn of_limit_next(limit: Limit) -> &'static str {
    match limit {
        Limit::Steps => "`airlock run --continue --steps N` goes on with a new allowance.",
        Limit::Cost => "`airlock run --continue --cost USD` goes on with a new allowance.",
        Limit::Wall => "`airlock run --continue --wall T` goes on with a new allowance.",
        Limit::Tokens => "`airlock run --continue --tokens N` goes on with a new allowance.",
        Limit::OutputTokens | Limit::OutputBytes => {
            "`airlock run --continue` goes on with a new allowance; it is set in [limits] of the config."
        }
    }
}

/// Panics are bugs: one sentence, and the trace only for those who asked for it.
pub fn install_panic_report() {
    #[expect(clippy::disallowed_methods, reason = "how the process tells of its own bugs is nobody's work")]
    let wants_trace = std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0");
    if wants_trace {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        let what = info.payload_as_str().unwrap_or("no message");
        Report::internal(format!("this is a bug in airlock{place}: {what}")).print();
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::budget::Tokens;
    use model::message::FinishReason;

    fn failed(kind: FailureKind) -> Ending {
        Ending::Failed(ProviderFailure { kind, message: "why".into(), retryable: false, retry_after: None })
    }

    #[test]
    fn exit_codes_are_those_of_the_interface() {
        for (ending, code) in [
            (Ending::Done, 0),
            (failed(FailureKind::Server), 1),
            (failed(FailureKind::Auth), 1),
            (failed(FailureKind::ContextOverflow), 7),
            (Ending::Internal("x".into()), 1),
            (Ending::Denied("x".into()), 4),
            (Ending::Limit(Limit::Steps), 5),
            (Ending::Limit(Limit::Cost), 5),
            (Ending::Limit(Limit::Wall), 5),
            (Ending::Limit(Limit::Tokens), 5),
            (Ending::Limit(Limit::OutputBytes), 5),
            (Ending::Looped("x".into()), 6),
            (Ending::Interrupted, 130),
        ] {
            let outcome = RunOutcome {
                ending: ending.clone(),
                finish: FinishReason::Stop,
                text: String::new(),
                cost: 0.into(),
                tokens: Tokens::default(),
                steps: 1,
            };
            assert_eq!(exit_of(&outcome).code(), code, "{ending:?}");
            let report = of_ending(&ending, "p/m");
            assert_eq!(report.as_ref().map_or(0, |r| r.exit.code()), code);
            assert!(report.is_none_or(|r| !r.what.is_empty() && !r.next.is_empty()));
        }
    }

    #[test]
    fn a_file_or_session_that_is_not_there_is_a_matter_of_usage() {
        let no_home: Report = ConfigError::NoHome.into();
        assert_eq!(no_home.exit.code(), 2);
        let gone: Report = StoreError::NoSession(model::id::SessionId::new()).into();
        assert_eq!(gone.exit.code(), 2);
        let locked: Report = StoreError::Locked { path: "x".into() }.into();
        assert_eq!(locked.exit.code(), 1);
    }

    #[test]
    fn the_next_step_fits_the_refusal() {
        for (denial, word) in [
            (Denial::Unanswered, "--allow"),
            (Denial::Rejected(None), "--continue"),
            (Denial::Rejected(Some("not now".into())), "--continue"),
        ] {
            let report = of_ending(&Ending::Denied(format!("may not write x: {denial}")), "p/m").unwrap();
            assert!(report.next.contains(word), "{denial}: {}", report.next);
        }
        assert!(denied_next("the flow rule `secret -> net` forbids it").contains("[flow]"));
    }

    #[test]
    fn a_failure_names_the_model_the_reason_and_the_next_step() {
        let report = of_ending(&failed(FailureKind::Auth), "openai/gpt").unwrap();
        for word in ["openai/gpt", "why"] {
            assert!(report.what.contains(word));
        }
        assert!(report.next.contains("airlock providers"));
    }
}
