//! `airlock models`: what can be named with `--model` here and now, with limits and prices.

use super::{Format, Ground, Listing, columns, print_foreign, print_json};
use crate::config::choice::{self, Answer, Choice, Context};
use crate::config::file::ProviderEntry;
use crate::config::keys::{Found, Keys};
use crate::config::providers::{KNOWN, Known, OFFLINE, OFFLINE_MODEL};
use crate::config::{Config, probe};
use crate::report::Report;
use crate::wire;
use clap::Args;
use model::provider::{Model, ModelRef};
use runtime::ProviderInfo;
use serde_json::{Value, json};

#[derive(Clone, Debug, Args)]
pub struct ModelsArgs {
    #[command(flatten)]
    listing: Listing,
    /// Those, too, whose key is missing
    #[arg(long)]
    all: bool,
}

/// A line of the list.
#[derive(Debug, PartialEq)]
struct Line {
    name: ModelRef,
    /// What is known of it.
    model: Model,
    from: String,
    /// A key is there, or none is needed.
    ready: bool,
}

pub async fn main(args: &ModelsArgs) -> Result<(), Report> {
    let ground = Ground::of(&args.listing)?;
    ground.print_notices();
    let runtime = wire::runtime().await?;
    let answers = probe::local_servers().await;
    let key = |k: &Known| ground.keys.find(k);
    let chosen = choice::without_looking(&ground.config, Context::default(), key)
        .unwrap_or_else(|| choice::after_looking(&answers));
    // An adapter that is not there has nothing to say; the run that needs it tells why.
    let infos = |adapter: &str| runtime.provider_info(adapter).ok();
    let sight = Sight { config: &ground.config, keys: &ground.keys, infos: &infos, all: args.all };
    let lines = sight.lines(key, &answers);
    match args.listing.format {
        Format::Json => lines.iter().try_for_each(|l| print_json(&as_json(l, &chosen))),
        Format::Text => print_foreign(&columns(&lines.iter().map(|l| row(l, &chosen)).collect::<Vec<_>>())),
    }
}

fn as_json(l: &Line, chosen: &Choice) -> Value {
    json!({
        "id": l.name.to_string(), "context": l.model.context, "output": l.model.output, "price": l.model.price,
        "tools": l.model.tools, "reasoning": l.model.reasoning, "images": l.model.images,
        "from": l.from, "ready": l.ready, "default": l.name == chosen.model,
    })
}

fn row(l: &Line, chosen: &Choice) -> Vec<String> {
    let mark = if l.name == chosen.model { "*" } else { "" };
    let tokens = |n: u32, what: &str| if n == 0 { String::new() } else { format!("{n} {what}") };
    let price = l.model.price.as_ref().map_or(String::new(), |p| {
        let more = if p.tiers.is_empty() { "" } else { " and up" };
        format!("${} in, ${} out{more}", p.input.normalize(), p.output.normalize())
    });
    let from = if l.ready { l.from.clone() } else { format!("not set: {}", l.from) };
    vec![format!("{}{mark}", l.name), tokens(l.model.context, "tokens"), tokens(l.model.output, "out"), price, from]
}

/// What the list is made from.
struct Sight<'a> {
    config: &'a Config,
    keys: &'a Keys,
    infos: &'a dyn Fn(&str) -> Option<ProviderInfo>,
    /// Those, too, that are not ready. An adapter that nobody has a key for is not even asked.
    all: bool,
}

