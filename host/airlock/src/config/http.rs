//! `[http]`: how long is waited for a provider, and whom is trusted.

use super::error::ConfigError;
use super::file::{beside, duration};
use super::read::Node;
use runtime::HttpOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a file says of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpEntry {
    /// Roots of trust beside those of the machine, as PEM: `~/x.pem`, or relative to the folder of the config.
    pub ca_file: Option<PathBuf>,
    /// Until a connection stands.
    pub connect: Option<Duration>,
    /// Until an answer begins.
    pub first_byte: Option<Duration>,
    /// Longest silence inside an answer.
    pub idle: Option<Duration>,
}

const HTTP: &[&str] = &["ca_file", "connect", "first_byte", "idle"];
/// PEM of all certificates that an organisation could have.
const MAX_CA: u64 = 4 << 20;

pub fn read(node: &Node<'_>, config: &Path, home: Option<&Path>) -> Result<HttpEntry, ConfigError> {
    let table = node.table()?;
    table.only(HTTP)?;
    Ok(HttpEntry {
        ca_file: table.read("ca_file", Node::text)?.map(|f| beside(&f, config, home)),
        connect: table.read("connect", wait)?,
        first_byte: table.read("first_byte", wait)?,
        idle: table.read("idle", wait)?,
    })
}

fn wait(node: &Node<'_>) -> Result<Duration, ConfigError> {
    let long = duration(node)?;
    if long.is_zero() { Err(node.bad("nothing arrives in no time", "Write it as \"90s\".")) } else { Ok(long) }
}

impl HttpEntry {
    /// With the defaults where nothing is said; reads the file of certificates.
    ///
    /// # Errors
    /// [`ConfigError::Certificates`].
    pub fn options(&self) -> Result<HttpOptions, ConfigError> {
        let default = HttpOptions::default();
        Ok(HttpOptions {
            connect: self.connect.unwrap_or(default.connect),
            first_byte: self.first_byte.unwrap_or(default.first_byte),
            idle: self.idle.unwrap_or(default.idle),
            ca: self.ca_file.as_deref().map(certificates).transpose()?,
        })
    }
}

fn certificates(file: &Path) -> Result<Vec<u8>, ConfigError> {
    let unreadable = |why: String| ConfigError::Certificates { file: file.into(), why };
    let meta = std::fs::metadata(file).map_err(|e| unreadable(e.to_string()))?;
    if meta.len() > MAX_CA {
        return Err(unreadable("it is larger than 4 MiB".into()));
    }
    std::fs::read(file).map_err(|e| unreadable(e.to_string()))
}
