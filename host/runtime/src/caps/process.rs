//! Programs, in the OS sandbox: named, judged by the gate, confined, watched, and killed with everything that they started.
//!
//! The shell is native code, so its wall is the operating system's: Landlock and seccomp, in namespaces where they work (see
//! [`Level`], and the file `sandbox` for what a program may see). The chain of processes is
//! `host → supervisor → program`; the supervisor's own file says why it is there.
//!
//! Output is pulled, not pushed: nobody reads a pipe before [`Child::next`] asks for it, so the kernel's pipe is the bounded
//! buffer, and a flood waits in its program. The clock, the graces and the killing are the supervisor's and need no polling.

mod confine;
mod environment;
mod escalation;
mod filter;
mod level;
mod output;
mod sandbox;
mod space;
mod spool;
mod supervisor;
mod sys;
#[cfg(test)]
mod tests;
pub mod yard;

use super::Funnel;
use confine::Confinement;
use level::Walls;
pub use level::{Level, detect};
use model::beyond::Beyond;
use model::permission::Act;
use output::Output;
pub use sandbox::Sandbox;
use sandbox::Scratch;
use serde_json::Value;
use spool::Spool;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use supervisor::{Reason, Report};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

/// A program and how it is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub run: Target,
    /// Absolute.
    pub cwd: PathBuf,
    /// Added to the minimal environment.
    pub env: Vec<(String, String)>,
    /// `None` = end of file at once.
    pub stdin: Option<Vec<u8>>,
    /// From start to TERM; KILL follows after three seconds.
    pub timeout: Option<Duration>,
    /// Once more than this many bytes were printed, all output goes to a file as well. At most 1 MiB counts.
    pub keep_over: Option<u64>,
    /// More than the sandbox gives. Paths as they were written.
    pub beyond: Beyond,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Program and arguments. A name without a slash is looked up in `PATH`.
    Argv(Vec<String>),
    /// A line for `bash -c`, else `sh -c`; no start-up files are read.
    Shell(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Killed,
}

/// What a program did; `Exited` is the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Output(Channel, Vec<u8>),
    Exited(Exit),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The gate said no, or the walls are too low.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    NotFound(String),
    #[error("the program could not be started: {0}")]
    Failed(String),
}

/// A running program. Dropping it kills the whole tree before it returns.
pub struct Child {
    stage: Stage,
    output: Output,
    /// The host's end; closing it kills the tree.
    link: Option<UnixStream>,
    supervisor: tokio::process::Child,
    spool: Spool,
    /// The line, or the program with its arguments.
    pub(crate) line: String,
    /// What holds it.
    pub(crate) held: Held,
    /// Removed at the end, when nobody is left to write there.
    _scratch: TempDir,
}

/// How a program was held when it was started, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub level: Level,
    pub beyond: Beyond,
}

#[derive(Clone, Copy)]
enum Stage {
    Running,
    /// The program has ended; what its background processes still print counts until then.
    Lingering {
        exit: Exit,
        until: Instant,
    },
    /// Everybody is dead: what is in the pipes is all there is.
    Emptying {
        exit: Exit,
    },
    Ended,
}

/// How long output of background processes is waited for after the program's end.
const LINGER: Duration = Duration::from_millis(80);
/// How long a tree that was struck by KILL is waited for.
const BURIAL: Duration = Duration::from_millis(500);
/// TERM, its grace, KILL and the report, with something to spare.
const STOPPING: Duration = Duration::from_millis(200);

/// Closes this process to others of the same user: its environment and memory hold keys, and where neither Landlock nor namespaces
/// work, a program could read them in `/proc`. The supervisors, forks of this process that hold the same, inherit it. The price: no
/// core dumps, and a debugger needs root.
///
/// # Errors
/// When the kernel refuses.
pub fn close_to_others() -> io::Result<()> {
    sys::set_open_to_others(false)
}

