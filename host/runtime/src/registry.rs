//! The components that are there, and what each said of itself when it was first seen: a start with a warm cache reads that
//! from the vault and instantiates nothing.

use crate::anatomy::{self, Anatomy};
use crate::callable::Callable;
use crate::compile::{Digest, Raw};
use crate::describe::describe;
use crate::engine::EngineKind;
use crate::error::RuntimeError;
use crate::install::{rename, signer};
use crate::loader::Loader;
use crate::manifest::Manifest;
use crate::once::Once;
use crate::source::{Bytes, Origin, Source};
use crate::state::CallState;
use crate::v0_1::{Codec, Hook};
use model::grant::Grant;
use model::provider::Model;
use model::tool::ToolSpec;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wasmtime::component::InstancePre;

/// What a model adapter says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderInfo {
    pub id: String,
    pub name: String,
    /// Names of the secrets that it uses, most preferred first.
    pub secrets: Vec<String>,
    pub base_url: String,
    pub models: Vec<Model>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookPoint {
    TextComplete,
    ToolBefore,
    ToolAfter,
    Permission,
    Message,
    Messages,
    System,
    Params,
    Headers,
    ToolSpec,
    ProcessEnv,
    Command,
    Compacting,
    Stop,
    Event,
}

impl HookPoint {
    pub const ALL: [Self; 15] = [
        Self::TextComplete,
        Self::ToolBefore,
        Self::ToolAfter,
        Self::Permission,
        Self::Message,
        Self::Messages,
        Self::System,
        Self::Params,
        Self::Headers,
        Self::ToolSpec,
        Self::ProcessEnv,
        Self::Command,
        Self::Compacting,
        Self::Stop,
        Self::Event,
    ];

    /// The interface of the contract.
    #[must_use]
    pub fn interface(self) -> &'static str {
        match self {
            Self::TextComplete => "hook-text-complete",
            Self::ToolBefore => "hook-tool-before",
            Self::ToolAfter => "hook-tool-after",
            Self::Permission => "hook-permission",
            Self::Message => "hook-message",
            Self::Messages => "hook-messages",
            Self::System => "hook-system",
            Self::Params => "hook-params",
            Self::Headers => "hook-headers",
            Self::ToolSpec => "hook-tool-spec",
            Self::ProcessEnv => "hook-process-env",
            Self::Command => "hook-command",
            Self::Compacting => "hook-compacting",
            Self::Stop => "hook-stop",
            Self::Event => "hook-event",
        }
    }
}

/// All that is known of a component without running it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub manifest: Manifest,
    pub tools: Vec<Arc<ToolSpec>>,
    pub hooks: Vec<HookPoint>,
    pub provider: Option<ProviderInfo>,
    /// Functions that are no tools, each with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
}

impl About {
    /// A component of tools and nothing else.
    fn of_tools(anatomy: Anatomy, tools: Vec<Arc<ToolSpec>>) -> Self {
        let Anatomy { imports, exports, manifest, docs: _ } = anatomy;
        let manifest = manifest.unwrap_or_default();
        Self { imports, exports, manifest, tools, hooks: Vec::new(), provider: None, left_out: Vec::new() }
    }
}

/// What `plugin list` and `plugin inspect` show.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginInfo {
    pub name: String,
    pub origin: Origin,
    /// BLAKE3 of the component, hex.
    pub digest: String,
    /// Bytes.
    pub size: u64,
    pub description: Option<String>,
    pub version: Option<String>,
    pub licence: Option<String>,
    pub homepage: Option<String>,
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub tools: Vec<Arc<ToolSpec>>,
    pub hooks: Vec<HookPoint>,
    pub provider: Option<ProviderInfo>,
    /// Who signed it: a public key.
    pub publisher: Option<String>,
    /// Where it was installed from.
    pub source: Option<String>,
    /// Functions that are no tools, each with the reason.
    pub left_out: Vec<String>,
    /// It says of itself what it asks for.
    pub has_manifest: bool,
    /// What it may touch at most; of one that is not installed yet, what it asks for.
    pub grant: Grant,
}

