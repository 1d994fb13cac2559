//! `[storage]`: how much the ledger keeps.

use super::error::ConfigError;
use super::read::Node;
use store::Retention;

const STORAGE: &[&str] = &["keep_days", "max_sessions", "journal_bytes"];

/// What is not said stays as it is by default: sessions are kept for good, contents of the journal up to 1 GiB.
pub fn read(node: &Node<'_>) -> Result<Retention, ConfigError> {
    let table = node.table()?;
    table.only(STORAGE)?;
    Ok(Retention {
        keep_days: table.read("keep_days", some)?,
        max_sessions: table.read("max_sessions", some)?,
        journal_bytes: table.read("journal_bytes", bytes)?.unwrap_or(Retention::default().journal_bytes),
    })
}

/// A bound of none would remove everything.
fn some(node: &Node<'_>) -> Result<u32, ConfigError> {
    match node.count()? {
        0 => Err(node.bad("that would keep nothing", "Use 1 or more, or leave it out to keep everything.")),
        n => Ok(n),
    }
}

/// A number of bytes, or a text such as `512MiB`.
pub(super) fn bytes(node: &Node<'_>) -> Result<u64, ConfigError> {
    let text = if node.value().is_str() { node.text()? } else { node.number()?.to_owned() };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: Option<u64> = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        _ => None,
    };
    let number: Option<u64> = digits.trim().replace('_', "").parse().ok();
    let size = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    size.ok_or_else(|| node.bad(format!("`{text}` is no size"), "Write it in bytes, or as \"512MiB\"."))
}
