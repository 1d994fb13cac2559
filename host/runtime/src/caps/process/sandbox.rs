//! What a program may see and change. Landlock knows only what is allowed, so this is a list of what is.
//!
//! * **Read and run**: the system (`/usr`, `/bin`, `/lib*`, `/opt`, `/etc` without its secrets, `/proc`, a little of `/sys`), the
//!   folders of `PATH`, toolchains in the home folder (see [`HOME_READABLE`]), and what [`Sandbox::readable`] adds.
//! * **Change**: [`Sandbox::writable`] and a temporary folder of the call's own. No device nodes are made.
//! * **Nothing else**: no other part of the home folder, so neither keys nor the files of other programs.
//!
//! A folder *above* the workspace cannot be read either: where the workspace lies inside a larger project whose manifest a tool looks
//! for (a cargo workspace, say), that project's root is the folder to name. Where namespaces work and nothing allowed lies below
//! `/tmp`, the temporary folder is also what the program sees as `/tmp`; elsewhere `/tmp` cannot be written.
//!
//! Where namespaces work, secret places inside an allowed folder (a workspace that is the home folder, say) are hidden as well,
//! sockets under `/run` are out of reach, `.git/hooks` and `.git/config` of a workspace are read-only if they are there, and
//! modes, owners and times of files outside cannot be changed. **Without namespaces these four do not hold**: Landlock cannot
//! subtract from a tree, has no right for `chmod` and its kin, and controls the connecting to socket files only in kernels newer than
//! its eighth version. Even with them a program may still make hooks where none were.

use super::SpawnError;
use super::confine::c_path;
use super::level::Walls;
use super::space::Space;
use crate::caps::scan::Watch;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use model::environment::Environment;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The walls around the programs of a session.
#[derive(Clone)]
pub struct Sandbox {
    /// Folders that programs may change: the workspace.
    pub writable: Vec<PathBuf>,
    /// Files and folders that they may read on top of the built-in list.
    pub readable: Vec<PathBuf>,
    /// Folders of the host (configuration, data): hidden even inside an allowed folder, where namespaces work.
    pub hidden: Vec<PathBuf>,
    /// What the component that runs them was not granted: out of reach in any case, or nothing runs.
    pub except: Vec<PathBuf>,
    /// Where long output is kept.
    pub outputs: PathBuf,
    /// The owner's variables, of which programs see a few.
    pub environment: Environment,
    /// The owner's home folder.
    pub home: Option<PathBuf>,
    /// Refuse to run where the level is below [`Level::Strong`](super::Level::Strong).
    pub require: bool,
    /// Whether the network is open.
    pub network: bool,
    /// Looks at the writable folders before the first program starts, so that what it changes can be taken back.
    pub watch: Option<Arc<Watch>>,
}

/// The newest rights that are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V9;

const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/snap",
    "/nix/store",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Only root could read these; a program of root's is to get the answer that everybody gets.
const ETC_SECRET: &[&str] = &[
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "sudoers",
    "sudoers.d",
    "security",
    "ssh",
    "ssl/private",
    "krb5.keytab",
];

/// Toolchains and settings below the home folder; never a folder that also holds credentials.
pub(super) const HOME_READABLE: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".rustup",
    ".nvm",
    ".npm",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".deno",
    ".bun/bin",
    ".bun/install",
    ".volta",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/virtualenv",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    "go",
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];
/// Hidden even where a folder around them is allowed.
const HOME_SECRET: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/git/credentials",
    ".config/gcloud",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];
/// Parents of a `bin` folder in `PATH` that hold more than a toolchain.
const SHARED_PARENTS: &[&str] = &[".local", ".cargo", ".config", ".bun"];

impl Sandbox {
    /// The usual walls: this workspace may be changed, nothing else. A workspace that is the whole file system leaves no place for
    /// a wall: it may be read.
    #[must_use]
    pub fn new(workspace: &Path, outputs: &Path) -> Self {
        let workspace = vec![workspace.to_owned()];
        let (writable, readable) =
            if workspace[0].parent().is_some() { (workspace, vec![]) } else { (vec![], workspace) };
        Self {
            writable,
            readable,
            hidden: vec![],
            except: vec![],
            outputs: outputs.into(),
            environment: Environment::default(),
            home: None,
            require: false,
            network: false,
            watch: None,
        }
    }

    /// Whose programs run here.
    pub fn belong_to(&mut self, environment: Environment) {
        self.home = environment.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        self.environment = environment;
    }

