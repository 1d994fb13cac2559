//! Names in a config that only the components can vouch for: permissions, adapters, hooks, tools. A rule for a permission that does
//! not exist would never match: a misspelt *deny* must not pass for a wall.

use super::error::ConfigError;
use super::{Config, nearest, resolve};
use model::permission::OF_THE_HOST;
use model::provider::ModelRef;
use runtime::Runtime;

/// What there is to be named.
#[derive(Clone, Debug, Default)]
pub struct Known {
    tools: Vec<String>,
    adapters: Vec<String>,
    hooks: Vec<String>,
}

impl Known {
    #[must_use]
    pub fn of(runtime: &Runtime) -> Self {
        Self { tools: runtime.tool_names(), adapters: runtime.adapter_names(), hooks: runtime.hook_names() }
    }

    /// What is enough to judge rules: adapters and hooks need not be looked at.
    #[must_use]
    pub fn tools(tools: Vec<String>) -> Self {
        Self { tools, ..Self::default() }
    }

    fn permissions(&self) -> Vec<String> {
        let own = OF_THE_HOST.iter().map(|p| (*p).to_owned());
        own.chain(self.tools.iter().cloned()).collect()
    }
}

/// The first rule whose permission nobody asks for.
///
/// # Errors
/// [`ConfigError::UnknownName`], with the line or the flag.
pub fn permissions(config: &Config, known: &Known) -> Result<(), ConfigError> {
    of_permissions(config, known).next().map_or(Ok(()), Err)
}

fn of_permissions(config: &Config, known: &Known) -> impl Iterator<Item = ConfigError> {
    let there_are = known.permissions();
    config.named.iter().filter_map(move |(name, at)| unknown(at.clone(), "permission", name, &there_are))
}

/// Everything in the config that names what is not there.
#[must_use]
pub fn all(config: &Config, known: &Known) -> Vec<ConfigError> {
    let adapters = config
        .providers
        .iter()
        .filter_map(|(name, p)| unknown(format!("providers.{name}.adapter"), "adapter", &p.adapter, &known.adapters));
    let hooks = config.hooks.iter().filter_map(|hook| unknown("hooks".into(), "hook", &hook.name, &known.hooks));
    // A Markdown file may be written for other programs too, and name their tools.
    let ours = config.agents.iter().filter(|(_, agent)| !agent.origin.ends_with(".md"));
    let tools = ours.flat_map(|(name, agent)| {
        let named = agent.tools.iter().flatten();
        named.filter_map(move |tool| unknown(format!("agents.{name}.tools"), "tool", tool, &known.permissions()))
    });
    let agent = Some(&config.agent.value).filter(|a| !config.agents.contains_key(*a));
    let agents: Vec<String> = config.agents.keys().cloned().collect();
    let agent = agent.and_then(|name| unknown(config.agent.by.to_string(), "agent", name, &agents));
    of_permissions(config, known)
        .chain(adapters)
        .chain(hooks)
        .chain(tools)
        .chain(agent)
        .chain(providers(config))
        .collect()
}

/// Models whose provider is none.
fn providers(config: &Config) -> impl Iterator<Item = ConfigError> {
    let said = |key: &str, m: Option<&ModelRef>| m.map(|m| (key.to_owned(), m.provider.clone()));
    let of_agents = config.agents.iter().filter_map(move |(n, a)| said(&format!("agents.{n}.model"), a.model.as_ref()));
    let models = [
        said("model", config.model.as_ref().map(|m| &m.value)),
        said("small_model", config.small_model.as_ref().map(|m| &m.value)),
    ];
    let known: Vec<String> = resolve::names(config).map(str::to_owned).collect();
    let wrong = move |(at, name): (String, String)| unknown(at, "provider", &name, &known);
    models.into_iter().flatten().chain(of_agents).filter_map(wrong)
}

/// A pattern speaks of whatever there will be; a path of a file that is looked at when it is used.
fn unknown(at: String, what: &'static str, name: &str, known: &[String]) -> Option<ConfigError> {
    let is_open = name.contains(['*', '?', '/']);
    let nearest = || nearest(name, known.iter().map(String::as_str));
    (!is_open && !known.iter().any(|k| k == name)).then(|| ConfigError::UnknownName {
        at,
        what,
        name: name.to_owned(),
        nearest: nearest(),
        known: known.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::FileConfig;
    use crate::config::{Overrides, Variables, rules};
    use model::permission::Action;
    use std::path::Path;

    fn known() -> Known {
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Known { tools: list(&["read", "write", "grep"]), adapters: list(&["openai-chat"]), hooks: list(&["redact"]) }
    }

    fn config(user: &str, workspace: &str, flags: Overrides) -> Config {
        let file = |name: &str, text| FileConfig::parse(Path::new(name), text, None).unwrap();
        Config::merge(file("c.toml", user), Some(file("w.toml", workspace)), Variables::default(), flags)
    }

    fn told(config: &Config) -> Vec<String> {
        all(config, &known()).iter().map(|e| format!("{e}. {}", e.hint())).collect()
    }

    #[test]
    fn a_misspelt_name_is_told_with_its_place_and_the_nearest() {
        for (user, words) in [
            ("[permission]\nread = \"ask\"\nbahs = \"deny\"", ["c.toml, line 3", "`bahs`", "`bash`"]),
            ("[agents.x]\npermission = { edti = \"deny\" }", ["c.toml, line 2", "`edti`", "`edit`"]),
            ("[providers.p]\nadapter = \"openai-caht\"", ["providers.p.adapter", "`openai-caht`", "`openai-chat`"]),
            ("hooks = [\"redcat\"]", ["hooks", "`redcat`", "`redact`"]),
            ("[agents.x]\ntools = [\"read\", \"wriet\"]", ["agents.x.tools", "`wriet`", "`write`"]),
            ("agent = \"biuld\"", ["c.toml", "`biuld`", "`build`"]),
            ("model = \"opnai/x\"", ["model", "`opnai`", "`openai`"]),
        ] {
            let told = told(&config(user, "", Overrides::default()));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(words.iter().all(|w| told[0].contains(w)), "{told:?} should hold {words:?}");
        }
        let workspace = config("", "[permission]\nbahs = \"deny\"", Overrides::default());
        assert!(told(&workspace)[0].contains("w.toml, line 2"));
    }

    #[test]
    fn a_flag_is_named() {
        let deny = vec![rules::from_flag("bsh:rm *", Action::Deny, None).unwrap()];
        let error = permissions(&config("", "", Overrides { deny, ..Overrides::default() }), &known()).unwrap_err();
        assert!(error.to_string().contains("--deny") && error.hint().contains("`bash`"), "{error}");
    }

    #[test]
    fn what_exists_is_sound() {
        let user = "[permission]\n\"*\" = \"ask\"\nwrite = \"ask\"\npatch = \"ask\"\napply_patch = \"ask\"\ngrep = \"allow\"\n\
                    \"mcp_*\" = \"deny\"\nexternal_directory = \"deny\"\nhooks = \"ask\"";
        let sound = user.replace("\nhooks = \"ask\"", "");
        assert!(told(&config(&sound, &sound, Overrides::default())).is_empty());
        assert!(permissions(&config(user, "", Overrides::default()), &known()).is_err());
    }

    #[test]
    fn the_defaults_name_what_the_host_or_a_bundled_tool_asks_for() {
        let bundled = ["glob", "grep", "todowrite"];
        for rule in agent::gate::default_rules().rules {
            let name = rule.permission.as_str();
            assert!(OF_THE_HOST.contains(&name) || bundled.contains(&name), "{name}");
        }
    }
}
