//! Programs that outlive the call which started them. Each belongs to a session: no other sees it, and it is dead when the session's
//! run is over. Should the host die, their supervisors end them (see `supervisor`).
//!
//! What they print is taken in as it comes, so that a server never blocks on its own log: the newest part is kept in memory, all of
//! it in a file once it is long, and a program that prints without end is stopped.

use super::{Child, Event, Exit};
use async_trait::async_trait;
use model::background::{Background, End, Ended, Glance};
use model::id::SessionId;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// Programs of one session that run at once.
const OF_A_SESSION: usize = 8;
/// Programs of all sessions of this process that run at once.
const OF_ALL: usize = 64;
/// Ended programs of one session that can still be looked at.
const REMEMBERED: usize = 32;
/// Bytes of output that wait for a look.
const UNREAD: usize = 48 * 1024;
/// Bytes that one may print in all.
const FLOOD: u64 = 64 << 20;
/// How long one may run, whatever its call said.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of a line, as it is shown.
const SHOWN: usize = 200;
/// How long the end of a run waits for killed programs to be gone.
const BURIAL: Duration = Duration::from_secs(2);

/// All programs that were left behind. One a runtime.
#[derive(Default)]
pub struct Yard {
    sessions: Mutex<HashMap<SessionId, Vec<Arc<Kept>>>>,
}

/// One of them.
struct Kept {
    id: String,
    line: String,
    begun: Instant,
    stop: CancellationToken,
    state: Mutex<State>,
    /// True once it has ended.
    over: watch::Sender<bool>,
    minder: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    unread: VecDeque<u8>,
    dropped: u64,
    total: u64,
    kept: Option<PathBuf>,
    end: Option<(End, Duration)>,
    told: bool,
}

impl State {
    fn print(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.unread.extend(bytes);
        let over = self.unread.len().saturating_sub(UNREAD);
        self.unread.drain(..over);
        self.dropped += over as u64;
    }
}

impl Yard {
    /// Takes a program over.
    ///
    /// # Errors
    /// Why not; it is dead then.
    pub(crate) fn leave(&self, session: &SessionId, line: &str, child: Child) -> Result<String, String> {
        let kept = {
            let mut sessions = self.sessions();
            let all: usize = sessions.values().flatten().filter(|k| k.runs()).count();
            let mine = sessions.entry(session.clone()).or_default();
            let running = mine.iter().filter(|k| k.runs()).count();
            if running >= OF_A_SESSION || all >= OF_ALL {
                return Err(format!(
                    "{running} programs of this session run in the background already ({all} in all); at most {OF_A_SESSION} may. \
                     Stop one with bash_stop first."
                ));
            }
            if mine.len() >= REMEMBERED {
                let oldest = mine.iter().position(|k| !k.runs());
                oldest.map(|at| mine.remove(at));
            }
            let kept = Arc::new(Kept::new(new_id(mine), line));
            mine.push(Arc::clone(&kept));
            kept
        };
        let minder = tokio::spawn(mind(child, Arc::clone(&kept)));
        *kept.minder.lock().unwrap_or_else(PoisonError::into_inner) = Some(minder);
        Ok(kept.id.clone())
    }

    /// Whether anything runs here, whoever began it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.sessions().values().flatten().any(|k| k.runs())
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Arc<Kept>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, session: &SessionId, id: &str) -> Option<Arc<Kept>> {
        self.sessions().get(session)?.iter().find(|k| k.id == id).cloned()
    }
}

/// A short name that no other program of the session has, nor one of an earlier run is likely to have had.
fn new_id(taken: &[Arc<Kept>]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    loop {
        let mut random = [0; 5];
        // Without randomness the number of them tells them apart.
        if getrandom::fill(&mut random).is_err() {
            return format!("bg-{}", taken.len());
        }
        let name: String = random.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect();
        let id = format!("bg-{name}");
        if taken.iter().all(|k| k.id != id) {
            return id;
        }
    }
}

