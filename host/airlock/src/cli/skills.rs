//! `airlock skills`.

use super::{Format, Ground, Listing, columns, print_foreign, print_json, say};
use crate::report::Report;
use serde_json::json;

pub fn main(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let skills = ground.skills();
    skills.notices.iter().for_each(|n| say(n));
    let all = skills.all.values();
    match args.format {
        Format::Json => print_json(
            &all.map(|s| json!({ "name": s.name, "description": s.description, "file": s.file })).collect::<Vec<_>>(),
        ),
        Format::Text => {
            let row = |s: &crate::skills::Skill| {
                vec![s.name.clone(), s.file.display().to_string(), s.description.clone().unwrap_or_default()]
            };
            print_foreign(&columns(&all.map(row).collect::<Vec<_>>()))
        }
    }
}
