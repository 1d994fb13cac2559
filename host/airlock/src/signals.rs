//! Ctrl-C and SIGTERM: the first one ends the run cleanly, the second one leaves at once.

use crate::report::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels. A thread of its own waits for them: the way out stays open also where a disk that hangs
/// holds up the thread of the loop.
#[must_use]
pub fn cancel_on_interrupt() -> CancellationToken {
    let cancel = CancellationToken::new();
    let watched = cancel.clone();
    let spawned = std::thread::Builder::new().name("signals".into()).spawn(move || wait(watched));
    if let Err(error) = spawned {
        tracing::warn!(%error, "no thread for interrupts");
        tokio::spawn(watch(cancel.clone()));
    }
    cancel
}

fn wait(cancel: CancellationToken) {
    match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime.block_on(watch(cancel)),
        Err(error) => tracing::warn!(%error, "interrupts end the program at once"),
    }
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