impl PluginInfo {
    /// As a manifest that lies beside the component has it.
    pub(crate) fn describe_by(&mut self, manifest: &Manifest) {
        let told = manifest.clone();
        self.grant = manifest.grant();
        self.has_manifest = true;
        self.description = told.description.or(self.description.take());
        self.version = told.version.or(self.version.take());
        self.licence = told.licence.or(self.licence.take());
        self.homepage = told.homepage.or(self.homepage.take());
    }
}

/// A component that can be used.
pub struct Plugin {
    pub source: Source,
    pub digest: Digest,
    pub about: About,
    pub grant: Arc<Grant>,
    /// The name, as the states of its calls hold it.
    pub label: Arc<str>,
    tool: Once<Callable>,
    crowded: Once<Callable>,
    hook: Once<Hook>,
    codec: Once<Codec>,
}

/// Told of before the code that they depend on changes its shape.
const FORMAT: &str = concat!("about 4, ", env!("CARGO_PKG_VERSION"));

impl Plugin {
    /// What the vault knows of it, if it does.
    pub fn remembered(loader: &Loader, source: &Source) -> Option<Self> {
        let digest = source.digest();
        let stored = loader.vault().and_then(|v| v.read(&about_file(&digest)));
        let about = stored.and_then(|json| serde_json::from_slice(&json).ok())?;
        Some(Self::new(source.clone(), digest, about))
    }

    /// Compiles it, asks it what it offers, and remembers that.
    ///
    /// # Errors
    /// A file that is no usable component.
    pub fn learn(loader: &Loader, source: Source) -> Result<Self, RuntimeError> {
        let (digest, bytes) = (source.digest(), source.read()?);
        let anatomy = Anatomy::read(&source.name, &bytes)?;
        let raw = Raw { name: &source.name, digest, bytes: &bytes, ours: source.is_bundled() };
        let about = describe(loader, &raw, anatomy)?;
        drop(bytes);
        Ok(Self::kept(loader, source, digest, about))
    }

    /// Takes what was noted of its tools when the program was built, and remembers that. `None` where the note is of no use: then
    /// the component has to be asked.
    pub fn noted(loader: &Loader, source: &Source, tools: &str) -> Option<Self> {
        let anatomy = Anatomy::read(&source.name, &source.read().ok()?).ok()?;
        let tools = serde_json::from_str(tools).ok()?;
        Some(Self::kept(loader, source.clone(), source.digest(), About::of_tools(anatomy, tools)))
    }

    fn kept(loader: &Loader, source: Source, digest: Digest, about: About) -> Self {
        if let (Some(vault), Ok(json)) = (loader.vault(), serde_json::to_vec(&about))
            && let Err(error) = vault.write(&about_file(&digest), &json)
        {
            tracing::warn!(%error, "what a component says of itself could not be kept; the next start asks it again");
        }
        Self::new(source, digest, about)
    }

    fn new(source: Source, digest: Digest, mut about: About) -> Self {
        if let Some(installed) = source.installed() {
            rename(&mut about.tools, &installed.pinned.tools);
        }
        Self {
            grant: Arc::new(granted(&source, &about)),
            label: source.name.as_str().into(),
            source,
            digest,
            about,
            tool: Once::default(),
            crowded: Once::default(),
            hook: Once::default(),
            codec: Once::default(),
        }
    }

    /// What it may do where it is `held` to this now, by the lock; configs have their say over that.
    pub fn granted(&self, held: &Grant) -> Arc<Grant> {
        match self.source.installed() {
            Some(installed) if installed.pinned.grant != *held => {
                Arc::new(over(&self.source, &self.about, held.clone()))
            }
            _ => Arc::clone(&self.grant),
        }
    }

    /// What it calls a tool itself.
    #[must_use]
    pub fn own_name<'a>(&'a self, tool: &'a str) -> &'a str {
        let mut renamed = self.source.installed().into_iter().flat_map(|i| &i.pinned.tools);
        renamed.find(|(_, here)| *here == tool).map_or(tool, |(own, _)| own)
    }

    /// The tool where it is loaded already: whoever has to load it must not do so on a thread that others wait for.
    pub fn loaded_tool(&self, kind: EngineKind) -> Option<Callable> {
        if kind == EngineKind::Crowd { self.crowded.peek() } else { self.tool.peek() }
    }

    /// # Errors
    /// When it cannot be compiled or linked.
    pub fn tool(&self, loader: &Loader) -> Result<Callable, RuntimeError> {
        self.tool.get(|| self.callable(|raw| loader.link_acting(raw)))
    }

