//! Which model a run speaks to: what is named, else the first key in the environment, else the first local server that answers,
//! else the bundled offline model. Pure; the looking is done by [`super::probe`].

use super::keys::Found;
use super::providers::{KNOWN, Known, LOCAL, Local, OFFLINE, OFFLINE_MODEL};
use super::{Config, Origin, Said, models};
use model::provider::ModelRef;

/// A model, and why this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub model: ModelRef,
    pub why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Named(Origin),
    /// The session that goes on was led with it.
    Session,
    /// The first model of a configured provider.
    FirstConfigured,
    Key(Found),
    Server(u16),
    NothingElse,
}

impl Choice {
    /// The same model with this variant.
    #[must_use]
    pub fn with_variant(mut self, variant: Option<&str>) -> Self {
        if let Some(variant) = variant {
            self.model = models::with_variant(&self.model, variant);
        }
        self
    }

    /// One line for the person; none where the person named the model.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let why = match &self.why {
            Why::Named(_) | Why::Session => return None,
            Why::FirstConfigured => "the first model of the config; `model = …` names another".to_owned(),
            Why::Key(Found::Variable(name)) => format!("{name} is set; `model = …` in the config names another"),
            Why::Key(Found::Kept) => "its key is kept; `model = …` in the config names another".to_owned(),
            Why::Server(port) => format!("a server answers on port {port}; `model = …` in the config names another"),
            Why::NothingElse => "the bundled offline model: no model is configured, no key is set and no local server \
                 answers; see `airlock providers`"
                .to_owned(),
        };
        Some(format!("model {}: {why}", self.model))
    }
}

/// A local server that answered, with the ids of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub server: Local,
    pub models: Vec<String>,
}

/// What else may name a model, beside the config.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The model of the session that goes on.
    pub session: Option<&'a ModelRef>,
    /// The model that the agent wants.
    pub agent: Option<&'a ModelRef>,
}

/// The choice that needs no look at the network: flag, session, environment, agent, config, key.
pub fn without_looking(config: &Config, context: Context<'_>, key: impl Fn(&Known) -> Option<Found>) -> Option<Choice> {
    let said = config.model.as_ref();
    let by_flag = said.filter(|s| matches!(s.by, Origin::Flag(_)));
    let by_variable = said.filter(|s| matches!(s.by, Origin::Variable(_)));
    named(by_flag)
        .or_else(|| context.session.map(|m| Choice { model: m.clone(), why: Why::Session }))
        .or_else(|| named(by_variable))
        .or_else(|| context.agent.map(|m| Choice { model: m.clone(), why: Why::Named(config.agent.by.clone()) }))
        .or_else(|| named(said))
        .or_else(|| first_configured(config))
        .or_else(|| by_key(key))
}

fn named(said: Option<&Said<ModelRef>>) -> Option<Choice> {
    said.map(|s| Choice { model: s.value.clone(), why: Why::Named(s.by.clone()) })
}

fn first_configured(config: &Config) -> Option<Choice> {
    let (provider, entry) = config.providers.iter().find(|(_, p)| !p.models.is_empty())?;
    let model = ModelRef { provider: provider.clone(), model: entry.models.first()?.id.clone() };
    Some(Choice { model, why: Why::FirstConfigured })
}

fn by_key(key: impl Fn(&Known) -> Option<Found>) -> Option<Choice> {
    let (service, found) = KNOWN.iter().find_map(|k| Some((k, key(k)?)))?;
    Some(Choice { model: reference(service.id, service.model), why: Why::Key(found) })
}

/// The choice after the local servers had their time to answer.
#[must_use]
pub fn after_looking(answers: &[Answer]) -> Choice {
    let of = |server: &Local| answers.iter().find(|a| a.server == *server && !a.models.is_empty());
    match LOCAL.iter().find_map(of).and_then(|a| Some((a.server, a.models.first()?))) {
        Some((server, model)) => Choice { model: reference(server.id, model), why: Why::Server(server.port) },
        None => Choice { model: reference(OFFLINE, OFFLINE_MODEL), why: Why::NothingElse },
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef { provider: provider.into(), model: model.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;
    use crate::config::{Overrides, Variables};
    use std::path::Path;

    fn config(text: &str) -> Config {
        let file = FileConfig::parse(Path::new("c.toml"), text, None).unwrap();
        Config::merge(file, None, Variables::default(), Overrides::default())
    }

    #[test]
    fn the_first_thing_that_is_said_is_taken() {
        let provider = "[providers.p]\nadapter = \"openai-chat\"\nmodels = [{ id = \"m\" }, { id = \"n\" }]";
        let both = format!("model = \"p/n\"\n{provider}");
        for (text, keys, want) in [
            (both.as_str(), &["OPENAI_API_KEY"][..], Some("p/n")),
            (provider, &["OPENAI_API_KEY"], Some("p/m")),
            ("", &["GROQ_API_KEY", "OPENAI_API_KEY"], Some("openai/gpt-5.1")),
            ("", &["OPENROUTER_API_KEY"], Some("openrouter/openrouter/auto")),
            ("", &[], None),
        ] {
            let choice = without_looking(&config(text), Context::default(), |k| {
                keys.contains(&k.variable).then_some(Found::Variable(k.variable))
            });
            assert_eq!(choice.map(|c| c.model.to_string()).as_deref(), want, "{text} {keys:?}");
        }
    }

    #[test]
    fn a_session_keeps_its_model_unless_a_flag_names_another() {
        let model = |t: &str| ModelRef::parse(t);
        let (session, agent) = (model("s/m"), model("a/m"));
        let by = |flag: Option<&str>, variable: Option<&str>| {
            let file = FileConfig::parse(Path::new("c.toml"), "model = \"f/m\"", None).unwrap();
            let env = Variables { model: variable.and_then(model), ..Variables::default() };
            let flags = Overrides { model: flag.and_then(model), ..Overrides::default() };
            Config::merge(file, None, env, flags)
        };
        let all = Context { session: session.as_ref(), agent: agent.as_ref() };
        let no_session = Context { session: None, ..all };
        for (config, context, want) in [
            (by(Some("x/m"), Some("e/m")), all, "x/m"),
            (by(None, Some("e/m")), all, "s/m"),
            (by(None, Some("e/m")), no_session, "e/m"),
            (by(None, None), no_session, "a/m"),
            (by(None, None), Context::default(), "f/m"),
        ] {
            assert_eq!(without_looking(&config, context, |_| Some(Found::Kept)).unwrap().model.to_string(), want);
        }
    }

    #[test]
    fn local_servers_come_in_their_order_and_offline_is_last() {
        let answer = |i: usize, models: &[&str]| Answer {
            server: LOCAL[i],
            models: models.iter().map(|m| (*m).to_owned()).collect(),
        };
        for (answers, want) in [
            (vec![answer(3, &["v"]), answer(0, &["o", "o2"])], "ollama/o"),
            (vec![answer(0, &[]), answer(1, &["q"])], "llama-cpp/q"),
            (vec![], "offline/explorer"),
        ] {
            assert_eq!(after_looking(&answers).model.to_string(), want);
        }
    }

    #[test]
    fn a_named_model_needs_no_explanation() {
        let choice = Choice { model: reference("p", "m"), why: Why::Named(Origin::Flag("--model")) };
        assert_eq!(choice.notice(), None);
        assert!(after_looking(&[]).notice().unwrap().contains("offline"));
    }
}
