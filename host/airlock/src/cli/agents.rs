//! `airlock agents`.

use super::{Format, Ground, Listing, columns, print_foreign, print_json};
use crate::report::Report;
use model::profile::{AgentMode, Profile};
use serde_json::{Value, json};

pub fn main(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let agents = ground.config.agents.values().filter(|p| p.mode != AgentMode::Internal);
    match args.format {
        Format::Json => print_json(&agents.map(as_json).collect::<Vec<_>>()),
        Format::Text => {
            print_foreign(&columns(&agents.map(|p| row(p, &ground.config.agent.value)).collect::<Vec<_>>()))
        }
    }
}

/// The shape of an agent in `--format json`.
#[must_use]
pub fn as_json(p: &Profile) -> Value {
    json!({
        "name": p.name,
        "description": p.description,
        "mode": p.mode,
        "source": p.origin,
        "tools": p.tools,
        "rules": p.rules,
        "model": p.model.as_ref().map(ToString::to_string),
        "temperature": p.temperature,
        "steps": p.steps,
    })
}

fn row(p: &Profile, default: &str) -> Vec<String> {
    let mark = if p.name == default { "*" } else { "" };
    let tools = p.tools.as_ref().map_or("all tools".to_owned(), |t| t.join(", "));
    let mode = match p.mode {
        AgentMode::Primary => "leads",
        AgentMode::Subagent => "for tasks",
        AgentMode::All => "leads, for tasks",
        AgentMode::Internal => "internal",
    };
    vec![format!("{}{mark}", p.name), mode.into(), p.origin.clone(), tools, p.description.clone().unwrap_or_default()]
}
