//! What a guest prints and logs: into the host's log, escaped, up to a budget; the end of it is kept to explain a trap.

use bytes::Bytes;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes of standard error that are kept.
const TAIL: usize = 2 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// One a call, shared by its streams.
#[derive(Clone)]
pub struct GuestLog(Arc<Mutex<Inner>>);

struct Inner {
    component: Arc<str>,
    left: usize,
    dropped: usize,
    tail: VecDeque<u8>,
}

impl GuestLog {
    /// With room for so many bytes.
    #[must_use]
    pub fn new(component: Arc<str>, budget: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner { component, left: budget, dropped: 0, tail: VecDeque::new() })))
    }

    /// Bytes that had no room.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.with(|inner| inner.dropped)
    }

    pub fn write(&self, level: Level, message: &str) {
        self.with(|inner| inner.write(level, message));
    }

    /// What was printed last on standard error.
    #[must_use]
    pub fn tail(&self) -> String {
        self.with(|inner| String::from_utf8_lossy(inner.tail.make_contiguous()).trim().to_owned())
    }

    #[must_use]
    pub fn stream(&self, keep: bool) -> Stream {
        Stream { log: self.clone(), keep }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    fn write(&mut self, level: Level, message: &str) {
        if message.len() > self.left {
            self.dropped += message.len();
            return;
        }
        self.left -= message.len();
        let (component, text) = (&*self.component, message.escape_debug());
        match level {
            Level::Debug => tracing::debug!(component, "{text}"),
            Level::Info => tracing::info!(component, "{text}"),
            Level::Warn => tracing::warn!(component, "{text}"),
            Level::Error => tracing::error!(component, "{text}"),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend(&bytes[bytes.len().saturating_sub(TAIL)..]);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.dropped > 0 {
            tracing::debug!(
                component = &*self.component,
                bytes = self.dropped,
                "output beyond the log budget was dropped"
            );
        }
    }
}

/// Standard output or error of a guest. It takes everything: a stream that is full would kill the guest.
#[derive(Clone)]
pub struct Stream {
    log: GuestLog,
    keep: bool,
}

impl Stream {
    fn take(&self, bytes: &[u8]) {
        self.log.with(|inner| {
            if self.keep {
                inner.keep(bytes);
            }
            for line in String::from_utf8_lossy(bytes).lines().filter(|l| !l.is_empty()) {
                inner.write(Level::Debug, line);
            }
        });
    }
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_budget_holds() {
        let log = GuestLog::new("x".into(), 64 << 10);
        for n in 0..10_000 {
            log.stream(true).take(format!("line {n}\n").as_bytes());
        }
        log.stream(false).take(b"standard output");
        assert!(log.tail().ends_with("line 9999"));
        assert!(log.tail().len() <= TAIL);
        log.with(|inner| assert!(inner.left < 100));
        assert!(log.dropped() > 0);
    }
}
