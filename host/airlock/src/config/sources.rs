//! Where keys and secrets of one owner lie beside those that the program keeps: in their variables, in files that they name, or in the
//! keyring of the operating system.

use super::file::KeySource;
use super::paths::Paths;
use super::resolve::NoModel;
use super::ring::Ring;
use model::environment::Environment;
use std::path::Path;

/// Keys are short; what is longer is another file.
const MAX_KEY: u64 = 64 << 10;

/// Looks into the places that one owner's config may name.
#[derive(Clone, Default)]
pub struct Sources {
    pub environment: Environment,
    pub ring: Ring,
}

impl Sources {
    #[must_use]
    pub fn of(paths: &Paths) -> Self {
        Self { environment: paths.environment.clone(), ring: Ring::of(&paths.owner) }
    }

    /// Whether something lies at the place. What is read for that goes nowhere.
    #[must_use]
    pub fn is_there(&self, source: &KeySource) -> bool {
        match source {
            KeySource::Env(name) => self.environment.said(name).is_some(),
            KeySource::File(path) => path.is_file(),
            KeySource::Keyring(name) => self.ring.get(name).is_ok(),
        }
    }

    /// Fetches a key from where it lies.
    ///
    /// # Errors
    /// [`NoModel`], never with anything of the key in it.
    pub fn fetch(&self, provider: &str, source: &KeySource) -> Result<String, NoModel> {
        let provider = provider.to_owned();
        match source {
            KeySource::Env(variable) => {
                let value = self.environment.get(variable).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
                value.ok_or(NoModel::NotSet { provider, variable: variable.clone() })
            }
            KeySource::Keyring(name) => {
                let value = self.ring.get(name).map(|v| v.trim().to_owned());
                value.map_err(|why| NoModel::Keyring { provider, name: name.clone(), why })
            }
            KeySource::File(file) => {
                let unreadable = |why: String| NoModel::Unreadable { provider, file: file.clone(), why };
                match read_key(file) {
                    Ok(key) if key.is_empty() => Err(unreadable("it is empty".into())),
                    Ok(key) => Ok(key),
                    Err(why) => Err(unreadable(why)),
                }
            }
        }
    }
}

fn read_key(file: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(file).map_err(|e| e.to_string())?;
    if meta.len() > MAX_KEY {
        return Err("it is larger than 64 KiB".into());
    }
    std::fs::read_to_string(file).map(|t| t.trim().to_owned()).map_err(|e| e.to_string())
}
