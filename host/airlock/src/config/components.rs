//! `[components]`: what all components of the owner may use at once.

use super::error::ConfigError;
use super::file::duration;
use super::read::Node;
use super::storage::bytes;
use runtime::Share;

const COMPONENTS: &[&str] = &["at_once", "memory", "wait"];

/// What is not said stays as it is by default.
pub fn read(node: &Node<'_>) -> Result<Share, ConfigError> {
    let table = node.table()?;
    table.only(COMPONENTS)?;
    let usual = Share::default();
    let memory = table.read("memory", |n| Ok(usize::try_from(bytes(n)?).unwrap_or(usize::MAX)))?;
    Ok(Share {
        instances: table.read("at_once", some)?.unwrap_or(usual.instances),
        memory: memory.unwrap_or(usual.memory),
        wait: table.read("wait", duration)?.unwrap_or(usual.wait),
    })
}

fn some(node: &Node<'_>) -> Result<usize, ConfigError> {
    match node.count()? {
        0 => Err(node.bad("then nothing could run", "Use 1 or more.")),
        n => Ok(n as usize),
    }
}
