//! The funnel: every act of a component passes here. *Name it, ask the gate, journal it, do it.*
//!
//! One file a capability lies beside this one; none of them decides anything, and none acts without [`Funnel`].

pub(crate) mod config;
pub mod fs;
pub mod http;
pub mod process;
pub mod scan;
pub mod secrets;

use crate::leave::Lease;
use crate::mounts::Reach;
use crate::seats::Seat;
use model::fault::FailureKind;
use model::flow::{Label, Labels, is_secret};
use model::grant::{CallGrant, Coverage, Mode};
use model::journal::Journal;
use model::permission::{Act, Action, Actor, Denial, Gate, Rule};
use model::target::Target;
use model::tool::ToolFailure;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often a question under way is compared with what its component may still do.
const LOOK: Duration = Duration::from_millis(200);

/// An act that is not to happen. The reason is kept in the funnel, so that the call's failure can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// What one call may do, and who judges the rest. One a call, shared by its capabilities.
pub struct Funnel {
    pub actor: Actor,
    pub journal: Arc<dyn Journal>,
    pub cancel: CancellationToken,
    grant: CallGrant,
    /// What its session had read of when the call began.
    labels: Labels,
    private: Arc<Private>,
    /// Real paths that the component's grant leaves out.
    except: Vec<PathBuf>,
    /// What the component was installed under, if it was.
    lease: Option<Lease>,
    /// What of its mounts the component was granted.
    reach: Reach,
    gate: Arc<dyn Gate>,
    refusal: Mutex<Option<ToolFailure>>,
    waits: Mutex<Waits>,
    seat: Option<Arc<Seat>>,
}

/// Time that questions to the person took, those under way included; questions asked at once count once.
#[derive(Default)]
struct Waits {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Waits {
    fn begin(&mut self) {
        self.open += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.total += self.since.take().map_or(Duration::ZERO, |s| s.elapsed());
        }
    }

    fn sum(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |s| s.elapsed())
    }
}