/// Asks the gate, then starts the program behind the walls.
///
/// # Errors
/// [`SpawnError`]: nothing was started.
pub async fn spawn(funnel: &Funnel, sandbox: &Sandbox, command: Command) -> Result<Child, SpawnError> {
    // Judged is where the program will be: a link that is bent after the question leads nowhere else.
    let cwd = command.cwd.canonicalize().unwrap_or(command.cwd);
    let command = Command { cwd, ..command };
    ask(funnel, &command).await?;
    let level = detect();
    if sandbox.require && level < Level::Strong {
        return Err(SpawnError::Denied(format!(
            "The OS sandbox is required, but here it is {level}. Use Linux 6.12 or later with Landlock enabled, or run without \
             `--require-sandbox`."
        )));
    }
    if command.beyond.is_nothing() {
        return begin(sandbox, command, level::walls()).await;
    }
    let command = escalation::ask(funnel, sandbox, command).await?;
    begin(&escalation::opened(sandbox, &command.beyond), command.clone(), escalation::walls(&command.beyond)).await
}

async fn begin(sandbox: &Sandbox, command: Command, walls: Walls) -> Result<Child, SpawnError> {
    if let Some(why) = sandbox.leaks(walls, &command.cwd) {
        return Err(SpawnError::Denied(format!("No program may run there: {why}.")));
    }
    if let Some(watch) = &sandbox.watch {
        watch.before().await;
        watch.leaves_out(escalation::unseen(&command.beyond));
    }
    start(sandbox, command, walls)
}

async fn ask(funnel: &Funnel, command: &Command) -> Result<(), SpawnError> {
    let verdict = match &command.run {
        Target::Shell(line) => funnel.shell(line, &command.cwd).await,
        Target::Argv(argv) => {
            let act = Act::Exec { argv: argv.clone(), cwd: command.cwd.clone() };
            funnel.permit(act, Value::Null).await
        }
    };
    verdict.map_err(|_| {
        let why = funnel.refusal().map_or_else(|| "Not permitted.".into(), |failure| failure.message);
        SpawnError::Denied(why)
    })
}

fn start(sandbox: &Sandbox, command: Command, walls: Walls) -> Result<Child, SpawnError> {
    if !command.cwd.is_dir() {
        return Err(SpawnError::NotFound(format!("there is no folder {}", command.cwd.display())));
    }
    let failed = |e: io::Error| SpawnError::Failed(e.to_string());
    let held = Held { level: walls.level(), beyond: command.beyond.clone() };
    let scratch = tempfile::Builder::new().prefix("airlock-").tempdir().map_err(failed)?;
    let folders = Folders::make(scratch.path()).map_err(failed)?;
    let (ours, theirs) = Pair::pair().map_err(failed)?;
    let mut process = prepare(sandbox, &command, walls, &folders, theirs.into())?;
    let mut supervisor = process.spawn().map_err(|e| not_started(&command.run, &e))?;
    // The command holds the supervisor's end of the link.
    drop(process);
    ours.set_nonblocking(true).map_err(failed)?;
    Ok(Child {
        stage: Stage::Running,
        output: Output::of(&mut supervisor),
        link: Some(UnixStream::from_std(ours).map_err(failed)?),
        supervisor,
        spool: Spool::new(&sandbox.outputs, command.keep_over),
        line: match command.run {
            Target::Shell(line) => line,
            Target::Argv(argv) => argv.join(" "),
        },
        held,
        _scratch: scratch,
    })
}

struct Folders {
    temp: PathBuf,
    shared_memory: PathBuf,
}

