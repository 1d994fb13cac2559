//! Strangers' components are compiled in a process of their own: a file of a kilobyte can make the compiler take minutes and
//! gigabytes, and nothing but the end of a process gives those back. The child is this same program; it sets its own limits before
//! it reads a byte, and hands back the code, which only the parent can seal.

use super::Raw;
use crate::engine::{self, EngineKind};
use crate::error::RuntimeError;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Bytes of compiled code for each of a component's own, beside what any may have. Honest ones take about ten; tables that are
/// filled at their ends make hundreds of thousands out of one.
const GROWTH: u64 = 32;
/// Bytes of what a failing child says that are kept.
const SAID_MAX: u64 = 4 << 10;
/// Threads of the compiler: each takes memory.
const THREADS: &str = "4";

/// How to start the child: the program and what stands before its own arguments.
#[derive(Clone, Debug)]
pub struct Compiler {
    pub program: PathBuf,
    pub args: Vec<String>,
}

/// What a compilation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// Bytes that the child can write to: heap and stacks.
    memory: u64,
    /// All of its threads together.
    cpu: Duration,
    wall: Duration,
    /// Bytes of the code: the parent has to hold them.
    code: u64,
}

impl Limits {
    /// A large component honestly needs more than a small one.
    fn of(size: usize) -> Self {
        let mib = (size as u64).div_ceil(MIB);
        let cpu = Duration::from_secs(30 + 6 * mib);
        let code = (32 + GROWTH * mib).min(1024) * MIB;
        Self { memory: (1024 + 64 * mib).min(4096) * MIB, cpu, wall: cpu * 2 + Duration::from_secs(30), code }
    }
}

/// The code of a component, made by a child that is killed where it takes too much.
///
/// # Errors
/// A component that cannot be compiled, or not within the limits.
pub fn compile(compiler: &Compiler, kind: EngineKind, raw: &Raw<'_>) -> Result<Vec<u8>, RuntimeError> {
    let limits = Limits::of(raw.bytes.len());
    let failed = |why: String| RuntimeError::Compile { name: raw.name.into(), why };
    let mut child =
        spawn(compiler, kind, limits).map_err(|e| failed(format!("the compiler could not be started: {e}")))?;
    let outcome = std::thread::scope(|scope| converse(scope, &mut child, raw.bytes, limits));
    let outcome = outcome.map_err(|e| failed(e.to_string()))?;
    let excess = |limit: String| RuntimeError::CompileLimit { name: raw.name.into(), limit };
    match (outcome.heard, Verdict::of(outcome.status)) {
        (Heard::Nothing, _) => Err(excess(format!("{} s", limits.wall.as_secs()))),
        (Heard::TooMuch, _) => Err(excess(format!("{} MiB of compiled code", limits.code / MIB))),
        (Heard::Code(code), Verdict::Well) => Ok(code),
        (_, Verdict::Cpu) => Err(excess(format!("{} s of computing", limits.cpu.as_secs()))),
        (_, Verdict::Memory) => Err(excess(format!("{} MiB of memory", limits.memory / MIB))),
        (_, Verdict::Failed) => Err(failed(outcome.said)),
    }
}

/// What became of the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Well,
    Cpu,
    Memory,
    Failed,
}

/// The code with which a child says that it could not compile; any other is no doing of its own.
const REFUSED: i32 = 3;

impl Verdict {
    /// A process that gets no more memory aborts, or fails wherever it happens to stand.
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Well,
            (Some(REFUSED), _) => Self::Failed,
            (_, Some(signal)) if signal == Signal::XCPU.as_raw() => Self::Cpu,
            _ => Self::Memory,
        }
    }
}

struct Outcome {
    heard: Heard,
    said: String,
    status: ExitStatus,
}

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Code(Vec<u8>),
    /// More than there may be.
    TooMuch,
    /// The time was over.
    Nothing,
}

fn converse<'s>(scope: &'s Scope<'s, '_>, child: &mut Child, bytes: &'s [u8], limits: Limits) -> io::Result<Outcome> {
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("the child has no pipes"));
    };
    // A child that ends before it has read everything is heard of by its status.
    scope.spawn(move || drop(stdin.write_all(bytes)));
    let said: ScopedJoinHandle<'s, _> = scope.spawn(move || read(stderr, SAID_MAX));
    let (send, receive) = sync_channel(1);
    scope.spawn(move || drop(send.send(read(stdout, limits.code + 1))));
    let heard = match receive.recv_timeout(limits.wall) {
        Ok(code) if code.len() as u64 <= limits.code => Heard::Code(code),
        Ok(_) => Heard::TooMuch,
        Err(_) => Heard::Nothing,
    };
    if !matches!(heard, Heard::Code(_)) {
        child.kill()?;
    }
    let status = child.wait()?;
    let said = said.join().unwrap_or_default();
    Ok(Outcome { heard, said: String::from_utf8_lossy(&said).trim().to_owned(), status })
}

fn read(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before an error is all that there is.
    let _ = from.take(most).read_to_end(&mut bytes);
    bytes
}