    fn readable_all(&self, path_list: &str) -> Vec<PathBuf> {
        let home = self.home.iter().flat_map(|home| HOME_READABLE.iter().map(move |below| home.join(below)));
        let on_path = path_list.split(':').map(Path::new).filter(|p| self.is_sane_entry(p));
        let programs = on_path.flat_map(|p| std::iter::once(p.to_owned()).chain(self.install_root(p)));
        let names = self.network.then(resolver).flatten();
        let system = SYSTEM.iter().map(PathBuf::from).chain(etc());
        system
            .chain(home)
            .chain(programs)
            .chain(self.readable.iter().cloned())
            .chain(names)
            .filter(|p| p.exists())
            .collect()
    }

    /// An entry of `PATH` that does not open the home folder or more.
    fn is_sane_entry(&self, entry: &Path) -> bool {
        let holds_home = self.home.as_ref().is_some_and(|home| home.starts_with(entry));
        let holds_secret = self.secrets().any(|secret| secret.starts_with(entry) || entry.starts_with(&secret));
        entry.is_absolute() && entry.parent().is_some() && !holds_home && !holds_secret
    }

    /// The folder of a toolchain in the home folder, whose `bin` is in `PATH`: programs need their libraries.
    fn install_root(&self, entry: &Path) -> Option<PathBuf> {
        let (home, parent) = (self.home.as_ref()?, entry.parent()?);
        let own = entry.ends_with("bin") && entry.starts_with(home) && parent != home;
        let shared = SHARED_PARENTS.iter().any(|name| parent == home.join(name));
        (own && !shared && self.is_sane_entry(parent)).then(|| parent.into())
    }

    fn secrets(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home.iter().flat_map(|home| HOME_SECRET.iter().map(move |below| home.join(below)));
        home.chain(self.hidden.iter().cloned())
    }
}

/// `/etc`; for root entry by entry, without what only root could read (listing it is allowed beside).
fn etc() -> Vec<PathBuf> {
    if !super::sys::is_root() {
        return vec!["/etc".into()];
    }
    let secret = |path: &Path| ETC_SECRET.iter().any(|name| Path::new("/etc").join(name).starts_with(path));
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let list = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        list.map(|entry| entry.path()).filter(|path| !secret(path)).collect()
    };
    [entries(Path::new("/etc")), entries(Path::new("/etc/ssl"))].concat()
}

/// The lists of one call, with what this machine has.
pub(super) struct Plan {
    pub ruleset: Option<OwnedFd>,
    pub space: Option<Space>,
    /// What the program is told as its temporary folder.
    pub temp: PathBuf,
}

/// The temporary folders of one call.
pub(super) struct Scratch<'a> {
    pub temp: &'a Path,
    pub shared_memory: &'a Path,
}

impl Sandbox {
    /// Builds the ruleset and the mounts. `cwd` is where the program starts, `path_list` its `PATH`.
    pub(super) fn plan(
        &self,
        walls: Walls,
        scratch: &Scratch<'_>,
        cwd: &Path,
        path_list: &str,
    ) -> Result<Plan, SpawnError> {
        let readable = self.readable_all(path_list);
        let ruleset = if walls.landlock > 0 { self.ruleset(walls, scratch, &readable)? } else { None };
        if !walls.namespaces {
            return Ok(Plan { ruleset, space: None, temp: scratch.temp.into() });
        }
        let needed: Vec<_> = self.writable.iter().chain(&readable).map(PathBuf::as_path).chain([cwd]).collect();
        let free = |folder: &str| Path::new(folder).is_dir() && !needed.iter().any(|path| path.starts_with(folder));
        let temp = if free("/tmp") { Path::new("/tmp") } else { scratch.temp };
        Ok(Plan { ruleset, space: Some(self.space(scratch, temp, &needed)?), temp: temp.into() })
    }

    fn ruleset(
        &self,
        walls: Walls,
        scratch: &Scratch<'_>,
        readable: &[PathBuf],
    ) -> Result<Option<OwnedFd>, SpawnError> {
        let build = || -> Result<RulesetCreated, RulesetError> {
            let files = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?;
            let net = if self.network { files } else { files.handle_access(AccessNet::from_all(NEWEST))? };
            let mut rules = net.scope(Scope::from_all(NEWEST))?.create()?;
            let proc = (!walls.namespaces).then(|| PathBuf::from("/proc"));
            for path in readable.iter().cloned().chain(proc) {
                rules = allow(rules, &path, AccessFs::from_read(NEWEST))?;
            }
            rules = allow(rules, Path::new("/etc"), AccessFs::ReadDir.into())?;
            for path in DEVICES {
                rules = allow(rules, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
            }
            for path in self.writable.iter().map(PathBuf::as_path).chain([scratch.temp, scratch.shared_memory]) {
                rules = allow(rules, path, AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock))?;
            }
            Ok(rules)
        };
        build().map(Into::into).map_err(|e| SpawnError::Failed(format!("the Landlock rules: {e}")))
    }

