//! Exchanges with providers, kept in a folder and answered from it: a file each, in the order in which they were sent. A request is
//! kept as the adapter wrote it, with placeholders where secrets go; an answer after secrets were taken out of it.
//!
//! What changes from run to run by its nature (base URL, session, folder, day) is kept as a placeholder, too, so that a tape plays in
//! another place. Else a replay is strict: a request that differs is an error that shows the first difference.

mod difference;
mod exchange;

pub use exchange::{Asked, Said};

use crate::http::{Body, Head, Outgoing, Reply};
use crate::veil::Veiled;
use exchange::{Ended, Exchange};
use futures::StreamExt;
use futures::stream::BoxStream;
use model::provider::{FailureKind, ProviderFailure};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Files of one tape.
const MAX_EXCHANGES: usize = 9999;
/// Bytes of one file: an answer of full length, coded.
const MAX_FILE: u64 = 256 << 20;

/// Why a tape cannot be used. Says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    #[error("{} already holds a recording; name another folder, or remove it", dir.display())]
    Used { dir: PathBuf },
    #[error("{} holds no recording (`0001.json` and so on); make one with --record", dir.display())]
    Empty { dir: PathBuf },
    #[error("the recording cannot be written to {}: {why}", path.display())]
    Unwritable { path: PathBuf, why: String },
    #[error("the recording {} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
}

/// How fast a tape is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    AtOnce,
    /// With the pauses between the reads that were there when it was recorded.
    AsRecorded,
}

/// The longest pause that is played: no line is waited for longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// A text of this run, and what stands for it on the tape.
pub type StandIn = (String, &'static str);

pub struct Tape {
    dir: PathBuf,
    stand_ins: Vec<StandIn>,
    mode: Mode,
}

enum Mode {
    Record {
        taken: AtomicUsize,
    },
    /// Those that were not asked for yet stay.
    Replay {
        left: Mutex<Vec<(usize, Exchange)>>,
        pace: Pace,
    },
}

/// What one read gave.
type Heard = Result<bytes::Bytes, ProviderFailure>;

impl Tape {
    /// Records into a folder, which is made for its owner alone.
    ///
    /// # Errors
    /// A folder that cannot be written, or holds a recording.
    pub fn record(dir: &Path, stand_ins: Vec<StandIn>) -> Result<Arc<Self>, TapeError> {
        let unwritable = |e: io::Error| TapeError::Unwritable { path: dir.into(), why: e.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unwritable)?;
        if file(dir, 1).exists() {
            return Err(TapeError::Used { dir: dir.into() });
        }
        let mode = Mode::Record { taken: AtomicUsize::new(0) };
        Ok(Arc::new(Self { dir: dir.into(), stand_ins, mode }))
    }

    /// Answers from a folder, without any network.
    ///
    /// # Errors
    /// A folder without a recording, or with one that is damaged.
    pub fn replay(dir: &Path, stand_ins: Vec<StandIn>, pace: Pace) -> Result<Arc<Self>, TapeError> {
        let numbers = (1..=MAX_EXCHANGES).take_while(|n| file(dir, *n).exists());
        let left = numbers.map(|n| Ok((n, read(&file(dir, n))?))).collect::<Result<Vec<_>, TapeError>>()?;
        if left.is_empty() {
            return Err(TapeError::Empty { dir: dir.into() });
        }
        Ok(Arc::new(Self { dir: dir.into(), stand_ins, mode: Mode::Replay { left: Mutex::new(left), pace } }))
    }

    /// One exchange: sent and kept, or answered from the tape. `own` are further stand-ins of this request.
    ///
    /// # Errors
    /// The failure that came, or came when it was recorded; a request that is not on the tape.
    pub async fn exchange<F>(
        &self,
        outgoing: Outgoing,
        own: &[StandIn],
        send: impl FnOnce(Outgoing) -> F,
    ) -> Result<Reply, ProviderFailure>
    where
        F: Future<Output = Result<Reply, ProviderFailure>>,
    {
        let asked = Asked::new(&outgoing, own.iter().chain(&self.stand_ins));
        match &self.mode {
            Mode::Replay { left, pace } => self.play(&asked, left, *pace),
            Mode::Record { taken } => {
                let number = taken.fetch_add(1, Ordering::Relaxed) + 1;
                let recording = Recording::new(file(&self.dir, number), asked);
                recording.of(send(outgoing).await)
            }
        }
    }

    /// The first one that is left and equal: requests of one run need not come in the order of another.
    fn play(&self, asked: &Asked, left: &Mutex<Vec<(usize, Exchange)>>, pace: Pace) -> Result<Reply, ProviderFailure> {
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = left.iter().position(|(_, e)| e.request == *asked) {
            return reply(left.remove(at).1.response, pace);
        }
        let dir = self.dir.display();
        Err(off_tape(match left.first() {
            None => format!("The recording in {dir} is at its end, and another request came."),
            Some((number, next)) => {
                let difference = difference::first(&next.request, asked);
                format!("The request is not the recorded one ({dir}, {number:04}.json): {difference}.")
            }
        }))
    }
}

fn off_tape(message: String) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::InvalidRequest, message, retryable: false, retry_after: None }
}

