//! Programs that outlive the call which started them. They belong to a session and are gone when its run is over.

use crate::id::SessionId;
use async_trait::async_trait;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Code(i32),
    Signal(i32),
    /// Its own time was up.
    TimedOut,
    /// It was asked to.
    Stopped,
    /// It printed more than any program in the background may.
    Flooded,
    /// Killed by whoever watched it: the host itself.
    Killed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::TimedOut => f.write_str("its time was up"),
            Self::Stopped => f.write_str("it was stopped"),
            Self::Flooded => f.write_str("stopped: it printed more than a program in the background may"),
            Self::Killed => f.write_str("it was killed"),
        }
    }
}

/// What is seen of a program at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// The line that was run.
    pub line: String,
    /// What it printed since it was last looked at, as it came.
    pub output: Vec<u8>,
    /// Bytes of it that came before `output` and were not kept.
    pub dropped: u64,
    /// The file that keeps all of it, once there is one.
    pub kept: Option<PathBuf>,
    /// From its start to now, or to its end.
    pub age: Duration,
    /// `None` = it runs.
    pub end: Option<End>,
}

/// A program whose end nobody was told of yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub id: String,
    pub line: String,
    pub end: End,
}

/// Whoever looks after such programs. No session sees those of another.
#[async_trait]
pub trait Background: Send + Sync {
    /// What is new of a program. Waits for its end at most so long; whoever drops the wait loses nothing. `None` = there is no such
    /// program in this session. Its end, once seen here, is not told again.
    async fn look(&self, session: &SessionId, id: &str, wait: Duration) -> Option<Glance>;

    /// Ends a program with all that it started, and says what was new of it.
    async fn stop(&self, session: &SessionId, id: &str) -> Option<Glance>;

    /// Ids and lines of a session's programs, those that have ended included.
    fn list(&self, session: &SessionId) -> Vec<(String, String)>;

    /// Takes those that have ended and whose end nobody was told of: each is given once.
    fn ended(&self, session: &SessionId) -> Vec<Ended>;

    /// The session's run is over: ends all its programs and forgets them.
    async fn close(&self, session: &SessionId);
}