    fn space(&self, scratch: &Scratch<'_>, temp: &Path, needed: &[&Path]) -> Result<Space, SpawnError> {
        let mut space = Space::new(self.network);
        for path in self.writable.iter().filter(|p| p.is_dir()) {
            space.writable.push((c_path(path)?, c_path(path)?));
        }
        // A folder that is mounted cannot be renamed away: what is frozen in it stays where git looks for it.
        for git in self.writable.iter().map(|w| w.join(".git")) {
            if git.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                space.writable.push((c_path(&git)?, c_path(&git)?));
            }
        }
        space.writable.push((c_path(scratch.temp)?, c_path(temp)?));
        if Path::new("/dev/shm").is_dir() {
            space.writable.push((c_path(scratch.shared_memory)?, c"/dev/shm".into()));
        }
        for path in self.masked(needed).into_iter().chain(self.left_out()) {
            let list = if path.is_dir() { &mut space.emptied } else { &mut space.covered };
            list.push(c_path(&path)?);
        }
        for path in self.writable.iter().flat_map(|w| [w.join(".git/hooks"), w.join(".git/config")]) {
            if path.symlink_metadata().is_ok_and(|m| !m.is_symlink()) {
                space.frozen.push(c_path(&path)?);
            }
        }
        Ok(space)
    }

    fn left_out(&self) -> impl Iterator<Item = PathBuf> {
        self.except.iter().filter_map(|path| path.canonicalize().ok())
    }

    /// Why programs cannot run without reaching what the grant leaves out; `None` = they can.
    pub(super) fn leaks(&self, walls: Walls, cwd: &Path) -> Option<String> {
        let inside = |path: PathBuf| format!("{} is left out of what was granted to the component", path.display());
        let place = self.left_out().find(|path| cwd.starts_with(path)).map(inside);
        let weak = (!walls.namespaces).then(|| self.except.first()).flatten();
        let weak = weak.map(|path| {
            format!(
                "{} is left out of what was granted to the component, and here the sandbox cannot keep it from programs (it takes \
                 namespaces, see `airlock doctor`). Grant the folders around it one by one instead",
                path.display()
            )
        });
        place.or(weak)
    }

    /// Secrets below an allowed folder, and whatever may be a socket of a service; never a folder in which something allowed lies.
    fn masked(&self, needed: &[&Path]) -> Vec<PathBuf> {
        let allowed_around = |path: &Path| needed.iter().any(|n| path.starts_with(n));
        let secrets = self.secrets().filter_map(|p| p.canonicalize().ok()).filter(|p| allowed_around(p));
        let services = around(Path::new("/run"), self.network.then(resolver).flatten().as_deref());
        secrets.chain(services).filter(|path| !needed.iter().any(|n| n.starts_with(path))).collect()
    }
}

/// The file that says who knows the addresses of names; it may lie among the sockets of services.
fn resolver() -> Option<PathBuf> {
    Path::new("/etc/resolv.conf").canonicalize().ok()
}

/// Folders and sockets in a folder, but for what leads to one file.
fn around(folder: &Path, kept: Option<&Path>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let hidden = entries.filter(|p| p.symlink_metadata().is_ok_and(|m| !m.is_symlink() && !m.is_file()));
    let each = |path: PathBuf| match kept {
        Some(kept) if kept.starts_with(&path) => around(&path, Some(kept)),
        _ => vec![path],
    };
    hidden.flat_map(each).collect()
}

fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    // What is not there needs no rule.
    let Ok(open) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(open, access))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(home: &Path) -> Sandbox {
        Sandbox {
            home: Some(home.into()),
            hidden: vec![home.join("data")],
            ..Sandbox::new(Path::new("/w"), Path::new("/o"))
        }
    }

    #[test]
    fn an_entry_of_path_opens_a_toolchain_and_no_more() {
        let home = Path::new("/home/me");
        let check = |entry: &str, expected: Option<&str>| {
            assert_eq!(sandbox(home).install_root(Path::new(entry)), expected.map(PathBuf::from), "{entry}");
        };
        check("/home/me/conda/bin", Some("/home/me/conda"));
        check("/home/me/bin", None);
        check("/home/me/.cargo/bin", None);
        check("/home/me/.local/bin", None);
        check("/usr/bin", None);
        check("/home/me/.ssh/bin", None);
    }

    #[test]
    fn an_entry_of_path_that_opens_too_much_is_left_out() {
        let check = |entry: &str, expected: bool| {
            assert_eq!(sandbox(Path::new("/home/me")).is_sane_entry(Path::new(entry)), expected, "{entry}");
        };
        check("/usr/bin", true);
        check("/home/me/bin", true);
        check("", false);
        check(".", false);
        check("/", false);
        check("/home", false);
        check("/home/me", false);
        check("/home/me/.ssh", false);
        check("/home/me/.aws/cli", false);
        check("/home/me/data/x", false);
    }
}
