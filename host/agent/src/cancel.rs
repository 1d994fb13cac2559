//! What can end a run from outside at any moment: the person, and the clock.

use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Why a turn was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    Wall,
}

impl Stop {
    /// As the message's error says it.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Cancelled => "the run was interrupted",
            Self::Wall => "the time limit of the run was reached",
        }
    }
}

/// The bounds in time of one run.
#[derive(Clone, Debug)]
pub(crate) struct Stopper {
    cancel: CancellationToken,
    begun: Instant,
    deadline: Option<Instant>,
}

impl Stopper {
    pub(crate) fn new(cancel: CancellationToken, wall: Option<Duration>) -> Self {
        let begun = Instant::now();
        Self { cancel, begun, deadline: wall.and_then(|w| begun.checked_add(w)) }
    }

    /// Since the run began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Time that is left; `None` = no bound.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }

    /// A token that ends with the run's own, or by itself.
    pub(crate) fn child(&self) -> CancellationToken {
        self.cancel.child_token()
    }

    /// Whether the run is to end already.
    pub(crate) fn now(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        self.deadline.is_some_and(|d| Instant::now() >= d).then_some(Stop::Wall)
    }

    /// Resolves when the run is to end; may be dropped and asked again.
    pub(crate) async fn stopped(&self) -> Stop {
        let wall = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Stop::Cancelled,
            () = wall => Stop::Wall,
        }
    }
}