impl Folders {
    fn make(scratch: &Path) -> io::Result<Self> {
        let scratch = scratch.canonicalize()?;
        let folders = Self { temp: scratch.join("tmp"), shared_memory: scratch.join("shm") };
        std::fs::create_dir(&folders.temp)?;
        std::fs::create_dir(&folders.shared_memory)?;
        Ok(folders)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place where programs are started, behind the walls")]
fn prepare(
    sandbox: &Sandbox,
    command: &Command,
    walls: Walls,
    folders: &Folders,
    link: OwnedFd,
) -> Result<tokio::process::Command, SpawnError> {
    if let Some((name, _)) = command.env.iter().find(|(name, _)| steers(name)) {
        return Err(SpawnError::Denied(format!("a component may not set {name}: it decides which code runs")));
    }
    let mut env = environment::build(&sandbox.environment, &folders.temp, shell(), &command.env);
    let path_list = env.get("PATH").cloned().unwrap_or_default();
    let (program, arguments) = resolve(&command.run, &command.cwd, &path_list)?;
    let scratch = Scratch { temp: &folders.temp, shared_memory: &folders.shared_memory };
    let plan = sandbox.plan(walls, &scratch, &command.cwd, &path_list)?;
    if !command.env.iter().any(|(name, _)| name == "TMPDIR") {
        env.insert("TMPDIR".into(), plan.temp.display().to_string());
    }
    let mut process = tokio::process::Command::new(program);
    process.args(arguments).env_clear().envs(env);
    process.stdin(standard_input(command.stdin.as_deref())?).stdout(Stdio::piped()).stderr(Stdio::piped());
    let confinement = Confinement {
        cwd: confine::c_path(&command.cwd)?,
        ruleset: plan.ruleset,
        filters: if walls.seccomp { filter::programs(sandbox.network)? } else { vec![] },
        space: plan.space,
        link,
        timeout_ms: command.timeout.map(|t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX)),
    };
    confinement.apply_to(&mut process);
    Ok(process)
}

/// Variables by which another program would run than the one that was asked for.
pub(crate) fn steers(name: &str) -> bool {
    name == "PATH" || name == "BASH_ENV" || name == "ENV" || name.starts_with("LD_") || name.starts_with("GIT_")
}

/// Input in a file that lies in memory only: no task has to feed a pipe, and none can block on it.
fn standard_input(bytes: Option<&[u8]>) -> Result<Stdio, SpawnError> {
    let Some(bytes) = bytes else { return Ok(Stdio::null()) };
    let fill = || -> io::Result<Stdio> {
        use std::io::{Seek, Write};
        let fd = rustix::fs::memfd_create("stdin", rustix::fs::MemfdFlags::CLOEXEC)?;
        let mut file = std::fs::File::from(fd);
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file.into())
    };
    fill().map_err(|e| SpawnError::Failed(format!("standard input: {e}")))
}

fn shell() -> &'static Path {
    static SHELL: std::sync::LazyLock<&Path> = std::sync::LazyLock::new(|| {
        let candidates = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];
        candidates.into_iter().map(Path::new).find(|path| path.exists()).unwrap_or(Path::new("/bin/sh"))
    });
    *SHELL
}

fn resolve(target: &Target, cwd: &Path, path_list: &str) -> Result<(PathBuf, Vec<String>), SpawnError> {
    match target {
        Target::Shell(line) => Ok((shell().into(), vec!["-c".into(), line.clone()])),
        Target::Argv(argv) => {
            let (name, arguments) =
                argv.split_first().ok_or_else(|| SpawnError::NotFound("no program named".into()))?;
            let program = find(name, cwd, path_list)
                .ok_or_else(|| SpawnError::NotFound(format!("there is no program `{name}`")))?;
            Ok((program, arguments.to_vec()))
        }
    }
}

fn find(name: &str, cwd: &Path, path_list: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(cwd.join(name)).filter(runs);
    }
    path_list.split(':').map(|folder| cwd.join(folder).join(name)).find(runs)
}

fn not_started(target: &Target, why: &io::Error) -> SpawnError {
    match target {
        Target::Argv(argv) => SpawnError::Failed(format!("{}: {why}", argv.first().map_or("", String::as_str))),
        Target::Shell(_) => SpawnError::Failed(why.to_string()),
    }
}

