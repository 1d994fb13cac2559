//! The title of a new session, and for one that goes on a few sentences on what it was about, by the small model, while the run goes on.
//! It delays no request, and the end by a moment at most; what goes wrong with it is not told.

use crate::cli::Ground;
use agent::title::{Worded, summary, title};
use agent::{Job, Ports};
use model::id::SessionId;
use model::provider::{Mind, Model};
use model::store::{Change, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use store::Ledger;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long the end of a run waits for the title.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Title,
    Summary,
}

/// Words that are being thought of.
pub struct Naming {
    task: JoinHandle<Worded>,
    wanted: Wanted,
    cancel: CancellationToken,
    session: SessionId,
    model: Model,
}

impl Naming {
    /// Begins where a small model is configured: a new session has a prompt to be named after (unless it `has_title`), another one has
    /// a past.
    #[must_use]
    pub fn begin(
        ground: &Ground,
        ports: &Ports,
        job: &Job,
        has_title: bool,
        cancel: &CancellationToken,
    ) -> Option<Self> {
        let small = &ground.config.small_model.as_ref()?.value;
        let wanted = if job.is_new { Wanted::Title } else { Wanted::Summary };
        let is_moot = wanted == Wanted::Title && (has_title || job.prompt.text.trim().is_empty());
        if is_moot || job.session.parent_id.is_some() {
            return None;
        }
        let mind = ports.minds.mind(small);
        let Mind { provider, model } = mind.inspect_err(|why| tracing::debug!(why, "no title")).ok()?;
        let (session, cancel) = (job.session.id.clone(), cancel.child_token());
        let (prompt, about, token, known) = (job.prompt.text.clone(), session.clone(), cancel.clone(), model.clone());
        let store = ports.store.clone();
        let task = tokio::spawn(async move {
            match wanted {
                Wanted::Title => title(provider.as_ref(), &known, about, &prompt, token).await,
                Wanted::Summary => match store.history(&about).await {
                    Ok(past) => summary(provider.as_ref(), &known, about, &past, token).await,
                    Err(_) => Worded::default(),
                },
            }
        });
        Some(Self { task, wanted, cancel, session, model })
    }

    /// Writes the words down, if they come in time.
    pub async fn settle(self, ledger: &Arc<Ledger>) {
        let named = tokio::time::timeout(PATIENCE, self.task).await;
        self.cancel.cancel();
        let Ok(Ok(worded)) = named else { return };
        if let Err(error) = write(ledger, &self.session, &self.model, self.wanted, worded).await {
            tracing::debug!(%error, "a title or a summary could not be stored");
        }
    }
}

async fn write(
    ledger: &Arc<Ledger>,
    id: &SessionId,
    model: &Model,
    wanted: Wanted,
    worded: Worded,
) -> Result<(), StoreError> {
    let _claim = ledger.claim(id).await?;
    let mut session = ledger.session(id).await?;
    match wanted {
        Wanted::Title => session.title = worded.text.unwrap_or(session.title),
        Wanted::Summary => session.summary = worded.text.or(session.summary),
    }
    session.cost += model.price.as_ref().map(|p| p.cost(&worded.tokens)).unwrap_or_default();
    session.tokens += worded.tokens;
    ledger.apply(vec![Change::Session(session)]).await
}
