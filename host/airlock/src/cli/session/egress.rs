//! `airlock session egress`: what components sent over the network in a session, or in calls of `plugin call`, and what was refused.

use super::{ledger, parse_id};
use crate::cli::{Format, columns, print_foreign, print_json};
use crate::report::Report;
use clap::Args;
use model::egress::{Egress, Verdict};
use model::store::Store;

#[derive(Debug, Args)]
pub struct EgressArgs {
    /// The session; those that its agents began belong to it
    #[arg(required_unless_present = "calls")]
    id: Option<String>,
    /// Those of `airlock plugin call`, which belong to no session; the newest thousand are kept
    #[arg(long, conflicts_with = "id")]
    calls: bool,
    /// Only those of this plugin's tool, or of components whose digest begins so
    #[arg(long, value_name = "NAME")]
    of: Option<String>,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &EgressArgs) -> Result<(), Report> {
    let ledger = ledger().await?;
    let mut sent = match &args.id {
        None => ledger.egress_of_calls().await?,
        Some(id) => {
            let id = parse_id(id)?;
            // One that is not there is told apart from one that sent nothing.
            ledger.session(&id).await?;
            ledger.egress_of(&id).await?
        }
    };
    if let Some(of) = &args.of {
        sent.retain(|e| e.tool == *of || e.component.starts_with(of.as_str()));
    }
    match args.format {
        Format::Json => sent.iter().try_for_each(print_json),
        Format::Text if sent.is_empty() => print_foreign("nothing was sent\n"),
        Format::Text => print_foreign(&columns(&sent.iter().map(row).collect::<Vec<_>>())),
    }
}

fn row(e: &Egress) -> Vec<String> {
    let end = match (&e.verdict, e.status) {
        (Verdict::Refused { why }, _) => format!("refused: {why}"),
        (Verdict::Failed { why }, _) => format!("no answer: {why}"),
        (Verdict::Sent, Some(status)) => status.to_string(),
        (Verdict::Sent, None) => "not ended".into(),
    };
    let secrets = if e.secrets.is_empty() { String::new() } else { format!("with {}", e.secrets.join(", ")) };
    let bytes = format!("{} out, {} in", e.sent, e.received);
    let component = e.component.get(..12).unwrap_or_default();
    vec![e.tool.clone(), component.into(), e.method.clone(), e.host.clone(), bytes, secrets, end]
}
