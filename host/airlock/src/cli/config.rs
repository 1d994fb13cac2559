//! `airlock config show|check`. A secret is shown as the place where it lies, never as itself.

use super::{Format, Ground, Listing, print, print_foreign, print_json};
use crate::config::Said;
use crate::config::file::{KeySource, ProviderEntry};
use crate::config::names::{self, Known};
use crate::report::Report;
use clap::Subcommand;
use model::grant::Grant;
use model::permission::Rule;
use model::provider::ModelRef;
use runtime::Use;
use serde_json::{Map, Value, json};
use std::fmt::Write;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show what is in force after all layers
    Show(Listing),
    /// Read the files and say whether they are sound
    Check(Listing),
}

pub async fn main(command: &ConfigCommand) -> Result<(), Report> {
    match command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Check(args) => check(args).await,
    }
}

async fn check(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let known = Known::of(&*crate::wire::runtime_of(&ground).await?);
    let mut wrong = names::all(&ground.config, &known);
    if let Some(last) = wrong.pop() {
        // Each with its own next step: the last one is the command's own error.
        wrong.into_iter().for_each(|w| Report::from(w).print());
        return Err(last.into());
    }
    let files: Vec<String> = ground.config.files.iter().map(|f| f.display().to_string()).collect();
    match args.format {
        Format::Json => print_json(&json!({ "ok": true, "files": files, "notices": ground.config.notices })),
        Format::Text if files.is_empty() => {
            print(&format!("no config; the user's would be {}\n", ground.paths.user_config().display()))
        }
        Format::Text => print_foreign(&files.iter().fold(String::new(), |all, f| all + "sound: " + f + "\n")),
    }
}

fn show(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let value = in_force(&ground);
    match args.format {
        Format::Json => print_json(&value),
        Format::Text => print_foreign(&as_lines(&value)),
    }
}

fn in_force(ground: &Ground) -> Value {
    let c = &ground.config;
    json!({
        "files": c.files,
        "model": c.model.as_ref().map(reference),
        "small_model": c.small_model.as_ref().map(reference),
        "agent": { "value": c.agent.value, "from": c.agent.by.to_string() },
        "providers": c.providers.iter().map(|(n, p)| (n.clone(), provider(p))).collect::<Map<_, _>>(),
        "permission": {
            "continue": c.go_on,
            "rules": c.rules().map(|(from, r, counts)| rule(from, r, counts)).collect::<Vec<_>>(),
        },
        "limits": {
            "steps": c.limits.steps,
            "cost_usd": c.limits.cost_usd.map(|d| d.to_string()),
            "wall": c.limits.wall.map(|w| humantime::format_duration(w).to_string()),
            "tokens": c.limits.tokens,
            "output_tokens": c.limits.output_tokens,
            "output_bytes": c.limits.output_bytes,
        },
        "compaction": {
            "auto": c.compaction.auto,
            "prune": c.compaction.prune,
            "tail_turns": c.compaction.tail_turns,
            "preserve_recent_tokens": c.compaction.preserve_recent_tokens,
            "reserved": c.compaction.reserved,
        },
        "components": {
            "at_once": c.components.instances,
            "memory": c.components.memory,
            "wait": humantime::format_duration(c.components.wait).to_string(),
        },
        "storage": {
            "keep_days": c.storage.keep_days,
            "max_sessions": c.storage.max_sessions,
            "journal_bytes": c.storage.journal_bytes,
        },
        "plugins": c.brought.plugins.iter().map(|p| (p.name.clone(), plugin(&p.how))).collect::<Map<_, _>>(),
        "hooks": c.hooks.iter().map(|h| &h.name).collect::<Vec<_>>(),
        "aliases": c.aliases.iter().map(|(n, m)| (n.clone(), m.to_string().into())).collect::<Map<_, _>>(),
        "fallback": c.fallback.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "http": {
            "ca_file": c.http.ca_file,
            "connect": c.http.connect.map(|w| humantime::format_duration(w).to_string()),
            "first_byte": c.http.first_byte.map(|w| humantime::format_duration(w).to_string()),
            "idle": c.http.idle.map(|w| humantime::format_duration(w).to_string()),
        },
        "secrets": c.secrets.iter().map(|(n, s)| (n.clone(), json!({
            "from": source(&s.source), "hosts": s.hosts,
        }))).collect::<Map<_, _>>(),
        "agents": c.agents.keys().collect::<Vec<_>>(),
    })
}

/// One that does not count says why.
fn rule(from: &str, rule: &Rule, counts: bool) -> Value {
    let mut value = json!({ "rule": rule.to_string(), "from": from });
    if !counts {
        value["ignored"] = "not in force: the file is not trusted".into();
    }
    value
}

fn plugin(how: &Use) -> Value {
    match how {
        Use::File { path, grant } => json!({ "source": path, "may": grant.as_ref().map(Grant::words) }),
        Use::Granted(grant) => json!({ "may": grant.words() }),
        Use::Narrowed(grant) => json!({ "may_at_most": grant.words() }),
    }
}

fn reference(said: &Said<ModelRef>) -> Value {
    json!({ "value": said.value.to_string(), "from": said.by.to_string() })
}

fn provider(p: &ProviderEntry) -> Value {
    json!({
        "adapter": p.adapter,
        "base_url": p.base_url,
        "key": p.key.as_ref().map(source),
        "models": p.models.iter().map(|m| &m.id).collect::<Vec<_>>(),
        "options": p.options,
    })
}

/// Where a secret lies.
#[must_use]
pub fn source(source: &KeySource) -> String {
    match source {
        KeySource::Env(name) => format!("variable {name}"),
        KeySource::File(path) => format!("file {}", path.display()),
        KeySource::Keyring(name) => format!("keyring {name}"),
    }
}

/// `a.b = value`, a line for each leaf that says something.
fn as_lines(value: &Value) -> String {
    let mut out = String::new();
    leaves("", value, &mut out);
    out
}

fn leaves(path: &str, value: &Value, out: &mut String) {
    match value {
        Value::Object(map) if map.len() == 2 && map.contains_key("from") && map.contains_key("value") => {
            let _ = writeln!(out, "{path} = {}  # {}", map["value"], plain(&map["from"]));
        }
        Value::Object(map) if map.contains_key("from") && map.contains_key("rule") => {
            let ignored = map.get("ignored").map(|why| format!(" ({})", plain(why))).unwrap_or_default();
            let _ = writeln!(out, "{path}: {}  # {}{ignored}", plain(&map["rule"]), plain(&map["from"]));
        }
        Value::Object(map) => {
            for (key, inner) in map {
                leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, inner, out);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => items.iter().for_each(|i| leaves(path, i, out)),
        Value::Null => {}
        leaf => {
            let _ = writeln!(out, "{path} = {leaf}");
        }
    }
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_is_shown_a_line_a_leaf() {
        let value = json!({
            "files": ["a"], "model": { "value": "p/m", "from": "f" }, "none": null,
            "permission": { "rules": [{ "rule": "deny bash:*", "from": "f" }, { "rule": "allow x", "from": "g", "ignored": "no" }] },
        });
        let rules = "permission.rules: deny bash:*  # f\npermission.rules: allow x  # g (no)\n";
        assert_eq!(as_lines(&value), format!("files = [\"a\"]\nmodel = \"p/m\"  # f\n{rules}"));
    }
}
