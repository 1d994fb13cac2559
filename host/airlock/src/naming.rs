//! The title of a new session, by the small model, while the run goes on. It delays no request, and the end by a moment at most; what
//! goes wrong with it is not told.

use crate::cli::Ground;
use agent::title::{Titled, title};
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

/// A title that is being thought of.
pub struct Naming {
    task: JoinHandle<Titled>,
    cancel: CancellationToken,
    session: SessionId,
    model: Model,
}

impl Naming {
    /// Begins where a small model is configured and a new session has a prompt to be named after.
    #[must_use]
    pub fn begin(ground: &Ground, ports: &Ports, job: &Job, cancel: &CancellationToken) -> Option<Self> {
        let small = &ground.config.small_model.as_ref()?.value;
        if !job.is_new || job.session.parent_id.is_some() || job.prompt.text.trim().is_empty() {
            return None;
        }
        let mind = ports.minds.mind(small);
        let Mind { provider, model } = mind.inspect_err(|why| tracing::debug!(why, "no title")).ok()?;
        let (session, cancel) = (job.session.id.clone(), cancel.child_token());
        let (prompt, about, token, known) = (job.prompt.text.clone(), session.clone(), cancel.clone(), model.clone());
        let task = tokio::spawn(async move { title(provider.as_ref(), &known, about, &prompt, token).await });
        Some(Self { task, cancel, session, model })
    }

    /// Writes the title down, if it comes in time.
    pub async fn settle(self, ledger: &Arc<Ledger>) {
        let named = tokio::time::timeout(PATIENCE, self.task).await;
        self.cancel.cancel();
        let Ok(Ok(titled)) = named else { return };
        if let Err(error) = write(ledger, &self.session, &self.model, titled).await {
            tracing::debug!(%error, "a title could not be stored");
        }
    }
}

async fn write(ledger: &Arc<Ledger>, id: &SessionId, model: &Model, titled: Titled) -> Result<(), StoreError> {
    let _claim = ledger.claim(id).await?;
    let mut session = ledger.session(id).await?;
    session.title = titled.title.unwrap_or(session.title);
    session.cost += model.price.as_ref().map(|p| p.cost(&titled.tokens)).unwrap_or_default();
    session.tokens += titled.tokens;
    ledger.apply(vec![Change::Session(session)]).await
}
