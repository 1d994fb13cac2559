//! Ctrl-C and SIGTERM: the first one ends the run cleanly, the second one leaves at once.

use crate::report::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels.
#[must_use]
pub fn cancel_on_interrupt() -> CancellationToken {
    let cancel = CancellationToken::new();
    tokio::spawn(watch(cancel.clone()));
    cancel
}

async fn watch(cancel: CancellationToken) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the system's own behaviour stays: the program ends.
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if cancel.is_cancelled() {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        cancel.cancel();
    }
}
