//! `airlock permission list|revoke`: what was answered with *always*, and how it is taken back.

use super::{Format, Ground, Listing, columns, print_foreign, print_json};
use crate::report::Report;
use crate::wire;
use clap::{Args, Subcommand};
use model::permission::Rule;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum PermissionCommand {
    /// List what was approved for good in this repository
    List(ListArgs),
    /// Take approvals of this repository back
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Of every repository
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    listing: Listing,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// As `permission list` prints them; without a pattern, all of that permission
    #[arg(value_name = "PERMISSION[:PATTERN]", required_unless_present = "all")]
    rules: Vec<String>,
    /// Everything that was approved in this repository
    #[arg(long, conflicts_with = "rules")]
    all: bool,
    #[command(flatten)]
    listing: Listing,
}

pub async fn main(command: &PermissionCommand) -> Result<(), Report> {
    match command {
        PermissionCommand::List(args) => list(args).await,
        PermissionCommand::Revoke(args) => revoke(args).await,
    }
}

async fn list(args: &ListArgs) -> Result<(), Report> {
    let ground = Ground::of(&args.listing)?;
    let here = |worktree: &Path| args.all || worktree == ground.place.worktree;
    let mut approvals = wire::ledger(&ground.paths)?.all_approvals().await?;
    approvals.retain(|(worktree, _)| here(worktree));
    match args.listing.format {
        Format::Json => approvals.iter().try_for_each(|(worktree, rule)| {
            print_json(&json!({ "permission": rule.permission, "pattern": rule.pattern, "worktree": worktree }))
        }),
        Format::Text => print_foreign(&columns(&approvals.iter().map(|a| row(a, args.all)).collect::<Vec<_>>())),
    }
}

fn row((worktree, rule): &(PathBuf, Rule), with_place: bool) -> Vec<String> {
    let place = with_place.then(|| worktree.display().to_string());
    [format!("{}:{}", rule.permission, rule.pattern)].into_iter().chain(place).collect()
}

async fn revoke(args: &RevokeArgs) -> Result<(), Report> {
    let ground = Ground::of(&args.listing)?;
    let ledger = wire::ledger(&ground.paths)?;
    let worktree = &ground.place.worktree;
    let mut gone = 0;
    if args.all {
        gone = ledger.revoke(worktree, None, None).await?;
    }
    for text in &args.rules {
        let (permission, pattern) = split(text);
        let some = ledger.revoke(worktree, Some(permission), pattern).await?;
        if some == 0 {
            let what = format!("`{text}` was not approved in {}", worktree.display());
            return Err(Report::usage(what, "`airlock permission list` shows what was."));
        }
        gone += some;
    }
    match args.listing.format {
        Format::Json => print_json(&json!({ "revoked": gone })),
        Format::Text => print_foreign(&format!("revoked: {gone}\n")),
    }
}

/// A pattern may hold colons itself.
fn split(text: &str) -> (String, Option<String>) {
    let (permission, pattern) = text.split_once(':').map_or((text, None), |(p, w)| (p, Some(w)));
    (permission.to_owned(), pattern.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_colon_parts() {
        for (text, want) in [
            ("bash", ("bash", None)),
            ("bash:git push origin a:b", ("bash", Some("git push origin a:b"))),
            ("net:http://x:80/*", ("net", Some("http://x:80/*"))),
        ] {
            assert_eq!(split(text), (want.0.to_owned(), want.1.map(str::to_owned)));
        }
    }
}
