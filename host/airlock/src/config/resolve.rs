//! From `provider/model` to what is needed to speak to it: the adapter, the address, the key, what is known of the model.

use super::error::ConfigError;
use super::file::{KeySource, ProviderEntry};
use super::keys::Keys;
use super::providers::{self, KNOWN, LOCAL, OFFLINE};
use super::ring::RingError;
use super::{Config, models, nearest};
use model::environment::Environment;
use model::provider::{Model, ModelRef};
use serde_json::Value;
use std::path::PathBuf;

/// A provider as it will be spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The model as its server names it.
    pub id: String,
    /// How much it thinks: the word behind the name, where the config has no model that is called so.
    pub variant: Option<String>,
    pub adapter: String,
    pub base_url: Option<String>,
    /// A key that is named has to be there; where none is named, one that is kept is used.
    pub key: Option<KeySource>,
    pub options: Option<Value>,
    pub text_calls: bool,
    /// What the config says of the model.
    pub model: Option<Model>,
}

/// Why there is no model to speak to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    #[error("there is no provider `{name}` (asked for the model {model})")]
    NoProvider { name: String, model: String, nearest: Option<String> },
    #[error("the key for {provider} is not there: the environment variable {variable} is not set")]
    NotSet { provider: String, variable: String },
    #[error("the key for {provider} cannot be read from {file}: {why}")]
    Unreadable { provider: String, file: PathBuf, why: String },
    #[error("the key for {provider} cannot be taken from the keyring ({name}): {why}")]
    Keyring { provider: String, name: String, why: RingError },
}

impl NoModel {
    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoProvider { nearest: Some(near), .. } => format!("Did you mean `{near}`?"),
            Self::NoProvider { name, .. } => {
                format!("Describe it in the config ([providers.{name}]), or choose one that `airlock providers` lists.")
            }
            Self::NotSet { provider, variable } => format!(
                "Set {variable}, keep a key with `airlock auth add {provider}`, or choose another model with --model."
            ),
            Self::Unreadable { .. } => "Write the key alone into the file, readable by you only.".into(),
            Self::Keyring { why, .. } => why.hint().into(),
        }
    }
}

/// What the config, the table of known services or the list of local servers says of a provider.
///
/// # Errors
/// [`NoModel::NoProvider`].
pub fn target(config: &Config, model: &ModelRef) -> Result<Target, NoModel> {
    let name = model.provider.as_str();
    if let Some(entry) = config.providers.get(name) {
        return Ok(configured(entry, &model.model));
    }
    built_in(name, &model.model).ok_or_else(|| NoModel::NoProvider {
        name: name.into(),
        model: model.to_string(),
        nearest: nearest(name, names(config)),
    })
}

fn configured(entry: &ProviderEntry, id: &str) -> Target {
    let whole = entry.models.iter().find(|m| m.id == id);
    let (id, variant) = if whole.is_some() { (id, None) } else { models::split_variant(id) };
    let same_service = KNOWN.iter().find(|k| entry.base_url.as_deref() == Some(k.base_url));
    Target {
        id: id.into(),
        variant: variant.map(str::to_owned),
        adapter: entry.adapter.clone(),
        base_url: entry.base_url.clone(),
        key: entry.key.clone().or_else(|| same_service.map(|k| KeySource::Env(k.variable.into()))),
        options: entry.options.clone(),
        text_calls: entry.text_calls,
        model: whole.or_else(|| entry.models.iter().find(|m| m.id == id)).cloned(),
    }
}

fn built_in(name: &str, id: &str) -> Option<Target> {
    let (id, variant) = models::split_variant(id);
    let spoken = |adapter: &str, base_url: Option<String>, key| Target {
        id: id.into(),
        variant: variant.map(str::to_owned),
        adapter: adapter.into(),
        base_url,
        key,
        options: None,
        text_calls: false,
        model: None,
    };
    if name == OFFLINE {
        return Some(spoken(OFFLINE, None, None));
    }
    let known = KNOWN.iter().find(|k| k.id == name);
    let service = known.map(|k| spoken(k.adapter, Some(k.base_url.into()), Some(KeySource::Env(k.variable.into()))));
    service
        .or_else(|| LOCAL.iter().find(|l| l.id == name).map(|l| spoken(providers::ADAPTER, Some(l.base_url()), None)))
}

/// All names that can stand before the slash.
pub fn names(config: &Config) -> impl Iterator<Item = &str> {
    let built_in = KNOWN.iter().map(|k| k.id).chain(LOCAL.iter().map(|l| l.id)).chain([OFFLINE]);
    config.providers.keys().map(String::as_str).chain(built_in)
}

/// The key of a provider: from where it is said to lie, else the one that is kept. None where none is needed.
///
/// # Errors
/// As [`Sources::fetch`](super::sources::Sources::fetch).
pub fn key(keys: &Keys, provider: &str, source: Option<&KeySource>) -> Result<Option<String>, NoModel> {
    let kept = || keys.key(provider).map(str::to_owned);
    match source.map(|s| keys.sources().fetch(provider, s)) {
        None => Ok(kept()),
        Some(Ok(key)) => Ok(Some(key)),
        Some(Err(error @ NoModel::NotSet { .. })) => kept().map(Some).ok_or(error),
        Some(Err(error)) => Err(error),
    }
}

impl From<NoModel> for crate::report::Report {
    fn from(error: NoModel) -> Self {
        Self::new(crate::report::Exit::NoModel, error.to_string(), error.hint())
    }
}

