//! Hooks that observe: told in the background, in order, of what fits into a bounded queue.

use super::Chain;
use crate::registry::{HookPoint, Plugin};
use model::event::{Ending, Event};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Events that wait. What comes while they do is lost to observers, not to the ledger.
const WAITING: usize = 256;
/// How long the end of a command waits for observers.
const PATIENCE: Duration = Duration::from_millis(500);

/// The queue to the observers of a chain.
pub struct Observers {
    queue: mpsc::Sender<Arc<str>>,
    sent: AtomicU64,
    seen: watch::Receiver<u64>,
}

impl Observers {
    /// Begins to listen. `None` where nobody observes.
    pub fn of(chain: &Chain) -> Option<Self> {
        let plugins: Vec<Arc<Plugin>> = chain.at(HookPoint::Event).cloned().collect();
        if plugins.is_empty() {
            return None;
        }
        let (queue, mut events) = mpsc::channel::<Arc<str>>(WAITING);
        let (done, seen) = watch::channel(0);
        let chain = chain.alike();
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                for plugin in &plugins {
                    if let Err(fault) = chain.run(plugin, async |hook, store| hook.event(store, &event).await).await {
                        fault.ignored(plugin);
                    }
                }
                done.send_modify(|n| *n += 1);
            }
        });
        Some(Self { queue, sent: AtomicU64::new(0), seen })
    }

    /// Never waits.
    pub fn tell(&self, event: &Event) {
        let Some(json) = as_json(event) else { return };
        if self.queue.try_send(json.to_string().into()).is_ok() {
            self.sent.fetch_add(1, Ordering::Relaxed);
        } else {
            tracing::debug!("an observer is too slow and misses an event");
        }
    }

    pub async fn settle(&self) {
        let sent = self.sent.load(Ordering::Relaxed);
        let mut seen = self.seen.clone();
        let all = seen.wait_for(|n| *n >= sent);
        // Too slow, or gone: either way the end does not wait for it.
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}

/// As the contract writes it; `None` for what observers are not told of.
fn as_json(event: &Event) -> Option<Value> {
    Some(match event {
        Event::PartDelta { .. } => return None,
        Event::SessionOpened { info } => json!({ "type": "session-opened", "info": info }),
        Event::MessageUpdated { info } => json!({ "type": "message-updated", "info": info }),
        Event::PartUpdated { part } => json!({ "type": "part-updated", "part": **part }),
        Event::PartDropped { part } => json!({ "type": "part-dropped", "part": **part }),
        Event::Asked { ask } => json!({ "type": "asked", "ask": ask }),
        Event::Answered { ask, reply } => json!({ "type": "answered", "ask": ask, "reply": reply }),
        Event::Inquired { inquiry } => json!({ "type": "inquired", "inquiry": inquiry }),
        Event::Replied { inquiry, answers } => json!({ "type": "replied", "inquiry": inquiry, "answers": answers }),
        Event::Child { agent, event } => json!({ "type": "child", "agent": **agent, "event": as_json(event)? }),
        Event::Retry { session, attempt, next, error } => json!({
            "type": "retry", "sessionID": session, "attempt": attempt,
            "next": u64::try_from(next.as_millis()).unwrap_or(u64::MAX), "error": error.message,
        }),
        Event::Compacted { session, before, after } => {
            json!({ "type": "compacted", "sessionID": session, "before": before, "after": after })
        }
        Event::Rewound { session, messages, files } => {
            json!({ "type": "rewound", "sessionID": session, "messages": messages, "files": files })
        }
        Event::Switched { session, from, to, error } => json!({
            "type": "switched", "sessionID": session, "from": from.to_string(), "to": to.to_string(), "error": error.message,
        }),
        Event::Failed { session, error } => {
            json!({ "type": "failed", "sessionID": session, "kind": error.kind, "error": error.message })
        }
        Event::Finished { session, outcome } => json!({
            "type": "finished", "sessionID": session, "ending": ending(&outcome.ending), "finish": outcome.finish,
            "text": outcome.text, "steps": outcome.steps, "tokens": outcome.tokens,
        }),
    })
}

fn ending(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::Failed(_) => "failed",
        Ending::Internal(_) => "internal",
        Ending::Denied(_) => "denied",
        Ending::Limit(_) => "limit",
        Ending::Looped(_) => "looped",
        Ending::Interrupted => "interrupted",
    }
}
