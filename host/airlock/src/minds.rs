//! From a model's name to the model behind its adapter, with its address, its key, and what is known of it.

use crate::cli::Ground;
use crate::cli::cassette::Cassette;
use crate::config::keys::Keys;
use crate::config::providers::OFFLINE;
use crate::config::resolve::{self, Target};
use crate::config::{Config, ConfigError};
use crate::report::Report;
use crate::wire::{Rooms, in_background};
use model::environment::Environment;
use model::provider::{Mind, Minds, Model, ModelRef};
use runtime::{ProviderConfig, Runtime, Secret};
use serde_json::{Value, json};
use std::sync::Arc;

/// What nearly every run calls first.
const FIRST_TOOL: &str = "read";

/// Looks models up: the one of the run, and those that its agents want.
pub struct ByName {
    config: Config,
    keys: Keys,
    runtime: Arc<Runtime>,
    tape: Cassette,
}

impl ByName {
    #[must_use]
    pub fn new(ground: &Ground, rooms: &Rooms, tape: Cassette) -> Self {
        Self { config: ground.config.clone(), keys: ground.keys.clone(), runtime: rooms.runtime.clone(), tape }
    }

    /// The model, and a line for the person where nothing is known of it.
    ///
    /// # Errors
    /// No such provider, no key, no such adapter.
    pub fn find(&self, wanted: &ModelRef) -> Result<(Mind, Option<String>), Report> {
        let target = resolve::target(&self.config, wanted)?;
        in_background(&self.runtime, target.adapter.clone(), Runtime::warm_up_adapter);
        let info = self.runtime.provider_info(&target.adapter)?;
        // After the adapter, which a first start has to compile: the model will think for longer than it takes to load a tool.
        in_background(&self.runtime, FIRST_TOOL.into(), Runtime::warm_up_tool);
        let known = || info.models.iter().find(|m| m.id == target.id).cloned();
        let described = target.model.clone().or_else(known);
        let notice = (described.is_none() && target.adapter != OFFLINE).then(|| unknown(wanted));
        let model = described.unwrap_or_else(|| Model::unknown(&target.id));
        let name = info.secrets.first().cloned().unwrap_or_else(|| "key".into());
        let key = self.key(wanted, &target)?;
        let config = ProviderConfig {
            adapter: target.adapter.clone(),
            base_url: target.base_url.clone(),
            secrets: key.map(|value| (name, Secret::new(value))).into_iter().collect(),
            text_calls: target.text_calls,
            options: options(target, &self.keys.sources().environment)?,
            http: self.config.http.options()?,
            tape: self.tape.tape(),
        };
        Ok((Mind { provider: self.runtime.provider(config)?, model }, notice))
    }

    fn key(&self, wanted: &ModelRef, target: &Target) -> Result<Option<String>, Report> {
        match resolve::key(&self.keys, &wanted.provider, target.key.as_ref()) {
            // The tape holds placeholders: any value stands for the one that is missing.
            Err(_) if self.tape.needs_no_key() => Ok(Some("replayed".to_owned())),
            found => Ok(found?),
        }
    }
}

impl Minds for ByName {
    fn mind(&self, model: &ModelRef) -> Result<Mind, String> {
        self.find(model).map(|(mind, _)| mind).map_err(|report| report.what)
    }
}

fn unknown(model: &ModelRef) -> String {
    format!(
        "the limits and prices of {model} are not known: its cost counts as nothing; `models = […]` of its provider in the \
         config describes it"
    )
}

/// What the adapter is told beside the conversation.
fn options(target: Target, environment: &Environment) -> Result<Option<Value>, ConfigError> {
    let script = if target.adapter == OFFLINE { resolve::offline_script(environment)? } else { None };
    let mut options = script.or(target.options);
    if let Some(variant) = target.variant {
        options.get_or_insert_with(|| json!({}))["reasoning_effort"] = variant.into();
    }
    Ok(options)
}
