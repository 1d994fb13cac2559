//! What can be wrong with a config, with the place.

use std::fmt;
use std::path::PathBuf;

/// A line of a file that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file.display(), self.line)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}: {why}")]
    Syntax { place: Place, why: String },
    #[error("{place}: there is no key `{key}`")]
    UnknownKey { place: Place, key: String, nearest: Option<String>, known: Vec<String> },
    #[error("{place}: `{key}` should be {wanted}, not {found}")]
    WrongType { place: Place, key: String, wanted: &'static str, found: String },
    #[error("{place}: `{key}` is not usable: {why}")]
    BadValue { place: Place, key: String, why: String, hint: String },
    #[error("{place}: `{key}` is missing")]
    Missing { place: Place, key: String, hint: String },
    #[error("the config {file} cannot be read: {why}")]
    Unreadable { file: PathBuf, why: String },
    #[error("the certificates in {file} (`http.ca_file`) cannot be read: {why}")]
    Certificates { file: PathBuf, why: String },
    #[error("the environment variable {name} is not usable: {why}")]
    BadVariable { name: &'static str, why: String },
    /// `at` is a line, a key or a flag.
    #[error("{at}: there is no {what} `{name}`")]
    UnknownName { at: String, what: &'static str, name: String, nearest: Option<String>, known: Vec<String> },
    /// `by` is a flag or a variable.
    #[error("{by}: `{name}` is no model")]
    NoSuchModel { by: &'static str, name: String, hint: String },
    #[error("there is no agent `{name}`")]
    NoAgent { name: String, known: Vec<String> },
    #[error("no home folder was found: neither HOME nor the XDG variables are set")]
    NoHome,
}

impl ConfigError {
    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => "Mend the line; `airlock config check` reads the file again.".into(),
            Self::UnknownKey { nearest: Some(near), .. } | Self::UnknownName { nearest: Some(near), .. } => {
                format!("Did you mean `{near}`?")
            }
            Self::UnknownKey { known, .. } | Self::UnknownName { known, .. } => {
                format!("Known here: {}.", known.join(", "))
            }
            Self::WrongType { .. } => "Change the value, or remove the line.".into(),
            Self::BadValue { hint, .. } | Self::Missing { hint, .. } | Self::NoSuchModel { hint, .. } => hint.clone(),
            Self::Unreadable { .. } | Self::Certificates { .. } => "Check the path and who may read it.".into(),
            Self::BadVariable { .. } => "Change the variable, or unset it.".into(),
            Self::NoAgent { known, .. } => format!("There are: {}.", known.join(", ")),
            Self::NoHome => "Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_CACHE_HOME.".into(),
        }
    }
}
