//! Tools: what a plugin says of them, and how one is called.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// One tool. A fresh instance serves each call: nothing is kept from call to call.
pub trait Tool {
    /// The arguments. The host has validated them against the schema of [`ToolSpec`] before.
    type Input: DeserializeOwned;

    /// What the tool says of itself. Read once, at install.
    fn spec() -> ToolSpec;

    /// Runs the tool.
    ///
    /// # Errors
    /// Why the call did not do what was asked, with what to do next: the model reads it.
    fn call(context: &CallContext, input: Self::Input) -> Result<ToolOutput, ToolFailure>;
}

/// Calls a tool with the JSON text that came over the boundary.
///
/// # Errors
/// [`ToolFailure::InvalidInput`] where the text does not fit [`Tool::Input`], else what the tool gave.
pub fn call_json<T: Tool>(context: &CallContext, input: &str) -> Result<ToolOutput, ToolFailure> {
    let input = serde_json::from_str(input).map_err(|e| ToolFailure::InvalidInput(e.to_string()))?;
    T::call(context, input)
}

/// What a tool says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that the model calls, `[a-z][a-z0-9_-]*`.
    pub name: String,
    /// For the model: what it does, when to use it, what its limits are.
    pub description: String,
    /// JSON Schema (draft 2020-12) of the input.
    pub input_schema: Value,
    pub annotations: Annotations,
    /// Which arguments name what a call will touch.
    pub scopes: Vec<Scope>,
}

impl ToolSpec {
    /// A tool without annotations or scopes.
    #[must_use]
    pub fn new(name: &str, description: &str, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            annotations: Annotations::default(),
            scopes: Vec::new(),
        }
    }

    /// It changes nothing: a call may start while the model is still speaking.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self.annotations.idempotent = true;
        self
    }

    /// It may destroy what was there.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// The same call twice has the effect of one.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// It reaches beyond the workspace and this machine.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.annotations.open_world = true;
        self
    }

    /// Names an argument that says what the call will touch.
    #[must_use]
    pub fn scope(mut self, argument: &str, kind: ScopeKind) -> Self {
        self.scopes.push(Scope { argument: argument.into(), kind, default: None });
        self
    }

    /// As [`ToolSpec::scope`], with what is meant where the argument is absent.
    #[must_use]
    pub fn scope_or(mut self, argument: &str, kind: ScopeKind, default: &str) -> Self {
        self.scopes.push(Scope { argument: argument.into(), kind, default: Some(default.into()) });
        self
    }
}

/// Hints in the sense of the Model Context Protocol. They never widen a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// One argument that names what the call will touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Name of a top-level string argument.
    pub argument: String,
    pub kind: ScopeKind,
    /// Taken where the argument is absent.
    pub default: Option<String>,
}

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// A file, or a folder with what lies below it, to be read.
    FsRead,
    /// A file to be written, made or removed.
    FsWrite,
    /// A patch between the lines `*** Begin Patch` and `*** End Patch`: each file that it names is read and written.
    FsPatch,
    /// A URL or host to be reached.
    Host,
    /// A shell line to be run.
    Command,
    /// No act: the text that the tool's own permission is asked for.
    Subject,
}

/// Who calls, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallContext {
    pub session_id: String,
    pub call_id: String,
    pub agent: String,
    /// Real absolute path of the workspace, mounted there and at `.`.
    pub workspace: PathBuf,
    /// Milliseconds since the Unix epoch, UTC.
    pub now_ms: u64,
}

impl CallContext {
    /// A path as the model wrote it: relative ones start at the workspace. Nothing is resolved or checked; that is the host's part.
    #[must_use]
    pub fn path(&self, written: &str) -> PathBuf {
        self.workspace.join(Path::new(written))
    }
}

/// The result of a call that went well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// A few words for the person: usually the target.
    pub title: String,
    /// What the model reads.
    pub text: String,
    /// For programs (`diff`, `exit`, `truncated`, …).
    pub metadata: Map<String, Value>,
    pub attachments: Vec<Attachment>,
}

impl ToolOutput {
    /// An output of text alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same output under another title.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The same output with one more entry in its metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// A file that goes with an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Media type, such as `image/png`.
    pub mime: String,
    pub name: Option<String>,
    pub data: Vec<u8>,
}

/// Why a call did not do what was asked. The text says what to do next; the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolFailure {
    InvalidInput(String),
    NotFound(String),
    Denied(String),
    /// The world is not as the call assumed: several matches, a file that is there already.
    Conflict(String),
    TimedOut(String),
    Failed(String),
}

impl ToolFailure {
    /// What the model reads.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidInput(m)
            | Self::NotFound(m)
            | Self::Denied(m)
            | Self::Conflict(m)
            | Self::TimedOut(m)
            | Self::Failed(m) => m,
        }
    }

    /// An error of the filesystem: `doing` is what was tried, on what (`read /w/a.txt`).
    #[must_use]
    pub fn io(doing: &str, error: &std::io::Error) -> Self {
        let text = format!("Cannot {doing}: {error}");
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound(text),
            std::io::ErrorKind::PermissionDenied => Self::Denied(text),
            std::io::ErrorKind::AlreadyExists => Self::Conflict(text),
            _ => Self::Failed(text),
        }
    }
}