impl Funnel {
    #[must_use]
    pub fn new(
        actor: Actor,
        grant: CallGrant,
        gate: Arc<dyn Gate>,
        journal: Arc<dyn Journal>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            labels: gate.labels(&actor.session),
            actor,
            journal,
            cancel,
            grant,
            private: Arc::default(),
            except: Vec::new(),
            lease: None,
            reach: Reach::default(),
            gate,
            refusal: Mutex::new(None),
            waits: Mutex::default(),
            seat: None,
        }
    }

    /// On a seat that is given up while a person is asked.
    #[must_use]
    pub fn seated(self, seat: Arc<Seat>) -> Self {
        Self { seat: Some(seat), ..self }
    }

    /// With what no component may touch, whatever the rules say.
    #[must_use]
    pub fn hiding(self, private: Arc<Private>) -> Self {
        Self { private, ..self }
    }

    /// With what the grant leaves out of the folders that it names.
    #[must_use]
    pub fn except(self, except: Vec<PathBuf>) -> Self {
        Self { except, ..self }
    }

    /// With what the component was installed under: what the person takes back while the call runs, it may do no more.
    #[must_use]
    pub fn under(self, lease: Option<Lease>) -> Self {
        Self { lease, ..self }
    }

    /// With what was granted of its mounts.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Whether the rights that the call began with still stand.
    fn stand(&self) -> Result<(), Refused> {
        match &self.lease {
            Some(lease) if !lease.holds() => Err(self.refuse(lapsed(&self.actor))),
            _ => Ok(()),
        }
    }

    /// What the call has come to, unless its rights were taken back meanwhile.
    ///
    /// # Errors
    /// That they were.
    pub fn due<T>(&self, value: T) -> Result<T, ToolFailure> {
        self.stand().map(|()| value).map_err(|_| lapsed(&self.actor))
    }

    fn keep_private(&self, real: &Path, writes: bool) -> Result<(), Refused> {
        self.stand()?;
        self.keep_in_reach(real, writes)?;
        let why = if self.private.holds(real, writes) {
            "belongs to the host: no component may touch it, whatever the rules say"
        } else if holds(&self.except, real, writes) {
            "is left out of what was granted to the component"
        } else {
            return Ok(());
        };
        let what = format!("{} {why}.", real.display());
        Err(self.refuse(ToolFailure::new(FailureKind::Denied, what)))
    }

    fn keep_in_reach(&self, real: &Path, writes: bool) -> Result<(), Refused> {
        let (mode, act) = if writes { (Mode::ReadWrite, "change") } else { (Mode::ReadOnly, "read") };
        if self.reach.holds(real, mode) {
            return Ok(());
        }
        let what = format!("{} was not granted to the component to {act}.", real.display());
        Err(self.refuse(ToolFailure::new(FailureKind::Denied, what)))
    }

    /// May the file or folder at this *real* path be read? Below a folder that the call names, a rule that would ask refuses
    /// silently: a search must not ask once a file.
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn read(&self, real: &Path) -> Result<(), Refused> {
        self.keep_private(real, false)?;
        let act = Act::Read { path: real.into() };
        match self.grant.covers_read(real) {
            Coverage::Named => {}
            Coverage::Below if self.gate.decide(&self.actor, &act) == Action::Allow => {}
            Coverage::Below => return Err(Refused),
            Coverage::Outside => self.permit(act, Value::Null).await?,
        }
        if is_secret(real) {
            self.taint(Label::Secret);
        }
        Ok(())
    }

    /// Whether the rules alone let this real path be known of (its size and times, where a link leads); nobody is asked. The
    /// folders on the way to a path that the call names are known already.
    #[must_use]
    pub fn may_read_silently(&self, real: &Path) -> bool {
        let is_kept = || self.private.holds(real, false) || holds(&self.except, real, false);
        if !self.reach.holds(real, Mode::ReadOnly) || is_kept() {
            // A call that names it is told why; one that walks past it is not.
            let _ = self.names(real).then(|| self.keep_private(real, false));
            return false;
        }
        let named = || self.grant.reads.iter().chain(&self.grant.writes);
        named().any(|p| p.starts_with(real))
            || self.gate.decide(&self.actor, &Act::Read { path: real.into() }) == Action::Allow
    }

    /// Notes where what this call brings into its session comes from.
    pub fn taint(&self, label: Label) {
        self.gate.taint(&self.actor.session, &[label].into_iter().collect());
    }

    /// Whether the rules forbid to change this real path, whoever would be asked.
    #[must_use]
    pub fn forbids_write(&self, real: &Path) -> bool {
        self.gate.decide(&self.actor, &Act::Write { path: real.into() }) == Action::Deny
    }

    /// May this real path be written, made, removed or renamed?
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn write(&self, real: &Path) -> Result<(), Refused> {
        self.keep_private(real, true)?;
        if self.grant.covers_write(real) {
            return Ok(());
        }
        self.permit(Act::Write { path: real.into() }, Value::Null).await
    }

    /// May a folder be made at this real path? The folders of a file that the call may write are part of writing it.
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn make_folder(&self, real: &Path) -> Result<(), Refused> {
        self.keep_in_reach(real, true)?;
        if self.grant.covers_folder(real) { Ok(()) } else { self.write(real).await }
    }

    /// May this shell line run in this *real* folder?
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn shell(&self, line: &str, cwd: &Path) -> Result<(), Refused> {
        self.stand()?;
        if self.grant.covers_line(line, cwd) {
            return Ok(());
        }
        self.permit(Act::Shell { line: line.into(), cwd: cwd.into() }, Value::Null).await
    }

    /// May this request be sent?
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn request(&self, method: &str, target: &Target) -> Result<(), Refused> {
        self.stand()?;
        let act = request(method, target);
        if self.grant.covers_request(method, target) && self.still_stands(&act) {
            return Ok(());
        }
        self.permit(act, json!({ "method": method })).await
    }

    /// Whether what was permitted before the call began covers this act: a whole host may hold a place that a rule denies, and what
    /// was read since may have changed what may be sent.
    fn still_stands(&self, act: &Act) -> bool {
        self.gate.labels(&self.actor.session) == self.labels && self.gate.decide(&self.actor, act) != Action::Deny
    }

    /// The rule that allows this request, where one does.
    #[must_use]
    pub fn rule_for(&self, method: &str, target: &Target) -> Option<Rule> {
        self.gate.allowed_by(&self.actor, &request(method, target))
    }

    /// Puts an act to the gate. The time that a person takes does not count against the call's deadline.
    ///
    /// # Errors
    /// [`Refused`], with the reason kept.
    pub async fn permit(&self, act: Act, metadata: Value) -> Result<(), Refused> {
        self.ask(act, metadata).await.map_err(|_| Refused)
    }

    /// As [`Funnel::permit`], for a component that asks in words of its own and is told why not.
    ///
    /// # Errors
    /// The gate's denial, which is kept as well.
    pub async fn ask(&self, act: Act, metadata: Value) -> Result<(), Denial> {
        if self.stand().is_err() {
            return Err(Denial::Cancelled);
        }
        self.waits().begin();
        let verdict = match &self.seat {
            Some(seat) => seat.aside(self.put(&act, metadata)).await,
            None => self.put(&act, metadata).await,
        };
        self.waits().end();
        // An answer to a component that is another one by now is an answer to nobody.
        self.stand().map_err(|Refused| Denial::Cancelled)?;
        verdict.inspect_err(|denial| {
            self.refuse(denial.failure(&act.in_words(&self.actor.tool)));
        })
    }

    /// The question is withdrawn once nothing hangs on its answer any more.
    async fn put(&self, act: &Act, metadata: Value) -> Result<(), Denial> {
        let open = self.cancel.child_token();
        let verdict = self.gate.permit(&self.actor, std::slice::from_ref(act), metadata, &open);
        tokio::pin!(verdict);
        tokio::select! {
            biased;
            verdict = &mut verdict => verdict,
            () = self.lapses() => {
                open.cancel();
                verdict.await
            }
        }
    }

    /// Ends once the rights of the call no longer stand.
    async fn lapses(&self) {
        match &self.lease {
            None => std::future::pending().await,
            Some(lease) => {
                while lease.holds() {
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps why an act was refused; the first reason stands.
    pub fn refuse(&self, why: ToolFailure) -> Refused {
        let mut kept = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(why);
        Refused
    }

    /// Why an act of this call was refused, if one was. A call that fails after a refusal fails for this reason.
    #[must_use]
    pub fn refusal(&self) -> Option<ToolFailure> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Time that went by waiting for answers, the wait under way included.
    #[must_use]
    pub fn asked(&self) -> Duration {
        self.waits().sum()
    }

    /// Whether the call names this path itself: only such a file counts as seen by the session.
    #[must_use]
    pub fn names(&self, real: &Path) -> bool {
        self.grant.covers_read(real) == Coverage::Named
    }
}

fn lapsed(actor: &Actor) -> ToolFailure {
    let what = format!(
        "What the plugin of `{}` may do was changed while it ran, so it does nothing more; call it again to use what it may do now.",
        actor.tool
    );
    ToolFailure::new(FailureKind::Denied, what)
}

fn request(method: &str, target: &Target) -> Act {
    Act::Request { method: method.to_owned(), url: target.to_string() }
}

/// What the host keeps for itself: its config, its ledger, its keys, and what the kernel tells of processes (their environment holds
/// keys too).
#[derive(Debug, Default)]
pub struct Private {
    pub folders: Vec<PathBuf>,
    /// Outputs that were kept for the agent to read on.
    pub readable: Option<PathBuf>,
}

impl Private {
    fn holds(&self, real: &Path, writes: bool) -> bool {
        if !writes && self.readable.as_ref().is_some_and(|r| real.starts_with(r)) {
            return false;
        }
        real.starts_with("/proc") || holds(&self.folders, real, writes)
    }
}

/// Whether a path lies in one of these. Who may write a folder above one could move it out of the way of this rule.
fn holds(kept: &[PathBuf], real: &Path, writes: bool) -> bool {
    kept.iter().any(|k| real.starts_with(k) || writes && k.starts_with(real))
}