impl Sight<'_> {
    /// Configured, by key, served here, offline: in the order in which they are preferred.
    fn lines(&self, key: impl Fn(&Known) -> Option<Found>, answers: &[Answer]) -> Vec<Line> {
        let configured = self.config.providers.iter().flat_map(|(name, entry)| self.configured(name, entry));
        let free = |name: &str| !self.config.providers.contains_key(name);
        let known = KNOWN.iter().filter(|k| free(k.id)).map(|k| (k, key(k)));
        let known = known.filter(|(_, key)| self.all || key.is_some()).flat_map(|(k, key)| self.known(k, key));
        let served = answers.iter().filter(|a| free(a.server.id)).flat_map(|a| {
            let from = format!("port {}", a.server.port);
            a.models.iter().map(move |m| line(a.server.id, Model::unknown(m), from.clone(), true))
        });
        let offline = line(OFFLINE, Model::unknown(OFFLINE_MODEL), "bundled".into(), true);
        configured.chain(known).chain(served).chain([offline]).collect()
    }

    /// What the config describes; where it describes nothing, what the adapter knows.
    fn configured(&self, name: &str, entry: &ProviderEntry) -> Vec<Line> {
        let kept = self.keys.key(name).is_some();
        let ready = kept || entry.key.as_ref().is_none_or(|key| self.keys.sources().is_there(key));
        if !ready && !self.all {
            return Vec::new();
        }
        let described =
            |models: Vec<Model>| models.into_iter().map(|m| line(name, m, "config".into(), ready)).collect();
        if !entry.models.is_empty() {
            return described(entry.models.clone());
        }
        described(self.catalogue(&entry.adapter, entry.base_url.as_deref()))
    }

    fn known(&self, service: &Known, key: Option<Found>) -> Vec<Line> {
        let from = match key {
            Some(Found::Variable(name)) => name.to_owned(),
            Some(Found::Kept) => "a kept key".into(),
            None => service.variable.to_owned(),
        };
        let mut models = self.catalogue(service.adapter, Some(service.base_url));
        if !models.iter().any(|m| m.id == service.model) {
            models.insert(0, Model::unknown(service.model));
        }
        models.into_iter().map(|m| line(service.id, m, from.clone(), key.is_some())).collect()
    }

    /// What an adapter knows holds for the service that it was made for, not for others that speak its language.
    fn catalogue(&self, adapter: &str, base_url: Option<&str>) -> Vec<Model> {
        let Some(info) = (self.infos)(adapter) else { return Vec::new() };
        let own = base_url.is_none_or(|url| url == info.base_url.trim_end_matches('/'));
        if own { info.models } else { Vec::new() }
    }
}

fn line(provider: &str, model: Model, from: String, ready: bool) -> Line {
    Line { name: ModelRef { provider: provider.into(), model: model.id.clone() }, model, from, ready }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;
    use crate::config::providers::{ADAPTER, LOCAL};
    use crate::config::{Overrides, Variables};
    use std::path::Path;

    fn info(adapter: &str) -> Option<ProviderInfo> {
        let model = Model { context: 7, ..Model::unknown("gpt") };
        (adapter == ADAPTER).then(|| ProviderInfo {
            id: "openai".into(),
            name: "OpenAI".into(),
            secrets: vec![],
            base_url: "https://api.openai.com/v1".into(),
            models: vec![model],
        })
    }

    fn listed(text: &str, key: &str) -> Vec<(String, u32, bool)> {
        let file = FileConfig::parse(Path::new("c.toml"), text, None).unwrap();
        let config = Config::merge(file, None, Variables::default(), Overrides::default());
        let answers = [Answer { server: LOCAL[0], models: vec!["q".into()] }];
        let sight = Sight { config: &config, keys: &Keys::default(), infos: &info, all: true };
        let lines = sight.lines(|k| (k.id == key).then_some(Found::Kept), &answers);
        lines.into_iter().map(|l| (l.name.to_string(), l.model.context, l.ready)).collect()
    }

    fn ready(text: &str, key: &str) -> Vec<(String, u32)> {
        listed(text, key).into_iter().filter(|l| l.2).map(|(name, context, _)| (name, context)).collect()
    }

    #[test]
    fn all_sources_are_listed_and_offline_is_always_there() {
        let text = "[providers.p]\nadapter = \"a\"\nmodels = [{ id = \"m\", context = 5 }]";
        let want = [("p/m", 5), ("xai/grok-4", 0), ("ollama/q", 0), ("offline/explorer", 0)];
        assert_eq!(ready(text, "xai"), want.map(|(n, c)| (n.to_owned(), c)));
        assert_eq!(
            listed(text, "xai").len(),
            want.len() + KNOWN.len(),
            "OpenAI has two: its catalogue and the default"
        );
    }

    #[test]
    fn a_catalogue_holds_for_its_own_service_alone() {
        let has = |text: &str, key: &str, name: &str| ready(text, key).contains(&(name.to_owned(), 7));
        assert!(has("", "openai", "openai/gpt"));
        assert!(!has("", "groq", "groq/gpt"));
        assert!(has("[providers.p]\nadapter = \"openai-chat\"", "", "p/gpt"));
        assert!(!has("[providers.p]\nadapter = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"", "", "p/gpt"));
    }

    #[test]
    fn without_its_key_a_model_is_not_ready() {
        let text =
            "[providers.p]\nadapter = \"a\"\nkey = { env = \"AIRLOCK_TEST_NO_SUCH_KEY\" }\nmodels = [{ id = \"m\" }]";
        assert!(listed(text, "").contains(&("p/m".into(), 0, false)));
    }
}
