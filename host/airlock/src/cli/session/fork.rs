//! `airlock session fork`, and `airlock run --fork`: a copy of a session that goes its own way.

use super::parse_id;
use super::undo::parse_message;
use crate::cli::{Format, print_foreign, print_json};
use crate::report::Report;
use crate::wire;
use clap::Args;
use model::id::{MessageId, SessionId};
use model::session::{Session, SessionTime};
use model::store::Store;
use rust_decimal::Decimal;
use store::Ledger;

#[derive(Debug, Args)]
pub struct ForkArgs {
    id: String,
    /// Copy what was said before this message; without it, everything
    #[arg(long, value_name = "MESSAGE")]
    at: Option<String>,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &ForkArgs) -> Result<(), Report> {
    let id = parse_id(&args.id)?;
    let at = args.at.as_deref().map(parse_message).transpose()?;
    let ledger = super::ledger().await?;
    let old = ledger.session(&id).await?;
    let new = fork(&ledger, &old, at.as_ref()).await?;
    match args.format {
        Format::Json => print_json(&new),
        Format::Text => print_foreign(&format!("{} {}\n", new.id, new.title)),
    }
}

/// Copies a session. The copy has cost nothing yet and is nobody's child.
pub async fn fork(ledger: &Ledger, old: &Session, at: Option<&MessageId>) -> Result<Session, Report> {
    let now = wire::now_ms();
    let new = Session {
        id: SessionId::new(),
        parent_id: None,
        title: title(&old.title),
        cost: Decimal::ZERO,
        tokens: model::budget::Tokens::default(),
        time: SessionTime { created: old.time.created, updated: now },
        ..old.clone()
    };
    if ledger.fork(&old.id, at, &new).await? {
        return Ok(new);
    }
    let what = format!("session {} holds no message {}", old.id, at.map_or("", MessageId::as_str));
    Err(Report::usage(what, "`airlock session show ID --format json` lists the messages."))
}

/// `… (fork #N)`, counted on (agent-core, section 1.7).
fn title(old: &str) -> String {
    let counted = old.strip_suffix(')').and_then(|t| t.rsplit_once(" (fork #"));
    match counted.and_then(|(base, n)| Some((base, n.parse::<u32>().ok()?))) {
        Some((base, n)) => format!("{base} (fork #{})", n.saturating_add(1)),
        None => format!("{old} (fork #1)"),
    }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn forks_are_counted() {
        for (old, new) in [
            ("fix it", "fix it (fork #1)"),
            ("fix it (fork #1)", "fix it (fork #2)"),
            ("fix it (fork #9)", "fix it (fork #10)"),
            ("fix (fork #x)", "fix (fork #x) (fork #1)"),
        ] {
            assert_eq!(title(old), new);
        }
    }
}
