//! What can go wrong before any component runs. Each message says what was attempted, on what, why, and what to do next.

use std::path::PathBuf;

/// A component, adapter or folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("{name} is not a WebAssembly component ({what}). {hint}")]
    NotAComponent { name: String, what: &'static str, hint: &'static str },
    #[error("{name} is damaged or not valid WebAssembly: {why}. Fetch or build it again.")]
    Invalid { name: String, why: String },
    #[error(
        "{name} exports nothing that can be used{}. A tool exports `airlock:plugin/tool@0.1.0`, a model adapter \
         `airlock:plugin/provider@0.1.0`, a hook one of `airlock:plugin/hook-*@0.1.0`; any other component, functions \
         whose types can be written in JSON.",
        reasons(.left_out)
    )]
    NothingExported { name: String, left_out: Vec<String> },
    #[error(
        "{name} exports `{export}`, a version of the contract that this version does not know (it knows 0.1). Build it against `airlock:plugin@0.1.0`."
    )]
    OtherContract { name: String, export: String },
    #[error(
        "{name} cannot be linked: {why}. It was built for another host or another version; build it against `airlock:plugin@0.1.0` and WASI 0.2."
    )]
    Unlinkable { name: String, why: String },
    #[error(
        "{name} imports {import}: a provider must be a pure codec. Build it for `wasm32-unknown-unknown`, without files, clocks or network."
    )]
    ImpureProvider { name: String, import: String },
    #[error(
        "{name} has a manifest that cannot be read: {why}. Its author must correct the section `airlock:manifest`."
    )]
    Manifest { name: String, why: String },
    #[error("{name} could not be asked what it offers: {why}. It cannot be used; ask its author.")]
    Describe { name: String, why: String },
    #[error("{name} describes itself wrongly: {why}. Ask its author to correct it.")]
    Description { name: String, why: String },
    #[error("there is no {what} component called `{name}`{}", listed(.known))]
    Unknown { what: &'static str, name: String, known: Vec<String> },
    #[error("could not read {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("could not compile {name}: {why}")]
    Compile { name: String, why: String },
    #[error(
        "{name} is not used: to compile it takes more than {limit}, which nothing of its size honestly needs. Ask its author for a smaller build."
    )]
    CompileLimit { name: String, limit: String },
    #[error("could not set up the WebAssembly engine: {why}. If memory is limited (`ulimit -v`), raise the limit.")]
    Engine { why: String },
    #[error(transparent)]
    Install(#[from] crate::install::InstallError),
    #[error("the base URL `{url}` of provider `{provider}` cannot be used: {why}")]
    BaseUrl { provider: String, url: String, why: String },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "; none is installed".into() } else { format!("; there are: {}", names.join(", ")) }
}

/// Enough of them to see what is the matter.
fn reasons(left_out: &[String]) -> String {
    let some: Vec<&str> = left_out.iter().take(4).map(String::as_str).collect();
    if some.is_empty() { String::new() } else { format!(" ({})", some.join("; ")) }
}