#[expect(
    clippy::disallowed_methods,
    reason = "the host itself, with limits of its own; nobody else names a program here"
)]
fn spawn(compiler: &Compiler, kind: EngineKind, limits: Limits) -> io::Result<Child> {
    Command::new(&compiler.program)
        .args(&compiler.args)
        .arg(kind.name())
        .args([limits.memory.to_string(), limits.cpu.as_secs().to_string()])
        .env_clear()
        .env("RAYON_NUM_THREADS", THREADS)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// The child's own life: limits, then standard input to standard output. Returns its exit code.
#[must_use]
pub fn compile_apart(kind: &str, memory: u64, cpu_seconds: u64) -> u8 {
    match apart(kind, memory, cpu_seconds) {
        Ok(()) => 0,
        Err(why) => {
            // Whoever reads it may be gone.
            let _ = writeln!(io::stderr(), "{why}");
            u8::try_from(REFUSED).unwrap_or(u8::MAX)
        }
    }
}

fn apart(kind: &str, memory: u64, cpu_seconds: u64) -> Result<(), String> {
    confine(memory, cpu_seconds).map_err(|e| format!("the compiler could not be bounded: {e}"))?;
    let kind = EngineKind::named(kind).ok_or("there is no engine of this kind")?;
    let mut bytes = Vec::new();
    let most = crate::anatomy::SIZE_MAX as u64;
    io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    let engine = engine::to_compile(kind).map_err(|e| format!("{e:#}"))?;
    let code = engine.precompile_component(&bytes).map_err(|e| format!("{e:#}"))?;
    io::stdout().lock().write_all(&code).map_err(|e| e.to_string())
}

fn confine(memory: u64, cpu_seconds: u64) -> io::Result<()> {
    let at_most = |n: u64| Rlimit { current: Some(n), maximum: Some(n) };
    setrlimit(Resource::Core, at_most(0))?;
    setrlimit(Resource::Data, at_most(memory))?;
    // One second more, so that the signal that says why comes first.
    setrlimit(Resource::Cpu, Rlimit { current: Some(cpu_seconds), maximum: Some(cpu_seconds + 1) })?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_component_may_take_more() {
        let small = Limits::of(900);
        assert_eq!((small.memory / MIB, small.cpu.as_secs(), small.wall.as_secs()), (1088, 36, 102));
        let large = Limits::of(35 << 20);
        assert_eq!((large.memory / MIB, large.cpu.as_secs()), (3264, 240));
        assert_eq!(Limits::of(64 << 20).memory / MIB, 4096);
        assert_eq!((small.code / MIB, large.code / MIB, Limits::of(2 << 20).code / MIB), (64, 1024, 96));
    }

    fn by(script: &str) -> Compiler {
        Compiler { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
    }

    #[test]
    fn a_child_that_does_not_do_its_work_is_told_of() {
        let raw = Raw { name: "x.wasm", digest: crate::compile::Digest::of(b"x"), bytes: &[7; 100_000], ours: false };
        for (script, want) in [
            ("cat > /dev/null; printf code", Ok(&b"code"[..])),
            ("echo no good >&2; exit 3", Err("could not compile x.wasm: no good")),
            ("kill -ABRT $$", Err("x.wasm is not used: to compile it takes more than 1088 MiB of memory")),
            ("kill -KILL $$", Err("MiB of memory")),
            ("kill -XCPU $$", Err("36 s of computing")),
            ("exit 101", Err("MiB of memory")),
            ("cat /dev/zero", Err("more than 64 MiB of compiled code")),
        ] {
            match (compile(&by(script), EngineKind::Acting, &raw), want) {
                (Ok(code), Ok(want)) => assert_eq!(code, want),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{script}: {error}"),
                (got, _) => panic!("{script}: {got:?}"),
            }
        }
        let gone = Compiler { program: "/no/such/program".into(), args: vec![] };
        let error = compile(&gone, EngineKind::Acting, &raw).unwrap_err().to_string();
        assert!(error.contains("could not be started"), "{error}");
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed() {
        let mut child = spawn(&by("exec sleep 60"), EngineKind::Acting, Limits::of(1)).unwrap();
        let limits = Limits { wall: Duration::from_millis(50), ..Limits::of(1) };
        let outcome = std::thread::scope(|scope| converse(scope, &mut child, &[7; 1_000_000], limits)).unwrap();
        assert_eq!(outcome.heard, Heard::Nothing);
        assert_eq!(outcome.status.signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn the_status_tells_which_limit_it_was() {
        let signal = |s: Signal| ExitStatus::from_raw(s.as_raw());
        let code = |c: i32| ExitStatus::from_raw(c << 8);
        for (status, verdict) in [
            (code(0), Verdict::Well),
            (code(REFUSED), Verdict::Failed),
            (code(101), Verdict::Memory),
            (signal(Signal::XCPU), Verdict::Cpu),
            (signal(Signal::ABORT), Verdict::Memory),
            (signal(Signal::KILL), Verdict::Memory),
        ] {
            assert_eq!(Verdict::of(status), verdict, "{status:?}");
        }
    }
}
