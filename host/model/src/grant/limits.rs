//! Limits of a component as they are asked for and given: compared, joined, and put into words.

use super::words::{bytes, time};
use serde::{Deserialize, Serialize};

/// Limits of one call as written; the runtime's defaults stand where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsAsked {
    /// Bytes of linear memory.
    pub memory: Option<u64>,
    /// Milliseconds of computing.
    pub cpu_ms: Option<u64>,
    /// Milliseconds from start to end, time in asks not counted.
    pub wall_ms: Option<u64>,
    /// Bytes of a result.
    pub output: Option<u64>,
    /// Calls into the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Resources of the host that are held at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handles: Option<u64>,
    /// Bytes that go into the host's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<u64>,
    /// Bytes of progress that are passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<u64>,
}

impl LimitsAsked {
    /// What a call of a tool gets where nothing is said.
    pub const STANDARD: Self = Self {
        memory: Some(64 << 20),
        cpu_ms: Some(10_000),
        wall_ms: Some(120_000),
        output: Some(1 << 20),
        calls: Some(10_000_000),
        handles: Some(4096),
        log: Some(64 << 10),
        progress: Some(4 << 20),
    };

    /// Field by field: of this one's, the other's and the usual value.
    fn with(&self, o: &Self, how: impl Fn(Option<u64>, Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        let usual = Self::STANDARD;
        Self {
            memory: how(self.memory, o.memory, usual.memory),
            cpu_ms: how(self.cpu_ms, o.cpu_ms, usual.cpu_ms),
            wall_ms: how(self.wall_ms, o.wall_ms, usual.wall_ms),
            output: how(self.output, o.output, usual.output),
            calls: how(self.calls, o.calls, usual.calls),
            handles: how(self.handles, o.handles, usual.handles),
            log: how(self.log, o.log, usual.log),
            progress: how(self.progress, o.progress, usual.progress),
        }
    }

    /// These; where they say nothing, the others.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b, _| a.or(b))
    }

    /// These, and nowhere more than the other says. Where it says nothing they stand; where only it speaks, the usual ones stand unless
    /// it is smaller.
    #[must_use]
    pub fn at_most(&self, other: &Self) -> Self {
        self.with(other, |held, most, usual| match (held, most) {
            (held, None) => held,
            (held, Some(most)) => held.or(usual).into_iter().chain([most]).min(),
        })
    }

    pub(super) fn meet(&self, o: &Self) -> Self {
        self.with(o, |a, b, _| a.into_iter().chain(b).min())
    }

    /// Where one of both says something, with the usual value in place of what the other does not say.
    fn where_said(&self, o: &Self, how: impl Fn(u64, u64) -> Option<u64>) -> Self {
        self.with(o, |a, b, usual| {
            a.or(b)?;
            how(a.or(usual)?, b.or(usual)?)
        })
    }

    pub(super) fn beyond(&self, o: &Self) -> Self {
        self.where_said(o, |a, b| (a > b).then_some(a))
    }

    pub(super) fn join(&self, o: &Self) -> Self {
        self.where_said(o, |a, b| Some(a.max(b)))
    }

    /// What the other names goes back to the usual one.
    pub(super) fn without(&self, o: &Self) -> Self {
        self.with(o, |held, less, _| held.filter(|_| less.is_none()))
    }

    /// Memory and computing time, which are always bounded; the others where they are not the usual ones.
    pub(super) fn words(&self) -> String {
        let all = self.or(&Self { memory: Self::STANDARD.memory, cpu_ms: Self::STANDARD.cpu_ms, ..Self::default() });
        all.said()
    }

    pub(super) fn said(&self) -> String {
        let parts = [
            self.memory.map(bytes),
            self.cpu_ms.map(time),
            self.wall_ms.map(|ms| format!("{} from start to end", time(ms))),
            self.output.map(|n| format!("{} of output", bytes(n))),
            self.calls.map(|n| format!("{n} calls into the host")),
            self.handles.map(|n| format!("{n} handles")),
            self.log.map(|n| format!("{} of log", bytes(n))),
            self.progress.map(|n| format!("{} of progress", bytes(n))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
