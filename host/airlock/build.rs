//! Builds the bundled components for their wasm targets and embeds them, so that one `cargo build` makes the whole program.
//!
//! The inner cargo works in a target folder of its own, shared by all profiles, and is shielded from what the outer one was told
//! (flags, wrappers such as clippy's, another target): components are the same bytes however the host is built.

#![expect(
    clippy::disallowed_methods,
    reason = "the build is made of programs and of cargo's variables; the bans are for the product"
)]

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// How a component comes to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Uses WASI through its language's own library: the linker of the target makes the component.
    Acting,
    /// Imports nothing: a bare module, made a component here. Were it built for WASI, its standard library alone would import a dozen
    /// interfaces.
    Pure,
}

impl Kind {
    fn target(self) -> &'static str {
        match self {
            Self::Acting => "wasm32-wasip2",
            Self::Pure => "wasm32-unknown-unknown",
        }
    }

    /// A model adapter or a hook is named by somebody who wants it; tools are told to every model. What they are stands in a note
    /// beside them, which a test compares with what they say: so nothing has to be compiled to tell a model of them.
    fn learnt(self, note: &Path) -> String {
        match self {
            Self::Acting if note.is_file() => {
                format!("Learnt::AtBuild(include_str!({:?}))", note.display().to_string())
            }
            Self::Acting => "Learnt::AtStart".into(),
            Self::Pure => "Learnt::WhenNamed".into(),
        }
    }
}

/// Every component that is part of the program: a folder of `plugins/` each.
const BUNDLED: &[(&str, Kind)] = &[
    ("anthropic", Kind::Pure),
    ("apply-patch", Kind::Acting),
    ("bash", Kind::Acting),
    ("edit", Kind::Acting),
    ("gemini", Kind::Pure),
    ("glob", Kind::Acting),
    ("grep", Kind::Acting),
    ("offline", Kind::Pure),
    ("ollama", Kind::Pure),
    ("openai-chat", Kind::Pure),
    ("openai-responses", Kind::Pure),
    ("read", Kind::Acting),
    ("redact", Kind::Pure),
    ("todowrite", Kind::Acting),
    ("webfetch", Kind::Acting),
    ("write", Kind::Acting),
];

/// What a component's tools are, beside its manifest.
const NOTE: &str = "tools.json";

/// What the outer build sets and the inner one must not see.
const SHIELDED: &[&str] = &[
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
    "RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CLIPPY_ARGS",
    "CLIPPY_CONF_DIR",
];

/// Memory that an ordinary call gets along with: to grow it takes two changes of the page tables a call.
const ROOM: &str = "-Clink-arg=--initial-memory=2097152";

type Done<T> = Result<T, String>;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the bundled components could not be built: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Done<()> {
    let places = Places::find()?;
    places.watch();
    let mut made = Vec::new();
    for kind in [Kind::Acting, Kind::Pure] {
        let names = places.of_kind(kind)?;
        need_target(kind.target())?;
        compile(&places, kind, &names)?;
        for name in names {
            embed(&places, kind, name)?;
            made.push((name, kind));
        }
    }
    made.sort_unstable_by_key(|(name, _)| *name);
    let list = places.out.join("bundled.rs");
    fs::write(&list, source(&places, &made)).map_err(|e| format!("{}: {e}", list.display()))
}

struct Places {
    root: PathBuf,
    out: PathBuf,
    target: PathBuf,
}

impl Places {
    fn find() -> Done<Self> {
        let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let out = PathBuf::from(variable("OUT_DIR")?);
        let root = manifest.ancestors().nth(2).ok_or("the project has no root")?.to_owned();
        // <target>/<profile>/build/<package>/out
        let target = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?.join("plugins");
        Ok(Self { root, out, target })
    }

    fn plugin(&self, name: &str) -> PathBuf {
        self.root.join("plugins").join(name)
    }

    fn of_kind(&self, kind: Kind) -> Done<Vec<&'static str>> {
        let names: Vec<&str> = BUNDLED.iter().filter(|(_, k)| *k == kind).map(|(name, _)| *name).collect();
        match names.iter().find(|name| !self.plugin(name).join("Cargo.toml").is_file()) {
            Some(name) => Err(format!("plugins/{name} is not there; the checkout is not whole")),
            None => Ok(names),
        }
    }

    /// Sources only: a target folder that lies beside them changes at each build.
    fn watch(&self) {
        let workspace = ["Cargo.toml", "Cargo.lock"].map(|f| self.root.join("plugins").join(f));
        let sdk = ["Cargo.toml", "build.rs", "src"].map(|f| self.root.join("sdk/rust").join(f));
        let contract = [self.root.join("wit/v0.1"), self.root.join("host/airlock/build.rs")];
        for path in self.crates().chain(workspace).chain(sdk).chain(contract) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }

    /// Manifest, sources and catalogue of every crate beside the components: they share some.
    fn crates(&self) -> impl Iterator<Item = PathBuf> {
        let folders = fs::read_dir(self.root.join("plugins")).into_iter().flatten().flatten().map(|e| e.path());
        folders.flat_map(|f| ["Cargo.toml", "src", "models.json", NOTE].map(|name| f.join(name))).filter(|f| f.exists())
    }
}

