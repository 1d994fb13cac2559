//! A hermetic home: own config, data, state and workspace in a temporary folder. The compiled code of the bundled components is
//! made once for all tests and shared, with the key that vouches for it.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest that any scripted run may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Home {
    dir: TempDir,
}

/// What a finished run left behind.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Run {
    /// The lines of `--format json`.
    #[must_use]
    pub fn lines(&self) -> Vec<Value> {
        let parse = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("not JSON ({e}): {l}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Lines of one type.
    #[must_use]
    pub fn of(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|l| l["type"] == kind).collect()
    }

    /// The last line, which is the result.
    #[must_use]
    pub fn result(&self) -> Value {
        let last = self.lines().pop().unwrap_or_else(|| panic!("no output; stderr: {}", self.stderr));
        assert_eq!(last["type"], "result", "{self:?}");
        last
    }

    /// Fails with all that was printed unless the exit code is this one.
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

/// The built binary: beside the test's own executable.
#[must_use]
pub fn binary() -> PathBuf {
    let mut path = std::env::current_exe().expect("the test's own path");
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let binary = path.join("airlock");
    assert!(binary.exists(), "{} is not built: run `cargo test` for the whole workspace", binary.display());
    binary
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let home = Self { dir };
        for folder in [home.work(), home.config_dir(), home.data_dir(), home.path("tmp")] {
            std::fs::create_dir_all(folder).expect("a folder in the temporary home");
        }
        warm::lend(&home);
        home
    }

    /// A home whose model is this server.
    #[must_use]
    pub fn with_model(base_url: &str) -> Self {
        let home = Self::new();
        home.config(&model_config(base_url));
        home
    }

    /// As [`Self::with_model`], through this adapter.
    #[must_use]
    pub fn with_adapter(adapter: &str, base_url: &str) -> Self {
        let home = Self::new();
        home.config(&adapter_config(adapter, base_url));
        home
    }

    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("the temporary folder").join(name)
    }

    /// The workspace.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    #[must_use]
    pub fn config_dir(&self) -> PathBuf {
        self.path("home/.config/airlock")
    }

    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.path("home/.local/share/airlock")
    }

    /// Writes the user's config.
    pub fn config(&self, toml: &str) {
        std::fs::write(self.config_dir().join("config.toml"), toml).expect("the config");
    }

    /// Writes a file of the workspace, with its folders.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    #[must_use]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.work().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The binary in this home, with an environment made from nothing.
    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut c = Command::new(binary());
        c.args(args).current_dir(self.work()).env_clear();
        let home = self.path("home");
        c.env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"));
        c.env("XDG_CACHE_HOME", warm::cache()).env("TMPDIR", self.path("tmp"));
        c.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LANG", "C.UTF-8").env("TERM", "dumb");
        c.env("AIRLOCK_RETRY_BASE_MS", "10").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        c
    }

    /// Runs to the end.
    pub fn airlock(&self, args: &[impl AsRef<OsStr>]) -> Run {
        finish(self.command(args), b"")
    }

    /// `run --format json` with these further arguments.
    pub fn run(&self, args: &[&str]) -> Run {
        let all: Vec<&str> = ["run", "--format", "json"].into_iter().chain(args.iter().copied()).collect();
        self.airlock(&all)
    }
}

/// Config with one provider, `mock`, at this address.
#[must_use]
pub fn model_config(base_url: &str) -> String {
    adapter_config("openai-chat", base_url)
}

/// Config with one provider, `mock`, at this address, through this adapter.
#[must_use]
pub fn adapter_config(adapter: &str, base_url: &str) -> String {
    format!(
        "model = \"mock/mock\"\n\n[providers.mock]\nadapter = \"{adapter}\"\nbase_url = \"{base_url}\"\n\
         models = [{{ id = \"mock\", context = 200000, output = 32000 }}]\n"
    )
}

/// Runs a command to its end with this standard input; fails the test rather than hang.
pub fn finish(mut command: Command, input: &[u8]) -> Run {
    let begun = Instant::now();
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("the binary starts");
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input);
    }
    let pid = child.id();
    let watchdog = std::thread::spawn(move || {
        let deadline = begun + PATIENCE;
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            if !Path::new(&format!("/proc/{pid}/stat")).exists() {
                return;
            }
        }
        // SAFETY: sends a signal to a child of this process; no memory is touched.
        unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
    });
    let out = child.wait_with_output().expect("the binary's output");
    drop(watchdog);
    let code = out.status.code().unwrap_or_else(|| {
        use std::os::unix::process::ExitStatusExt;
        -out.status.signal().unwrap_or(0)
    });
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    Run { code, stdout: text(&out.stdout), stderr: text(&out.stderr), took: begun.elapsed() }
}

/// Compiled code shared by all homes of a test run.
mod warm {
    use super::{Command, Home, Path, PathBuf, Stdio, binary};
    use std::sync::OnceLock;

    fn root() -> PathBuf {
        let mut path = binary();
        path.pop();
        path.join("test-home")
    }

    pub(super) fn cache() -> PathBuf {
        root().join(".cache")
    }

    /// Compiles everything once a process (and, by the cache itself, once a build); processes take turns.
    fn ready() {
        static READY: OnceLock<()> = OnceLock::new();
        READY.get_or_init(|| {
            let root = root();
            std::fs::create_dir_all(&root).expect("the shared test home");
            let turn = std::fs::File::create(root.join("lock")).expect("a lock file");
            turn.lock().expect("the lock");
            let mut c = Command::new(binary());
            c.args(["plugin", "list"]).env_clear().env("HOME", &root).stdout(Stdio::null()).stderr(Stdio::null());
            let done = c.status().expect("the binary starts");
            assert!(done.success(), "`airlock plugin list` failed in a fresh home");
        });
    }

    /// Gives a home the key that vouches for the shared compiled code.
    pub(super) fn lend(home: &Home) {
        ready();
        let from = root().join(".local/share/airlock");
        copy_key(&from, &home.data_dir());
    }

    fn copy_key(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|e| e == "key") {
                std::fs::copy(entry.path(), to.join(entry.file_name())).expect("the cache key");
            }
        }
    }
}