    /// As [`Self::tool`], on the engine where there is room. What the first one refuses for its size is refused on both.
    ///
    /// # Errors
    /// As there.
    pub fn tool_on(&self, kind: EngineKind, loader: &Loader) -> Result<Callable, RuntimeError> {
        let tool = self.tool(loader)?;
        if kind != EngineKind::Crowd {
            return Ok(tool);
        }
        self.crowded.get(|| self.callable(|raw| loader.link_crowd(raw)))
    }

    fn callable(
        &self,
        link: impl FnOnce(&Raw<'_>) -> Result<InstancePre<CallState>, RuntimeError>,
    ) -> Result<Callable, RuntimeError> {
        let pre = self.raw(link)?;
        let of_contract = anatomy::exports(&self.about.exports, "tool");
        Callable::new(&pre, of_contract).map_err(|e| unlinkable(&self.source.name, &e))
    }

    /// # Errors
    /// When it cannot be compiled or linked.
    pub fn hook(&self, loader: &Loader) -> Result<Hook, RuntimeError> {
        self.hook.get(|| self.raw(|raw| loader.link_acting(raw)).map(|pre| Hook::new(&pre)))
    }

    /// # Errors
    /// When it cannot be compiled or linked.
    pub fn codec(&self, loader: &Loader) -> Result<Codec, RuntimeError> {
        self.codec.get(|| self.raw(|raw| loader.link_codec(raw)))
    }

    /// The bytes as they are now, once they are known to be what was looked at.
    fn raw<T>(&self, how: impl FnOnce(&Raw<'_>) -> Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        let bytes = self.source.read()?;
        how(&Raw { name: &self.source.name, digest: self.digest, bytes: &bytes, ours: self.source.is_bundled() })
    }

    #[must_use]
    pub fn info(&self) -> PluginInfo {
        let (about, manifest) = (self.about.clone(), &self.about.manifest);
        let has_manifest = *manifest != Manifest::default();
        let mut info = PluginInfo {
            name: self.source.name.clone(),
            origin: self.source.origin(),
            digest: self.digest.hex(),
            size: self.source.size(),
            description: manifest.description.clone(),
            version: manifest.version.clone(),
            licence: manifest.licence.clone(),
            homepage: manifest.homepage.clone(),
            imports: about.imports,
            exports: about.exports,
            tools: about.tools,
            hooks: about.hooks,
            provider: about.provider,
            publisher: None,
            source: None,
            left_out: about.left_out,
            has_manifest,
            grant: (*self.grant).clone(),
        };
        if let Bytes::Read(bytes) = &self.source.bytes {
            info.publisher = signer(&info.name, bytes).ok().flatten();
        }
        if let Some(installed) = self.source.installed() {
            info.publisher.clone_from(&installed.pinned.publisher);
            info.source = Some(installed.pinned.source.clone());
            if let Some(manifest) = &installed.pinned.manifest {
                info.describe_by(manifest);
            }
        }
        if let Some(file) = &self.source.file {
            info.source = Some(file.display().to_string());
        }
        info.grant = (*self.grant).clone();
        info
    }
}

/// What it may do: as it was agreed to or as it asks, with what configs say laid over that.
fn granted(source: &Source, about: &About) -> Grant {
    let held = source.installed().map(|i| i.pinned.grant.clone());
    over(source, about, held.unwrap_or_else(|| about.manifest.grant()))
}

fn over(source: &Source, about: &About, held: Grant) -> Grant {
    let own = (about.manifest != Manifest::default()).then(|| about.manifest.grant());
    let sidecar = source.installed().and_then(|i| i.pinned.manifest.as_ref()).map(Manifest::grant);
    let asks = sidecar.or(own);
    source.terms.iter().fold(held, |held, term| term.over(&held, asks.as_ref()))
}

fn about_file(digest: &Digest) -> String {
    let name = blake3::Hasher::new().update(FORMAT.as_bytes()).update(digest.hex().as_bytes()).finalize();
    format!("{}.about", name.to_hex())
}

pub(crate) fn unlinkable(name: &str, error: &wasmtime::Error) -> RuntimeError {
    RuntimeError::Unlinkable { name: name.into(), why: format!("{error:#}") }
}