fn file(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("{number:04}.json"))
}

fn read(path: &Path) -> Result<Exchange, TapeError> {
    let unreadable = |why: String| TapeError::Unreadable { path: path.into(), why };
    let mut text = String::new();
    let opened = fs::File::open(path).map_err(|e| unreadable(e.to_string()))?;
    opened.take(MAX_FILE).read_to_string(&mut text).map_err(|e| unreadable(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| unreadable(e.to_string()))
}

fn reply(said: Said, pace: Pace) -> Result<Reply, ProviderFailure> {
    match said {
        Said::Failure(failure) => Err(failure.into()),
        Said::Refused { status, headers, body } => {
            Ok(Reply::Refused(crate::http::Answer { status, headers, body: body.into_bytes() }))
        }
        Said::Stream { status, headers, pieces, end } => {
            let broke = match end {
                Ended::Broke(failure) => Some(Err(failure.into())),
                Ended::Whole | Ended::Left => None,
            };
            let heard = pieces.into_iter().map(|p| (p.after(), Ok(p.bytes.into_bytes().into())));
            let pieces: Vec<_> = heard.chain(broke.map(|b| (Duration::ZERO, b))).collect();
            let body = Body::new(paced(pieces, pace), Veiled::default(), Duration::MAX);
            Ok(Reply::Stream { head: Head { status, headers }, body })
        }
    }
}

fn paced(pieces: Vec<(Duration, Heard)>, pace: Pace) -> BoxStream<'static, Heard> {
    let pieces = futures::stream::iter(pieces);
    match pace {
        Pace::AtOnce => pieces.map(|(_, piece)| piece).boxed(),
        Pace::AsRecorded => pieces
            .then(|(after, piece)| async move {
                tokio::time::sleep(after.min(LONGEST_PAUSE)).await;
                piece
            })
            .boxed(),
    }
}

/// An exchange that is being kept. It is written when the answer has ended, or when nobody listens any more.
pub struct Recording {
    path: PathBuf,
    asked: Option<Asked>,
    head: Head,
    pieces: Vec<exchange::Piece>,
    last: tokio::time::Instant,
}

impl Recording {
    fn new(path: PathBuf, asked: Asked) -> Self {
        let last = tokio::time::Instant::now();
        Self { path, asked: Some(asked), head: Head::default(), pieces: Vec::new(), last }
    }

    fn of(mut self, came: Result<Reply, ProviderFailure>) -> Result<Reply, ProviderFailure> {
        match came {
            Ok(Reply::Stream { head, body }) => {
                self.head = head.clone();
                Ok(Reply::Stream { head, body: body.kept_in(self) })
            }
            Ok(Reply::Refused(answer)) => {
                self.write(Said::refused(&answer));
                Ok(Reply::Refused(answer))
            }
            Err(failure) => {
                self.write(Said::Failure((&failure).into()));
                Err(failure)
            }
        }
    }

    pub fn heard(&mut self, bytes: &[u8]) {
        let now = tokio::time::Instant::now();
        let after = now.duration_since(std::mem::replace(&mut self.last, now));
        self.pieces.push(exchange::Piece::new(after, bytes));
    }

    pub fn ended(&mut self, failure: Option<&ProviderFailure>) {
        self.close(failure.map_or(Ended::Whole, |f| Ended::Broke(f.into())));
    }

    fn close(&mut self, end: Ended) {
        let Head { status, headers } = std::mem::take(&mut self.head);
        let pieces = std::mem::take(&mut self.pieces);
        self.write(Said::Stream { status, headers, pieces, end });
    }

    /// Once; a recording that cannot be written does not break the run.
    fn write(&mut self, response: Said) {
        let Some(request) = self.asked.take() else { return };
        if let Err(error) = write(&self.path, &Exchange { request, response }) {
            tracing::warn!(path = %self.path.display(), %error, "an exchange could not be recorded");
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.close(Ended::Left);
    }
}

fn write(path: &Path, exchange: &Exchange) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    serde_json::to_writer_pretty(&mut file, exchange)?;
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests;