fn variable(name: &str) -> Done<String> {
    env::var(name).map_err(|_| format!("{name} is not set; this script is run by cargo"))
}

fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

/// Adds a target where it is missing. rustup is called only then: two of its calls at once can take a library away from under a
/// running compiler.
fn need_target(target: &str) -> Done<()> {
    if has_target(target)? {
        return Ok(());
    }
    let lock_file = rustup_home().join("airlock-build.lock");
    let lock = fs::File::create(&lock_file).map_err(|e| format!("{}: {e}", lock_file.display()))?;
    lock.lock().map_err(|e| format!("{}: {e}", lock_file.display()))?;
    if has_target(target)? {
        return Ok(());
    }
    println!("cargo::warning=adding the Rust target {target}, which the components are built for, through rustup");
    let added = program("rustup").args(["target", "add", target]).stdout(Stdio::null()).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`rustup target add {target}` failed; run it by hand to see why")),
        Err(_) => Err(format!(
            "the Rust target {target} is missing and there is no rustup to add it. Install rustup (https://rustup.rs), or the \
             standard library of {target} by the means of your system"
        )),
    }
}

/// A folder that all builds of this user share.
fn rustup_home() -> PathBuf {
    let named = ["RUSTUP_HOME", "CARGO_HOME"].into_iter().find_map(env::var_os).map(PathBuf::from);
    named.filter(|p| p.is_dir()).unwrap_or_else(env::temp_dir)
}

fn has_target(target: &str) -> Done<bool> {
    let rustc = variable("RUSTC")?;
    let asked = program(&rustc).args(["--print", "target-libdir", "--target", target]).output();
    let answer = asked.map_err(|e| format!("{rustc}: {e}"))?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    let is_core = |e: fs::DirEntry| e.file_name().to_string_lossy().starts_with("libcore-");
    Ok(answer.status.success() && fs::read_dir(libraries).is_ok_and(|all| all.flatten().any(is_core)))
}

fn compile(places: &Places, kind: Kind, names: &[&str]) -> Done<()> {
    let mut cargo = program(variable("CARGO")?);
    SHIELDED.iter().for_each(|name| {
        cargo.env_remove(name);
    });
    let inherited = env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|n| n.to_string_lossy().starts_with("CARGO_PROFILE_")) {
        cargo.env_remove(name);
    }
    if kind == Kind::Acting {
        cargo.env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", ROOM);
    }
    cargo.args(["build", "--release", "--target", kind.target(), "--manifest-path"]);
    cargo.arg(places.root.join("plugins/Cargo.toml")).arg("--target-dir").arg(&places.target);
    cargo.args(names.iter().flat_map(|name| ["--package", name]));
    // Whatever is printed there would be read as an instruction of this script.
    let status = cargo.current_dir(&places.root).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("cargo failed on {} for {} (its output is above)", names.join(", "), kind.target())),
        Err(e) => Err(format!("cargo could not be started: {e}")),
    }
}

fn embed(places: &Places, kind: Kind, name: &str) -> Done<()> {
    let file = format!("{}.wasm", name.replace('-', "_"));
    let built = places.target.join(kind.target()).join("release").join(file);
    let module = fs::read(&built).map_err(|e| format!("{}: {e}", built.display()))?;
    let component = match kind {
        Kind::Acting => module,
        Kind::Pure => componentise(&module).map_err(|e| format!("{name} could not be made a component: {e}"))?,
    };
    let embedded = component_file(&places.out, name);
    fs::write(&embedded, component).map_err(|e| format!("{}: {e}", embedded.display()))
}

fn componentise(module: &[u8]) -> Done<Vec<u8>> {
    let encoder = wit_component::ComponentEncoder::default().validate(true).module(module);
    encoder.and_then(|mut e| e.encode()).map_err(|e| format!("{e:#}"))
}

fn component_file(out: &Path, name: &str) -> PathBuf {
    out.join(format!("{name}.wasm"))
}

fn source(places: &Places, made: &[(&str, Kind)]) -> String {
    let mut text = String::from("/// Sorted by name.\npub const BUNDLED: &[Bundled] = &[\n");
    for (name, kind) in made {
        let learnt = kind.learnt(&places.plugin(name).join(NOTE));
        let bytes = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\"))");
        let _ = writeln!(text, "    Bundled {{ name: \"{name}\", bytes: {bytes}, learnt: {learnt} }},");
    }
    text + "];\n"
}
