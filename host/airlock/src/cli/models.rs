//! `airlock models`: what can be named with `--model` here and now.

use super::{Format, Ground, Listing, columns, print_foreign, print_json};
use crate::config::choice::{self, Answer, Choice, Context};
use crate::config::keys::Found;
use crate::config::providers::{KNOWN, Known, OFFLINE, OFFLINE_MODEL};
use crate::config::{Config, probe};
use crate::report::Report;
use serde_json::json;

/// A line of the list.
#[derive(Debug, PartialEq)]
struct Line {
    model: String,
    /// Tokens of the window; 0 = unknown.
    context: u32,
    from: String,
}

pub async fn main(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let answers = probe::local_servers().await;
    let key = |k: &Known| ground.keys.find(k);
    let chosen = choice::without_looking(&ground.config, Context::default(), key)
        .unwrap_or_else(|| choice::after_looking(&answers));
    let found = all(&ground.config, key, &answers);
    match args.format {
        Format::Json => found.iter().try_for_each(|f| {
            print_json(&json!({
                "id": f.model, "context": f.context, "from": f.from, "default": is_chosen(f, &chosen),
            }))
        }),
        Format::Text => print_foreign(&columns(&found.iter().map(|f| row(f, &chosen)).collect::<Vec<_>>())),
    }
}

fn is_chosen(found: &Line, chosen: &Choice) -> bool {
    found.model == chosen.model.to_string()
}

fn row(found: &Line, chosen: &Choice) -> Vec<String> {
    let mark = if is_chosen(found, chosen) { "*" } else { "" };
    let context = if found.context == 0 { String::new() } else { format!("{} tokens", found.context) };
    vec![format!("{}{mark}", found.model), context, found.from.clone()]
}

/// Configured, by key, served here, offline: in the order in which they are preferred.
fn all(config: &Config, key: impl Fn(&Known) -> Option<Found>, answers: &[Answer]) -> Vec<Line> {
    let configured = config.providers.iter().flat_map(|(name, p)| {
        p.models.iter().map(move |m| Line {
            model: format!("{name}/{}", m.id),
            context: m.context,
            from: "config".into(),
        })
    });
    let by_key = KNOWN.iter().filter_map(|k| Some((k, key(k)?))).map(|(k, found)| Line {
        model: format!("{}/{}", k.id, k.model),
        context: 0,
        from: match found {
            Found::Variable(name) => format!("{name} (any model of theirs can be named)"),
            Found::Kept => "a kept key (any model of theirs can be named)".into(),
        },
    });
    let served = answers.iter().flat_map(|a| {
        let from = format!("port {}", a.server.port);
        a.models.iter().map(move |m| Line { model: format!("{}/{m}", a.server.id), context: 0, from: from.clone() })
    });
    let offline = Line { model: format!("{OFFLINE}/{OFFLINE_MODEL}"), context: 0, from: "bundled".into() };
    configured.chain(by_key).chain(served).chain([offline]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;
    use crate::config::providers::LOCAL;
    use crate::config::{Overrides, Variables};
    use std::path::Path;

    #[test]
    fn all_sources_are_listed_and_offline_is_always_there() {
        let text = "[providers.p]\nadapter = \"a\"\nmodels = [{ id = \"m\", context = 5 }]";
        let file = FileConfig::parse(Path::new("c.toml"), text, None).unwrap();
        let config = Config::merge(file, None, Variables::default(), Overrides::default());
        let answers = [Answer { server: LOCAL[0], models: vec!["q".into()] }];
        let models: Vec<String> =
            all(&config, |k| (k.id == "xai").then_some(Found::Kept), &answers).into_iter().map(|f| f.model).collect();
        assert_eq!(models, ["p/m", "xai/grok-4", "ollama/q", "offline/explorer"]);
    }
}