/// `AIRLOCK_OFFLINE_SCRIPT`: the file that scripts the offline model, as its options.
///
/// # Errors
/// [`ConfigError::BadVariable`] where the file is not there or is no JSON.
pub fn offline_script(environment: &Environment) -> Result<Option<Value>, ConfigError> {
    const NAME: &str = "AIRLOCK_OFFLINE_SCRIPT";
    let Some(file) = environment.said(NAME) else { return Ok(None) };
    let bad = |why: String| ConfigError::BadVariable { name: NAME, why: format!("{file}: {why}") };
    let text = std::fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    let script: Value = serde_json::from_str(&text).map_err(|e| bad(format!("not JSON: {e}")))?;
    Ok(Some(serde_json::json!({ "script": script })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;
    use crate::config::sources::Sources;
    use crate::config::{Overrides, Variables};
    use std::path::Path;

    fn config(text: &str) -> Config {
        let file = FileConfig::parse(Path::new("c.toml"), text, None).unwrap();
        Config::merge(file, None, Variables::default(), Overrides::default())
    }

    fn target_of(config: &Config, model: &str) -> Result<Target, NoModel> {
        target(config, &ModelRef::parse(model).unwrap())
    }

    #[test]
    fn a_provider_is_configured_known_local_or_offline() {
        let c = config(
            "[providers.openai]\nadapter = \"openai-chat\"\nbase_url = \"http://proxy/v1\"\nmodels = [{ id = \"m\", context = 9 }]",
        );
        for (model, adapter, base_url, key) in [
            ("openai/m", "openai-chat", Some("http://proxy/v1"), None),
            ("anthropic/x", "anthropic", Some("https://api.anthropic.com"), Some("ANTHROPIC_API_KEY")),
            ("openai-responses/x", "openai-responses", Some("https://api.openai.com/v1"), Some("OPENAI_API_KEY")),
            ("gemini/x", "gemini", Some("https://generativelanguage.googleapis.com"), Some("GEMINI_API_KEY")),
            ("google/x", "gemini", Some("https://generativelanguage.googleapis.com"), Some("GOOGLE_API_KEY")),
            ("groq/x", "openai-chat", Some("https://api.groq.com/openai/v1"), Some("GROQ_API_KEY")),
            ("ollama/x", "openai-chat", Some("http://127.0.0.1:11434/v1"), None),
            ("offline/explorer", "offline", None, None),
        ] {
            let t = target_of(&c, model).unwrap();
            assert_eq!((t.adapter.as_str(), t.base_url.as_deref()), (adapter, base_url), "{model}");
            assert_eq!(t.key, key.map(|k: &str| KeySource::Env(k.into())), "{model}");
        }
        assert_eq!(target_of(&c, "openai/m").unwrap().model.map(|m| m.context), Some(9));
        assert_eq!(target_of(&c, "openai/other").unwrap().model, None);
        for (model, id, variant, described) in [
            ("openai/m:high", "m", Some("high"), true),
            ("groq/x:low", "x", Some("low"), false),
            ("ollama/qwen3:8b", "qwen3:8b", None, false),
        ] {
            let t = target_of(&c, model).unwrap();
            assert_eq!((t.id.as_str(), t.variant.as_deref(), t.model.is_some()), (id, variant, described), "{model}");
        }
    }

    #[test]
    fn an_unknown_provider_names_the_nearest() {
        let error = target_of(&config(""), "opnai/m").unwrap_err();
        assert!(error.to_string().contains("opnai") && error.hint().contains("`openai`"), "{error} {}", error.hint());
    }

    #[test]
    fn a_key_that_is_not_there_says_where_it_should_be() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, " sk-1 \n").unwrap();
        let ring = crate::config::ring::tests::part(&crate::config::ring::tests::store(), "local");
        ring.set("there", " sk-2 ").unwrap();
        let sources = Sources { ring, ..Sources::default() };
        assert_eq!(sources.fetch("p", &KeySource::Keyring("there".into())), Ok("sk-2".into()));
        assert!(sources.is_there(&KeySource::Keyring("there".into())));
        assert_eq!(sources.fetch("p", &KeySource::File(file)), Ok("sk-1".into()));
        for (source, word) in [
            (KeySource::Env("AIRLOCK_TEST_NO_SUCH_KEY".into()), "AIRLOCK_TEST_NO_SUCH_KEY"),
            (KeySource::File(dir.path().join("none")), "none"),
            (KeySource::Keyring("k".into()), "keyring"),
        ] {
            let error = sources.fetch("prov", &source).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("prov"), "{error}");
        }
    }

    #[test]
    fn a_kept_key_is_used_where_none_is_named_or_set() {
        let dir = tempfile::tempdir().unwrap();
        Keys::add(dir.path(), "p", "sk-kept").unwrap();
        let environment = [("SET".to_owned(), "sk-set".to_owned())].into_iter().collect();
        let keys = Keys::load(dir.path()).unwrap().looking_in(Sources { environment, ..Sources::default() });
        let unset = KeySource::Env("AIRLOCK_TEST_NO_SUCH_KEY".into());
        let set = KeySource::Env("SET".into());
        for (provider, source, want) in [
            ("p", None, Ok(Some("sk-kept".to_owned()))),
            ("q", None, Ok(None)),
            ("p", Some(&unset), Ok(Some("sk-kept".to_owned()))),
            ("p", Some(&set), Ok(Some("sk-set".to_owned()))),
        ] {
            assert_eq!(key(&keys, provider, source), want, "{provider} {source:?}");
        }
        assert!(key(&keys, "q", Some(&unset)).unwrap_err().hint().contains("airlock auth add q"));
        assert!(
            key(&keys, "p", Some(&KeySource::File(dir.path().join("none")))).is_err(),
            "a file that is named counts"
        );
    }
}
