//! Limits of one call that a grant can move: each stops the call, or cuts what is beyond it, in words that name the limit, its number and
//! where it is raised; and raised it is.

use crate::attacks::{asks_the_time, hoards_handles};
use crate::guests::guest;
use crate::owners::Person;
use crate::stage::Answer;
use model::fault::FailureKind;
use model::grant::{Grant, LimitsAsked};
use runtime::Machine;
use serde_json::json;

/// A component of a stranger with these limits.
struct Bounded(Person, &'static str);

impl Bounded {
    fn new(name: &'static str, bytes: &[u8]) -> Self {
        Self(Person::new(&Machine::new(), "ann", &[]).installing(name, bytes), name)
    }

    fn to(&self, limits: LimitsAsked) -> &Self {
        let bound = |held: &Grant| Grant { limits, ..held.clone() };
        self.0.runtime.regrant(self.1, "2026-01-02T03:04:06Z", bound).unwrap();
        self
    }

    /// Runs into this limit.
    async fn ends(&self, tool: &str, kind: FailureKind, words: &[&str]) {
        let failure = self.0.call(tool, json!({}), Answer::Yes).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(words.iter().all(|w| failure.message.contains(w)), "{words:?}: {failure}");
    }
}

#[tokio::test]
async fn host_calls() {
    let clock = Bounded::new("clock", asks_the_time());
    let calls = |calls| LimitsAsked { calls: Some(calls), cpu_ms: Some(400), ..LimitsAsked::default() };
    let words = ["more than 1000 calls into the host", "`calls` under `[limits]`"];
    clock.to(calls(1000)).ends("f", FailureKind::Limit, &words).await;
    clock.to(calls(u64::from(u32::MAX))).ends("f", FailureKind::TimedOut, &["400ms of computing"]).await;
}

#[tokio::test]
async fn handles() {
    let hoard = Bounded::new("hoard", hoards_handles());
    for limit in [100, 5000] {
        let limits = LimitsAsked { handles: Some(limit), ..LimitsAsked::default() };
        let number = format!("more than {limit} handles");
        hoard.to(limits).ends("f", FailureKind::Limit, &[&number, "`handles` under `[limits]`"]).await;
    }
}

#[tokio::test]
async fn log_and_progress() {
    let chatter = Bounded::new("chatter", guest("chatter"));
    let limits = |log, progress| LimitsAsked { log: Some(log), progress: Some(progress), ..LimitsAsked::default() };
    for (bounds, want) in [
        (
            limits(8 << 10, 1 << 10),
            json!([
                "Its log was cut after 8 KiB: `log` under `[limits]` of its grant.",
                "Its progress was cut after 1 KiB: `progress` under `[limits]` of its grant.",
            ]),
        ),
        // It says more than any log of ours takes.
        (limits(1 << 40, 64 << 20), json!(["Its log was cut after 16384 KiB: `log` under `[limits]` of its grant."])),
    ] {
        let out = chatter.to(bounds).0.call("chatter", json!({}), Answer::Yes).await.unwrap();
        assert_eq!(out.text, "said");
        assert_eq!(out.metadata["cut"], want);
    }
}
