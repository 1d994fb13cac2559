//! Why a component is not installed, or not run although it is.

use std::path::PathBuf;

/// Each says what to do next.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    #[error(
        "`{name}` cannot be the name of a plugin: {why}. Name it with --name: small letters, digits, `-`, `_` and `.`, at most 64 of them."
    )]
    Name { name: String, why: &'static str },
    #[error("{name} is not installed: {what}. A name that is there stands; choose another one with --name.")]
    Shadows { name: String, what: String },
    #[error("{name} is not run: {} is not the file that was agreed to. Install it anew with `airlock plugin add`.", path.display())]
    Changed { name: String, path: PathBuf },
    #[error("the lock {} cannot be read: {why}. Mend it, or remove it and install the plugins anew.", path.display())]
    Lock { path: PathBuf, why: String },
    #[error("could not write {}: {why}. Check who owns the folder, and that the disk is not full.", path.display())]
    Unwritable { path: PathBuf, why: String },
    #[error("no plugin called `{name}` is installed. `airlock plugin list` shows those that are.")]
    NotThere { name: String },
    #[error(
        "{name} {new} is older than {old}, which is installed: an old version brings its old faults back. To have it all the same, remove the plugin first."
    )]
    Older { name: String, new: String, old: String },
    #[error(
        "{name} is not installed: {why}. If its publisher has told you of a new key, remove the plugin first; otherwise somebody else may have made this file."
    )]
    Publisher { name: String, why: String },
    #[error("the signature of {name} is wrong: {why}. Fetch the file again, from its publisher.")]
    Signature { name: String, why: &'static str },
    #[error(
        "{name} cannot be given that: its manifest does not ask for it ({what}). `airlock plugin inspect {name}` shows what it asks for."
    )]
    Wider { name: String, what: String },
    #[error("{from} could not be fetched: {why}. Check the address and the network, and try again.")]
    Fetch { from: String, why: String },
}
