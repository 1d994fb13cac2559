//! The bytes of an answer, as they come: veiled, bounded in time, put together to what one push takes.

use super::{because, transport};
use crate::tape::Recording;
use crate::veil::Veiled;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use model::provider::ProviderFailure;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes that are put together for one push.
const READ: usize = 64 << 10;

/// What arrives; nothing more after a failure.
pub type Pieces = BoxStream<'static, Result<Bytes, ProviderFailure>>;

/// The body of an answer. Dropping it ends the connection.
pub struct Body {
    pieces: Pieces,
    veiled: Veiled,
    /// Longest silence between two reads.
    patience: Duration,
    /// What broke after bytes that were still to be handed out.
    broken: Option<ProviderFailure>,
    ended: bool,
    recording: Option<Box<Recording>>,
}

impl Body {
    #[must_use]
    pub fn new(pieces: Pieces, veiled: Veiled, patience: Duration) -> Self {
        Self { pieces, veiled, patience, broken: None, ended: false, recording: None }
    }

    /// The body of a response.
    #[must_use]
    pub fn of(response: reqwest::Response, veiled: Veiled, patience: Duration) -> Self {
        Self::new(response.bytes_stream().map_err(|e| broken(&e)).boxed(), veiled, patience)
    }

    /// What is read is kept there, too.
    #[must_use]
    pub fn kept_in(self, recording: Recording) -> Self {
        Self { recording: Some(Box::new(recording)), ..self }
    }

    /// What has arrived, as much as one push takes; `None` at the end.
    ///
    /// # Errors
    /// A break in the middle, or silence.
    pub async fn read(&mut self) -> Result<Option<Bytes>, ProviderFailure> {
        let read = self.next().await;
        if let Some(recording) = &mut self.recording {
            match &read {
                Ok(Some(bytes)) => recording.heard(bytes),
                Ok(None) => recording.ended(None),
                Err(failure) => recording.ended(Some(failure)),
            }
        }
        read
    }

    async fn next(&mut self) -> Result<Option<Bytes>, ProviderFailure> {
        loop {
            let Some(bytes) = self.arrived().await else {
                let rest = self.veiled.end();
                return if rest.is_empty() { self.broken.take().map_or(Ok(None), Err) } else { Ok(Some(rest)) };
            };
            let clean = self.veiled.push(bytes);
            if !clean.is_empty() {
                return Ok(Some(clean));
            }
        }
    }

    /// `None` at the end and after a break, which is kept for later.
    async fn arrived(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        match timeout(self.patience, self.pieces.next()).await {
            Ok(Some(Ok(first))) => return Some(self.gather(first).await),
            Ok(Some(Err(error))) => self.broken = Some(error),
            Ok(None) => {}
            Err(_) => {
                let why = format!("The answer stopped: nothing came for {:?}.", self.patience);
                self.broken = Some(transport(why, true));
            }
        }
        self.ended = true;
        None
    }

    /// Adds what has arrived already: a push costs the same for one event as for a hundred. The connection is a task of its own
    /// that hands over one piece at a time: it gets its turn before the line counts as empty.
    async fn gather(&mut self, first: Bytes) -> Bytes {
        let mut all: Option<Vec<u8>> = None;
        let mut waited = false;
        while all.as_ref().map_or(first.len(), Vec::len) < READ {
            let piece = self.pieces.next().now_or_never();
            if piece.is_none() && !waited {
                waited = true;
                give_way().await;
                continue;
            }
            waited = false;
            match piece {
                None => break,
                Some(None) => {
                    self.ended = true;
                    break;
                }
                Some(Some(Err(error))) => {
                    self.broken = Some(error);
                    self.ended = true;
                    break;
                }
                Some(Some(Ok(more))) => all.get_or_insert_with(|| first.to_vec()).extend_from_slice(&more),
            }
        }
        all.map_or(first, Bytes::from)
    }
}

/// Lets the tasks run that are ready on this thread. Unlike tokio's own `yield_now` it does not look at the sockets in between.
async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

fn broken(error: &reqwest::Error) -> ProviderFailure {
    transport(format!("The connection broke in the middle of the answer: {}.", because(error)), true)
}