impl Child {
    /// The next piece of output, then the exit, then `None`. Output first: nothing comes after [`Event::Exited`]. May be dropped
    /// and called again: nothing is lost.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.stage {
                Stage::Ended => return None,
                Stage::Running => {
                    if let Some(piece) = self.run().await {
                        return Some(self.keep(piece));
                    }
                }
                Stage::Lingering { exit, until } => match timeout_at(until, self.output.read()).await {
                    Ok(Some(piece)) if Instant::now() < until => return Some(self.keep(piece)),
                    Ok(Some(piece)) => {
                        self.bury(exit).await;
                        return Some(self.keep(piece));
                    }
                    Ok(None) | Err(_) => self.bury(exit).await,
                },
                Stage::Emptying { exit } => match timeout(LINGER, self.output.read()).await {
                    Ok(Some(piece)) => return Some(self.keep(piece)),
                    Ok(None) | Err(_) => {
                        self.stage = Stage::Ended;
                        return Some(Event::Exited(exit));
                    }
                },
            }
        }
    }

    /// Ends the program: TERM, a short grace, KILL for the whole tree. Returns when it is dead; what it printed can still be read.
    pub async fn kill(&mut self) {
        if matches!(self.stage, Stage::Running) {
            if let Some(link) = &mut self.link {
                let _ = link.write_all(&[supervisor::STOP]).await;
            }
            let report = timeout(STOPPING, self.report()).await;
            let exit = report.ok().flatten().map_or(Exit::Killed, exit_of);
            self.bury(exit).await;
        }
    }

    /// The file that keeps the whole output, once there is one.
    #[must_use]
    pub fn kept(&self) -> Option<&Path> {
        self.spool.path()
    }

    /// The next piece, or `None` when the stage has changed.
    async fn run(&mut self) -> Option<output::Piece> {
        let Some(link) = &mut self.link else {
            self.stage = Stage::Emptying { exit: Exit::Killed };
            return None;
        };
        let report = tokio::select! {
            biased;
            ready = link.readable() => ready.ok().and_then(|()| receive(link)),
            piece = self.output.read_or_wait() => return Some(piece),
        };
        if let Some(heard) = report {
            let exit = heard.map_or(Exit::Killed, exit_of);
            self.stage = Stage::Lingering { exit, until: Instant::now() + LINGER };
        }
        None
    }

    async fn report(&mut self) -> Option<Report> {
        let mut bytes = [0; Report::SIZE];
        self.link.as_mut()?.read_exact(&mut bytes).await.ok()?;
        Some(Report::from_bytes(bytes))
    }

    /// Kills what is left of the tree and waits until it is gone.
    async fn bury(&mut self, exit: Exit) {
        self.stage = Stage::Emptying { exit };
        self.cut_link();
        if timeout(BURIAL, self.supervisor.wait()).await.is_err() {
            tracing::warn!("a killed process tree is still there");
        }
    }

    fn cut_link(&mut self) {
        if let Some(link) = self.link.take().and_then(|link| link.into_std().ok()) {
            // Not only closed: another program that is just being started may hold a copy for a moment.
            let _ = link.shutdown(std::net::Shutdown::Both);
        }
    }

    fn keep(&mut self, (channel, bytes): output::Piece) -> Event {
        self.spool.push(&bytes);
        Event::Output(channel, bytes)
    }
}

/// What is on the link: nothing yet, or the report, or (`Some(None)`) an end without one. A report is one small message on a local
/// socket: it comes whole or not at all.
fn receive(link: &UnixStream) -> Option<Option<Report>> {
    let mut bytes = [0; Report::SIZE];
    match link.try_read(&mut bytes) {
        Ok(Report::SIZE) => Some(Some(Report::from_bytes(bytes))),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => None,
        Ok(_) | Err(_) => Some(None),
    }
}

fn exit_of(report: Report) -> Exit {
    let status = ExitStatus::from_raw(report.status);
    match report.reason {
        Reason::TimedOut => Exit::TimedOut,
        Reason::Stopped => Exit::Killed,
        Reason::Itself => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Killed,
        },
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.cut_link();
        let begun = std::time::Instant::now();
        while matches!(self.supervisor.try_wait(), Ok(None)) {
            if begun.elapsed() > STOPPING {
                let _ = self.supervisor.start_kill();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
