//! `airlock commands`.

use super::{Format, Ground, Listing, columns, print_foreign, print_json, say};
use crate::commands::{self, Command};
use crate::report::Report;
use serde_json::{Value, json};

pub fn main(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let skills = ground.skills();
    let found = commands::find(&ground.paths, &ground.place, &ground.config.inputs.commands, &skills);
    skills.notices.iter().chain(&found.notices).for_each(|n| say(n));
    match args.format {
        Format::Json => print_json(&found.all.values().map(as_json).collect::<Vec<_>>()),
        Format::Text => print_foreign(&columns(&found.all.values().map(row).collect::<Vec<_>>())),
    }
}

fn as_json(c: &Command) -> Value {
    json!({
        "name": c.name,
        "description": c.description,
        "agent": c.agent,
        "model": c.model.as_ref().map(ToString::to_string),
        "template": c.template,
        "source": c.source.to_string(),
    })
}

fn row(c: &Command) -> Vec<String> {
    vec![format!("/{}", c.name), c.source.to_string(), c.description.clone().unwrap_or_default()]
}
