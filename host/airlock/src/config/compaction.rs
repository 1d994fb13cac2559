//! `[compaction]`: what happens to a conversation that fills the model's window.

use super::error::ConfigError;
use super::read::Node;
use agent::CompactionOptions;

const KEYS: &[&str] = &["auto", "prune", "tail_turns", "preserve_recent_tokens", "reserved"];

/// What is not said stays at its default.
pub(super) fn read(node: &Node<'_>) -> Result<CompactionOptions, ConfigError> {
    let table = node.table()?;
    table.only(KEYS)?;
    let otherwise = CompactionOptions::default();
    Ok(CompactionOptions {
        auto: table.read("auto", Node::flag)?.unwrap_or(otherwise.auto),
        prune: table.read("prune", Node::flag)?.unwrap_or(otherwise.prune),
        tail_turns: table.read("tail_turns", Node::count)?.unwrap_or(otherwise.tail_turns),
        preserve_recent_tokens: table.read("preserve_recent_tokens", Node::count)?.map(u64::from),
        reserved: table.read("reserved", Node::count)?.map(u64::from),
    })
}