impl Kept {
    fn new(id: String, line: &str) -> Self {
        Self {
            id,
            line: line.lines().next().unwrap_or_default().chars().take(SHOWN).collect(),
            begun: Instant::now(),
            stop: CancellationToken::new(),
            state: Mutex::default(),
            over: watch::Sender::new(false),
            minder: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> bool {
        self.state().end.is_none()
    }

    fn finish(&self, end: End) {
        self.state().end = Some((end, self.begun.elapsed()));
        self.over.send_replace(true);
    }

    /// Resolves once it has ended, or after that time.
    async fn over_within(&self, wait: Duration) {
        let mut over = self.over.subscribe();
        let _ = timeout(wait, over.wait_for(|over| *over)).await;
    }

    fn glance(&self) -> Glance {
        let mut state = self.state();
        state.told |= state.end.is_some();
        let (end, age) = match &state.end {
            Some((end, age)) => (Some(end.clone()), *age),
            None => (None, self.begun.elapsed()),
        };
        Glance {
            line: self.line.clone(),
            output: std::mem::take(&mut state.unread).into(),
            dropped: std::mem::take(&mut state.dropped),
            kept: state.kept.clone(),
            age,
            end,
        }
    }
}

/// Reads a program to its end, and ends it where it has to be.
async fn mind(mut child: Child, kept: Arc<Kept>) {
    let mut ended_for = None;
    loop {
        let event = tokio::select! {
            biased;
            () = kept.stop.cancelled(), if ended_for.is_none() => {
                ended_for = Some(End::Stopped);
                child.kill().await;
                continue;
            }
            () = tokio::time::sleep_until(kept.begun + LONGEST), if ended_for.is_none() => {
                ended_for = Some(End::TimedOut);
                child.kill().await;
                continue;
            }
            event = child.next() => event,
        };
        match event {
            Some(Event::Output(_, bytes)) => {
                let total = {
                    let mut state = kept.state();
                    state.print(&bytes);
                    state.kept = child.kept().map(Into::into);
                    state.total
                };
                if total > FLOOD && ended_for.is_none() {
                    ended_for = Some(End::Flooded);
                    child.kill().await;
                }
            }
            Some(Event::Exited(exit)) => {
                // Only who is told of its death has seen it dead.
                drop(child);
                return kept.finish(ended_for.unwrap_or_else(|| end(exit)));
            }
            None => return kept.finish(End::Killed),
        }
    }
}

fn end(exit: Exit) -> End {
    match exit {
        Exit::Code(code) => End::Code(code),
        Exit::Signal(signal) => End::Signal(signal),
        Exit::TimedOut => End::TimedOut,
        Exit::Killed => End::Killed,
    }
}

#[async_trait]
impl Background for Yard {
    async fn look(&self, session: &SessionId, id: &str, wait: Duration) -> Option<Glance> {
        let kept = self.find(session, id)?;
        kept.over_within(wait).await;
        Some(kept.glance())
    }

    async fn stop(&self, session: &SessionId, id: &str) -> Option<Glance> {
        let kept = self.find(session, id)?;
        kept.stop.cancel();
        kept.over_within(BURIAL).await;
        Some(kept.glance())
    }

    fn list(&self, session: &SessionId) -> Vec<(String, String)> {
        let sessions = self.sessions();
        sessions.get(session).into_iter().flatten().map(|k| (k.id.clone(), k.line.clone())).collect()
    }

    fn ended(&self, session: &SessionId) -> Vec<Ended> {
        let untold = |kept: &Arc<Kept>| {
            let mut state = kept.state();
            let (end, _) = state.end.clone().filter(|_| !state.told)?;
            state.told = true;
            Some(Ended { id: kept.id.clone(), line: kept.line.clone(), end })
        };
        self.sessions().get(session).into_iter().flatten().filter_map(untold).collect()
    }

    async fn close(&self, session: &SessionId) {
        let mine = self.sessions().remove(session).unwrap_or_default();
        mine.iter().for_each(|kept| kept.stop.cancel());
        for kept in mine {
            kept.over_within(BURIAL).await;
            let minder = kept.minder.lock().unwrap_or_else(PoisonError::into_inner).take();
            // One that does not end goes with its child, whose drop kills.
            minder.inspect(JoinHandle::abort);
        }
    }
}
