//! `airlock session egress`: what components sent over the network in a session, and what was refused.

use super::{ledger, parse_id};
use crate::cli::{Format, columns, print_foreign, print_json};
use crate::report::Report;
use clap::Args;
use model::egress::{Egress, Verdict};
use model::store::Store;

#[derive(Debug, Args)]
pub struct EgressArgs {
    /// The session; those that its agents began belong to it
    id: String,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &EgressArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let ledger = ledger().await?;
    // One that is not there is told apart from one that sent nothing.
    ledger.session(&id).await?;
    let sent = ledger.egress_of(&id).await?;
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
