//! The one wasmtime configuration. Two engines come from it: one for components that may act, which takes every toolchain's
//! output, and one without the concurrency of the component model, which halves the price of a call into a codec.

use crate::error::RuntimeError;
use crate::once::Once;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// How often a running guest is looked at.
pub const TICK: Duration = Duration::from_millis(10);

/// Bytes that a linear memory can grow to, whatever a manifest asks for.
pub const MEMORY_MAX: usize = 256 << 20;
pub const TABLE_MAX: usize = 20_000;

/// Bytes of a memory, and of a table, that are wiped where they lie for the next instance, instead of given back to the system and
/// faulted in again. What a call of a bundled tool touches fits in.
const MEMORY_KEPT: usize = 4 << 20;
const TABLE_KEPT: usize = 64 << 10;
/// Free slots that keep what they hold; beyond that it is given back.
const WARM: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Tools and hooks.
    Acting,
    /// Tools, where the room of the first is taken by calls that wait: the same code, and room made when it is needed.
    Crowd,
    /// Providers: pure, and called for each read of a socket.
    Codec,
}

impl EngineKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Acting | Self::Crowd => "acting",
            Self::Codec => "codec",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Acting, Self::Codec].into_iter().find(|kind| kind.name() == name)
    }

    /// Instances for which room is made beforehand.
    pub fn slots(self) -> u16 {
        match self {
            Self::Acting => 100,
            Self::Crowd => 0,
            Self::Codec => 50,
        }
    }

    /// Stacks that calls can be suspended on. A codec never waits.
    fn stacks(self) -> u32 {
        match self {
            Self::Acting => self.slots().into(),
            Self::Crowd => 0,
            Self::Codec => 1,
        }
    }

    /// Instances that rest between two steps of their conversations.
    pub fn resting(self) -> u16 {
        match self {
            Self::Acting | Self::Crowd => 0,
            Self::Codec => 16,
        }
    }
}

/// The engines, each made when it is first needed.
#[derive(Default)]
pub struct Engines {
    acting: Once<Engine>,
    crowd: Once<Engine>,
    codec: Once<Engine>,
    ticker: Arc<Ticker>,
}

impl Engines {
    pub fn get(&self, kind: EngineKind) -> Result<Engine, RuntimeError> {
        let slot = match kind {
            EngineKind::Acting => &self.acting,
            EngineKind::Crowd => &self.crowd,
            EngineKind::Codec => &self.codec,
        };
        slot.get(|| {
            let engine = Engine::new(&config(kind)).map_err(|e| RuntimeError::Engine { why: format!("{e:#}") })?;
            self.ticker.engines.lock().unwrap_or_else(PoisonError::into_inner).push(engine.weak());
            Ok(engine)
        })
    }

    /// Epochs pass while at least one of these is held.
    pub fn running(&self) -> Running {
        Ticker::enter(&self.ticker);
        Running(Arc::clone(&self.ticker))
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.ticker.stop.store(true, Ordering::Release);
        self.ticker.wake();
    }
}

/// An engine that only compiles: for the same code without the room for instances.
pub fn to_compile(kind: EngineKind) -> wasmtime::Result<Engine> {
    Engine::new(&compiling(kind))
}

fn config(kind: EngineKind) -> Config {
    let mut config = compiling(kind);
    config.allocation_strategy(match kind {
        EngineKind::Acting | EngineKind::Codec => InstanceAllocationStrategy::Pooling(pool(kind)),
        EngineKind::Crowd => InstanceAllocationStrategy::OnDemand,
    });
    config
}

/// All that the compiled code depends on.
fn compiling(kind: EngineKind) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(kind != EngineKind::Codec)
        .cranelift_opt_level(OptLevel::Speed)
        .epoch_interruption(true)
        .wasm_backtrace_max_frames(NonZeroUsize::new(20))
        .memory_reservation(MEMORY_MAX as u64)
        .memory_guard_size(64 << 10)
        .memory_may_move(false);
    config
}

/// Limits under which components of every toolchain tried so far ran (Rust, C, JavaScript, Python), with room.
fn pool(kind: EngineKind) -> PoolingAllocationConfig {
    let slots = u32::from(kind.slots() + kind.resting());
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(slots)
        .total_core_instances(slots * 12)
        .total_memories(slots * 2)
        .total_tables(slots * 6)
        .total_stacks(kind.stacks())
        .total_gc_heaps(slots)
        .max_core_instances_per_component(40)
        .max_memories_per_component(4)
        .max_tables_per_component(12)
        .max_tables_per_module(12)
        .max_memories_per_module(4)
        .table_elements(TABLE_MAX)
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(2 << 20)
        .max_memory_size(MEMORY_MAX)
        .linear_memory_keep_resident(MEMORY_KEPT)
        .table_keep_resident(TABLE_KEPT)
        .max_unused_warm_slots(WARM)
        // Only what an instance wrote is wiped, where the kernel can tell (Linux 6.7).
        .pagemap_scan(Enabled::Auto);
    pool
}

/// One thread that lets epochs pass. It sleeps while no guest runs, and ends with the engines.
#[derive(Default)]
struct Ticker {
    engines: Mutex<Vec<EngineWeak>>,
    running: AtomicUsize,
    stop: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Ticker {
    fn enter(this: &Arc<Self>) {
        if this.running.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        let mut thread = this.thread.lock().unwrap_or_else(PoisonError::into_inner);
        match &*thread {
            Some(thread) => thread.unpark(),
            None => *thread = Self::start(this),
        }
    }

    fn start(this: &Arc<Self>) -> Option<Thread> {
        let ticker = Arc::clone(this);
        let spawned = std::thread::Builder::new().name("epochs".into()).spawn(move || ticker.run());
        match spawned {
            Ok(handle) => Some(handle.thread().clone()),
            Err(error) => {
                // Deadlines still hold for guests that wait; the next call tries again.
                tracing::error!(%error, "could not start the thread that bounds computing time");
                None
            }
        }
    }

    fn run(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if self.running.load(Ordering::Acquire) == 0 {
                std::thread::park();
            } else {
                std::thread::sleep(TICK);
                self.tick();
            }
        }
    }

    fn tick(&self) {
        for engine in self.engines.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(EngineWeak::upgrade)
        {
            engine.increment_epoch();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }
}

/// Held while guests of any engine may run.
pub struct Running(Arc<Ticker>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}