/// Makes the crate a component with the named tools: `tool_plugin! { Read }`.
///
/// What the component asks for stands behind the names, as JSON in the shape of a grant. Without it the component asks for nothing.
/// Description, version, licence and homepage come from `Cargo.toml`.
///
/// ```text
/// airlock::tool_plugin! { Read; "fs": { "/": "ro" } }
/// ```
///
/// The macro also makes a module `host`: what the host does for a running call (see [`crate::host`]).
#[macro_export]
macro_rules! tool_plugin {
    ($($tool:ident),+ $(,)? $(; $($asks:tt)*)?) => {
        $crate::manifest! { $($($asks)*)? }
        $crate::__host_module! {}

        #[cfg(target_family = "wasm")]
        mod __airlock {
            $crate::__tool_bindings! {}

            use self::airlock::plugin::types as wit;

            struct Component;

            impl exports::airlock::plugin::tool::Guest for Component {
                fn list() -> Vec<wit::ToolSpec> {
                    vec![$(spec(<super::$tool as $crate::Tool>::spec())),+]
                }

                fn call(context: wit::CallContext, name: String, input: String) -> Result<wit::ToolOutput, wit::ToolFailure> {
                    let context = $crate::__context!(context);
                    $(if <super::$tool as $crate::Tool>::spec().name == name {
                        return $crate::call_json::<super::$tool>(&context, &input).map(output).map_err(failure);
                    })+
                    Err(wit::ToolFailure::NotFound(name))
                }
            }

            export!(Component);

            fn spec(spec: $crate::ToolSpec) -> wit::ToolSpec {
                wit::ToolSpec {
                    name: spec.name,
                    description: spec.description,
                    input_schema: spec.input_schema.to_string(),
                    annotations: annotations(spec.annotations),
                    scopes: spec.scopes.into_iter().map(scope).collect(),
                    metadata: None,
                }
            }

            fn annotations(said: $crate::Annotations) -> wit::Annotations {
                let flag = |said: bool, flag: wit::Annotations| if said { flag } else { wit::Annotations::empty() };
                flag(said.read_only, wit::Annotations::READ_ONLY)
                    | flag(said.destructive, wit::Annotations::DESTRUCTIVE)
                    | flag(said.idempotent, wit::Annotations::IDEMPOTENT)
                    | flag(said.open_world, wit::Annotations::OPEN_WORLD)
            }

            fn scope(scope: $crate::Scope) -> wit::Scope {
                let kind = match scope.kind {
                    $crate::ScopeKind::FsRead => wit::ScopeKind::FsRead,
                    $crate::ScopeKind::FsWrite => wit::ScopeKind::FsWrite,
                    $crate::ScopeKind::FsPatch => wit::ScopeKind::FsPatch,
                    $crate::ScopeKind::Host => wit::ScopeKind::Host,
                    $crate::ScopeKind::Command => wit::ScopeKind::Command,
                    $crate::ScopeKind::Subject => wit::ScopeKind::Subject,
                };
                wit::Scope { argument: scope.argument, kind, default: scope.default }
            }

            fn output(output: $crate::ToolOutput) -> wit::ToolOutput {
                let attachment = |a: $crate::Attachment| wit::Attachment { mime: a.mime, name: a.name, data: a.data };
                wit::ToolOutput {
                    title: output.title,
                    text: output.text,
                    metadata: $crate::__private::serde_json::Value::Object(output.metadata).to_string(),
                    attachments: output.attachments.into_iter().map(attachment).collect(),
                }
            }

            fn failure(failure: $crate::ToolFailure) -> wit::ToolFailure {
                match failure {
                    $crate::ToolFailure::InvalidInput(m) => wit::ToolFailure::InvalidInput(m),
                    $crate::ToolFailure::NotFound(m) => wit::ToolFailure::NotFound(m),
                    $crate::ToolFailure::Denied(m) => wit::ToolFailure::Denied(m),
                    $crate::ToolFailure::Conflict(m) => wit::ToolFailure::Conflict(m),
                    $crate::ToolFailure::TimedOut(m) => wit::ToolFailure::TimedOut(m),
                    $crate::ToolFailure::Failed(m) => wit::ToolFailure::Failed(m),
                }
            }
        }
    };
}

/// A context of the boundary as the SDK's.
#[doc(hidden)]
#[macro_export]
macro_rules! __context {
    ($context:expr) => {{
        let context = $context;
        $crate::CallContext {
            session_id: context.session_id,
            call_id: context.call_id,
            agent: context.agent,
            workspace: context.workspace.into(),
            now_ms: context.now_ms,
        }
    }};
}
