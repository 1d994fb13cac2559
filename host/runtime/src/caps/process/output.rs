//! Both output pipes of a program as one stream of pieces.

use super::Channel;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout};

pub(super) type Piece = (Channel, Vec<u8>);

/// Bytes of a piece at most.
const PIECE: usize = 16 * 1024;

pub(super) struct Output {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Output {
    pub(super) fn of(child: &mut Child) -> Self {
        Self { stdout: child.stdout.take(), stderr: child.stderr.take() }
    }

    /// The next piece of either; `None` when both have ended. May be dropped at any time: nothing is lost.
    pub(super) async fn read(&mut self) -> Option<Piece> {
        while self.stdout.is_some() || self.stderr.is_some() {
            let (channel, bytes) = tokio::select! {
                bytes = piece(&mut self.stdout), if self.stdout.is_some() => (Channel::Stdout, bytes),
                bytes = piece(&mut self.stderr), if self.stderr.is_some() => (Channel::Stderr, bytes),
            };
            if !bytes.is_empty() {
                return Some((channel, bytes));
            }
            match channel {
                Channel::Stdout => self.stdout = None,
                Channel::Stderr => self.stderr = None,
            }
        }
        None
    }

    /// As `read`; never returns once both have ended.
    pub(super) async fn read_or_wait(&mut self) -> Piece {
        match self.read().await {
            Some(piece) => piece,
            None => std::future::pending().await,
        }
    }
}

/// Empty = the end, or an error, which for a pipe is the same.
async fn piece(pipe: &mut Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PIECE);
    if let Some(pipe) = pipe {
        let _ = pipe.read_buf(&mut bytes).await;
    }
    bytes
}
