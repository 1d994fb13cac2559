//! What one call may use, and the meter of what it has used.

use crate::engine::MEMORY_MAX;
use crate::share::Pool;
use model::grant::LimitsAsked;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// Upper bounds of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of linear memory, all memories of the component together.
    pub memory: usize,
    /// Computing, as the operating system counts it for the thread.
    pub cpu: Duration,
    /// From start to end, without the time that questions to the person took.
    pub wall: Duration,
    /// Bytes of text and metadata in the result.
    pub output: usize,
    /// Calls into the host.
    pub calls: u64,
    /// Resources of the host, held at once.
    pub handles: usize,
    /// Bytes that go into the log.
    pub log: usize,
    /// Bytes of progress that are passed on.
    pub progress: usize,
}

/// Bytes of all attachments of one result.
pub const ATTACHMENTS: usize = 20 << 20;
/// Bytes of memory that a grant can give: one page at least.
pub const MEMORY_RANGE: RangeInclusive<u64> = (64 << 10)..=(MEMORY_MAX as u64);
/// Milliseconds of computing or of time.
pub const TIME_RANGE: RangeInclusive<u64> = 1..=(WALL_MAX.as_secs() * 1000);
/// Bytes of a result.
pub const OUTPUT_RANGE: RangeInclusive<u64> = (1 << 10)..=(OUTPUT_MAX as u64);
const WALL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const OUTPUT_MAX: usize = 16 << 20;
const HANDLES_MAX: usize = 64 << 10;
const LOG_MAX: usize = 16 << 20;
const PROGRESS_MAX: usize = 64 << 20;

impl Bounds {
    /// A call of a tool.
    pub const TOOL: Self = Self {
        memory: 64 << 20,
        cpu: Duration::from_secs(10),
        wall: Duration::from_secs(120),
        output: 1 << 20,
        calls: 10_000_000,
        handles: 4096,
        log: 64 << 10,
        progress: 4 << 20,
    };
    /// One run of one hook.
    pub const HOOK: Self = Self {
        cpu: Duration::from_secs(1),
        wall: Duration::from_secs(1),
        output: 4 << 20,
        calls: 1_000_000,
        ..Self::TOOL
    };
    /// Asking a component what it offers.
    pub const DESCRIBE: Self =
        Self { cpu: Duration::from_secs(5), wall: Duration::from_secs(10), calls: 1_000_000, ..Self::TOOL };

    /// These, with what a manifest asks for in their place, up to the host's own maxima.
    #[must_use]
    pub fn with(self, asked: &LimitsAsked) -> Self {
        let time =
            |ms: Option<u64>, default: Duration| ms.map_or(default, |ms| Duration::from_millis(ms).min(WALL_MAX));
        let size = |n: Option<u64>, default: usize, max: usize| {
            n.map_or(default, |n| usize::try_from(n).unwrap_or(max).min(max))
        };
        Self {
            memory: size(asked.memory, self.memory, MEMORY_MAX),
            cpu: time(asked.cpu_ms, self.cpu),
            wall: time(asked.wall_ms, self.wall),
            output: size(asked.output, self.output, OUTPUT_MAX),
            calls: asked.calls.unwrap_or(self.calls),
            handles: size(asked.handles, self.handles, HANDLES_MAX),
            log: size(asked.log, self.log, LOG_MAX),
            progress: size(asked.progress, self.progress, PROGRESS_MAX),
        }
    }
}

/// What a guest was not given more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    Memory,
    /// Of all that its owner runs together: bytes.
    OwnersMemory(usize),
    Tables,
}

/// Caps memory and remembers a refusal: what the guest makes of it is an `unreachable` that says nothing.
#[derive(Debug)]
pub struct Cap {
    max: usize,
    used: usize,
    /// The first that was refused.
    pub refused: Option<Short>,
    /// Where its owner's memory is counted; of nobody's components none is.
    pool: Option<Arc<Pool>>,
}

impl Cap {
    pub fn new(max: usize, pool: Option<Arc<Pool>>) -> Self {
        Self { max, used: 0, refused: None, pool }
    }

    /// Whether `more` can be had beside what is there.
    fn take(&mut self, more: usize) -> bool {
        let total = self.used.saturating_add(more);
        let lacks = match &self.pool {
            _ if total > self.max => Some(Short::Memory),
            Some(pool) if !pool.take(more) => Some(Short::OwnersMemory(pool.max())),
            _ => None,
        };
        match lacks {
            None => self.used = total,
            Some(short) => self.refused = self.refused.or(Some(short)),
        }
        lacks.is_none()
    }
}

