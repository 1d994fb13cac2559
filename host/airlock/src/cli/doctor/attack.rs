//! `airlock doctor --attack`: the part of the attack suite that harms nothing, on this machine. Each attack is a component that is
//! part of the program; it must end as it should, and another call must be served after it.

use super::{Finding, Report, Weight};
use async_trait::async_trait;
use model::fault::FailureKind::{self, Limit, TimedOut, Trap};
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate, Rule};
use model::tool::{Progress, ProgressSink, ToolCall, ToolFailure, ToolOutput};
use runtime::{Bundled, Learnt, Runtime, RuntimeOptions};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

struct Attack {
    /// Of the component and its only tool.
    name: &'static str,
    bytes: &'static [u8],
    what: &'static str,
    ends: FailureKind,
}

macro_rules! attack {
    ($name:literal, $what:literal, $ends:expr) => {
        Attack {
            name: $name,
            bytes: include_bytes!(concat!("../../../attacks/", $name, ".wasm")),
            what: $what,
            ends: $ends,
        }
    };
}

const ATTACKS: &[Attack] = &[
    attack!("loop", "attack 7: a loop without end", TimedOut),
    attack!("start", "attack 7: a loop before it begins", TimedOut),
    attack!("memory", "attack 9: memory without end", Limit),
    attack!("tables", "attack 9: tables without end", Limit),
    attack!("recursion", "attack 9: calls inside calls", Trap),
    attack!("handles", "attack 10: handles without end", Limit),
    attack!("length", "attack 11: a text of 4 GiB that is not there", Trap),
    attack!("flood", "attack 12: a result of 58 MB", Limit),
    attack!("sleep", "attack 13: ten years of sleep", TimedOut),
];

/// # Errors
/// When the host cannot be set up for it.
pub(super) async fn findings() -> Result<Vec<Finding>, Report> {
    let home = tempfile::tempdir().map_err(|e| Report::internal(format!("no folder for the attacks: {e}")))?;
    let options = RuntimeOptions::below(home.path(), ATTACKS.iter().map(bundled).collect());
    let opened = tokio::task::spawn_blocking(move || Runtime::open(options)).await;
    let runtime = opened.map_err(|e| Report::internal(format!("the attacks broke off: {e}")))??;
    let tools = runtime.tools(Arc::new(Closed), Arc::new(Forgetful));
    let mut findings = Vec::with_capacity(ATTACKS.len());
    for attack in ATTACKS {
        let ended = tools.call(call(attack.name, home.path()), Arc::new(Unseen), CancellationToken::new()).await;
        findings.push(judged(attack, &ended));
    }
    Ok(findings)
}

fn bundled(attack: &Attack) -> Bundled {
    Bundled { name: attack.name, bytes: attack.bytes, learnt: Learnt::AtStart }
}

fn judged(attack: &Attack, ended: &Result<ToolOutput, ToolFailure>) -> Finding {
    match ended {
        Err(failure) if failure.kind == attack.ends => Finding::new(attack.what, Weight::Fine, failure.message.clone()),
        Err(failure) => {
            let found = format!("it ended as {}, not as {}: {}", failure.kind, attack.ends, failure.message);
            Finding::new(attack.what, Weight::Failure, found)
        }
        Ok(_) => Finding::new(attack.what, Weight::Failure, "it was not stopped".into()),
    }
}

fn call(tool: &str, folder: &Path) -> ToolCall {
    ToolCall {
        session: SessionId::new(),
        message: MessageId::new(),
        call: CallId::given("attack"),
        agent: "doctor".into(),
        tool: tool.into(),
        input: Value::Object(Map::new()),
        workspace: folder.into(),
        worktree: folder.into(),
        grant: CallGrant::default(),
        env: vec![],
        now_ms: crate::wire::now_ms(),
    }
}

/// Nothing is allowed.
struct Closed;

#[async_trait]
impl Gate for Closed {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Deny
    }

    async fn permit(&self, _: &Actor, _: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        Err(Denial::Rule(Rule::new("*", "*", Action::Deny)))
    }
}

struct Unseen;

impl ProgressSink for Unseen {
    fn update(&self, _: Progress) {}
}

/// Nothing is changed, so there is nothing to note.
struct Forgetful;

#[async_trait]
impl Journal for Forgetful {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Ok(())
    }
    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Ok(EntryId(0))
    }
    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_attack_ends_as_it_should() {
        for finding in findings().await.unwrap() {
            assert!(finding.ok, "{}: {}", finding.what, finding.found);
        }
    }

    #[test]
    fn what_is_run_is_what_is_written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("attacks");
        for attack in ATTACKS {
            let text = wat::parse_file(folder.join(attack.name).with_extension("wat")).unwrap();
            assert_eq!(text, attack.bytes, "{}", attack.name);
        }
    }

    #[test]
    fn what_is_not_stopped_is_a_finding() {
        let loops = &ATTACKS[0];
        for (ended, ok) in [
            (Err(ToolFailure::new(TimedOut, "stopped")), true),
            (Err(ToolFailure::new(Trap, "crashed")), false),
            (Ok(ToolOutput::default()), false),
        ] {
            assert_eq!(judged(loops, &ended).ok, ok, "{ended:?}");
        }
    }
}
