//! Where a component comes from: a file, an address with a digest, a registry.

use crate::cli::{Ground, Permits};
use crate::config::Overrides;
use crate::config::grants as grant_text;
use crate::report::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use indicatif::{ProgressBar, ProgressStyle};
use runtime::install::{Login, Reference, from_registry, from_url, name_of_file};
use runtime::{Manifest, RuntimeError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a component with what lies beside it.
pub struct Fetched {
    /// Where it is found again.
    pub source: String,
    /// What it is called when nobody says so.
    pub name: String,
    pub bytes: Vec<u8>,
    pub sidecar: Option<Manifest>,
    /// A policy that lies beside a file. Beside an address or a reference nothing lies: a folder of the same name is somebody else's.
    pub policy: Option<PathBuf>,
}

/// As a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    File(PathBuf),
    Address(String),
    Registry(Reference),
}

impl Origin {
    /// A file that is there is meant; else what reads like an address or a reference.
    fn of(text: &str) -> Self {
        if text.starts_with("https://") || text.starts_with("http://") {
            return Self::Address(text.into());
        }
        let is_file = !text.starts_with("oci://") && Path::new(text).exists();
        match Reference::parse(text).filter(|_| !is_file) {
            Some(reference) => Self::Registry(reference),
            None => Self::File(text.into()),
        }
    }
}

/// Fetches it. `digest` is what an address must hold; a file or a registry may be held to one too.
///
/// # Errors
/// What is not there, not what was named, or not safe to fetch.
pub async fn fetch(source: &str, digest: Option<&str>) -> Result<Fetched, Report> {
    let origin = Origin::of(source);
    let fetched = match &origin {
        Origin::File(path) => from_file(path)?,
        Origin::Address(url) => {
            let hint = "Say what it must be with --digest sha256:…, as its publisher tells it.";
            let digest = digest.ok_or_else(|| Report::usage(format!("no digest is given for {url}"), hint))?;
            let bar = Bar::new();
            let bytes =
                from_url(url, digest, &options()?, &|n, total| bar.at(n, total)).await.map_err(RuntimeError::from)?;
            bar.done();
            let path = url.split(['?', '#']).next().unwrap_or(url);
            Fetched { source: url.clone(), name: name_of_file(path), bytes, sidecar: None, policy: None }
        }
        Origin::Registry(reference) => {
            let ground = ground()?;
            let bar = Bar::new();
            let (login, options) = (login(&ground, reference), ground.config.http.options()?);
            let bytes = from_registry(reference, login, &options, &|n, total| bar.at(n, total)).await;
            bar.done();
            let bytes = bytes.map_err(RuntimeError::from)?;
            let name = reference.last().into();
            Fetched { source: reference.to_string(), name, bytes, sidecar: None, policy: None }
        }
    };
    let found = format!("sha256:{}", runtime::install::sha256(&fetched.bytes));
    match digest {
        Some(wanted) if found != wanted => Err(Report::usage(
            format!("{source} does not have the digest {wanted}: it has {found}"),
            "Fetch it again, or compare that with what its publisher says.",
        )),
        _ => Ok(fetched),
    }
}

fn from_file(path: &Path) -> Result<Fetched, Report> {
    let unreadable = |e: std::io::Error| {
        let what = format!("the component {} cannot be read: {e}", path.display());
        Report::usage(what, "Name a component file (`.wasm`), an https address, or HOST/NAME:TAG in a registry.")
    };
    let name = name_of_file(&path.display().to_string());
    let path = path.canonicalize().map_err(unreadable)?;
    let bytes = runtime::read_bounded(&path).map_err(unreadable)?;
    let beside = path.with_extension("airlock.toml");
    let sidecar = beside.is_file().then(|| grant_text::read_file(&beside)).transpose()?;
    let policy = policy_beside(&path);
    Ok(Fetched { source: path.display().to_string(), name, bytes, sidecar, policy })
}

fn policy_beside(path: &Path) -> Option<PathBuf> {
    [path.with_extension("policy.yaml"), path.with_file_name("policy.yaml")].into_iter().find(|p| p.is_file())
}

fn ground() -> Result<Ground, Report> {
    Ground::find(None, &Permits::default(), Overrides::default())
}

fn options() -> Result<runtime::HttpOptions, Report> {
    Ok(ground()?.config.http.options()?)
}

/// What is kept for a registry: by `airlock auth add HOST` as `NAME:PASSWORD`, else by `docker login`.
fn login(ground: &Ground, reference: &Reference) -> Option<Login> {
    let pair = |text: &str| {
        let (name, password) = text.split_once(':')?;
        Some(Login { name: name.into(), password: password.into() })
    };
    if let Some(kept) = ground.keys.key(&reference.host) {
        // A token alone stands for both.
        return pair(kept).or_else(|| Some(Login { name: "token".into(), password: kept.into() }));
    }
    let folder = ground.paths.environment.said("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| ground.paths.home.as_ref().map(|home| home.join(".docker")))?;
    let bytes = runtime::read_bounded(&folder.join("config.json")).ok()?;
    let config: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let coded = config["auths"][&reference.host]["auth"].as_str()?;
    pair(std::str::from_utf8(&STANDARD.decode(coded).ok()?).ok()?)
}

/// How far a download is; nothing where nobody looks.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("fetching {binary_bytes} {bar:30} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    fn at(&self, bytes: u64, total: Option<u64>) {
        if let Some(total) = total {
            self.0.set_length(total);
        }
        self.0.set_position(bytes);
    }

    fn done(&self) {
        self.0.finish_and_clear();
    }
}

/// Shown while a large component is compiled.
pub fn compiling(size: usize) -> Option<ProgressBar> {
    const LARGE: usize = 2 << 20;
    if size < LARGE {
        return None;
    }
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("compiling {msg} {spinner} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(format!("{} MiB", size >> 20));
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_lies_beside_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let file = folder.join("x.wasm");
        std::fs::write(&file, "").unwrap();
        for (written, want) in
            [(None, None), (Some("policy.yaml"), Some("policy.yaml")), (Some("x.policy.yaml"), Some("x.policy.yaml"))]
        {
            written.iter().for_each(|name| std::fs::write(folder.join(name), "").unwrap());
            assert_eq!(from_file(&file).unwrap().policy, want.map(|name| folder.join(name)));
        }
    }

    #[test]
    fn what_is_named_is_an_address_a_reference_or_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.wasm");
        std::fs::write(&file, "").unwrap();
        let path = file.display().to_string();
        let registry = |text: &str| Origin::Registry(Reference::parse(text).unwrap());
        for (text, want) in [
            ("https://example.com/x.wasm", Origin::Address("https://example.com/x.wasm".into())),
            ("ghcr.io/org/tool:1", registry("ghcr.io/org/tool:1")),
            ("oci://localhost:5000/tool", registry("localhost:5000/tool")),
            (&*path, Origin::File(path.clone().into())),
            ("no/such.wasm", Origin::File("no/such.wasm".into())),
        ] {
            assert_eq!(Origin::of(text), want, "{text}");
        }
    }
}