impl Drop for Cap {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.give(self.used);
        }
    }
}

impl ResourceLimiter for Cap {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let own = maximum.is_none_or(|m| desired <= m);
        // What its own maximum refuses is no limit of ours, and takes nothing.
        Ok(own && self.take(desired.saturating_sub(current)))
    }

    fn table_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let granted = desired <= crate::engine::TABLE_MAX;
        if !granted {
            self.refused.get_or_insert(Short::Tables);
        }
        Ok(granted && maximum.is_none_or(|m| desired <= m))
    }
}

/// Computing time of one call: the thread's own clock, read where a poll of the call begins and ends. Wall time would count
/// the waits of a guest that only forwards output.
#[derive(Debug, Default)]
pub struct Meter {
    spent: AtomicU64,
    begun: AtomicU64,
}

impl Meter {
    fn begin(&self) {
        self.begun.store(thread_ns(), Ordering::Relaxed);
    }

    fn end(&self) {
        let now = self.spent_ns();
        self.spent.store(now, Ordering::Relaxed);
    }

    fn spent_ns(&self) -> u64 {
        self.spent.load(Ordering::Relaxed) + thread_ns().saturating_sub(self.begun.load(Ordering::Relaxed))
    }

    /// Only meaningful on the thread that polls the call, while it does.
    #[must_use]
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent_ns())
    }
}

fn thread_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec).unwrap_or(0)
}

/// A call whose polls are metered.
pub struct Metered<F> {
    inner: Pin<Box<F>>,
    meter: Arc<Meter>,
}

impl<F> Metered<F> {
    pub fn new(inner: F, meter: Arc<Meter>) -> Self {
        Self { inner: Box::pin(inner), meter }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.meter.begin();
        let polled = self.inner.as_mut().poll(cx);
        self.meter.end();
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_moves_the_bounds_up_to_the_maxima() {
        let asked = LimitsAsked {
            memory: Some(1 << 40),
            cpu_ms: Some(5),
            wall_ms: Some(u64::MAX),
            calls: Some(7),
            handles: Some(1 << 40),
            ..LimitsAsked::default()
        };
        let want = Bounds {
            memory: MEMORY_MAX,
            cpu: Duration::from_millis(5),
            wall: WALL_MAX,
            calls: 7,
            handles: HANDLES_MAX,
            ..Bounds::TOOL
        };
        assert_eq!(Bounds::TOOL.with(&asked), want);
        assert_eq!(Bounds::TOOL.with(&LimitsAsked::default()), Bounds::TOOL);
    }

    #[test]
    fn memory_is_capped_over_all_memories() {
        let mut cap = Cap::new(100, None);
        assert!(cap.memory_growing(0, 60, None).unwrap());
        assert!(!cap.memory_growing(0, 60, None).unwrap(), "a second memory");
        assert_eq!(cap.refused, Some(Short::Memory));
        assert!(cap.memory_growing(0, 40, None).unwrap());
    }

    #[test]
    fn an_owner_has_so_much_for_all_of_them() {
        let pool = Pool::new(100);
        let mut first = Cap::new(80, Some(Arc::clone(&pool)));
        let mut second = Cap::new(80, Some(Arc::clone(&pool)));
        assert!(first.memory_growing(0, 60, None).unwrap());
        assert!(!second.memory_growing(0, 60, None).unwrap());
        assert_eq!(second.refused, Some(Short::OwnersMemory(100)));
        assert!(second.memory_growing(0, 40, None).unwrap());
        assert!(!first.memory_growing(60, 90, None).unwrap());
        assert_eq!(first.refused, Some(Short::Memory), "its own bound comes first");
        drop(first);
        assert!(second.memory_growing(40, 80, None).unwrap(), "what is over gives back what it had");
        drop(second);
        assert!(pool.take(100));
    }

    #[test]
    fn a_refusal_by_the_guests_own_maximum_is_no_limit_of_ours() {
        let mut cap = Cap::new(100, None);
        assert!(!cap.memory_growing(0, 60, Some(50)).unwrap());
        assert_eq!(cap.refused, None);
    }
}
