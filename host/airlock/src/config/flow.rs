//! `[flow]`: what is asked or denied once something of a kind was read: `"web -> net" = "ask"`.

use super::error::ConfigError;
use super::read::Node;
use super::rules;
use model::flow::FlowRule;

const NEXT: &str = "Write `source -> permission`, such as \"web -> net\" = \"ask\".";

/// In the order written.
pub fn read(node: &Node<'_>) -> Result<Vec<FlowRule>, ConfigError> {
    node.table()?.entries().map(|(text, n)| rule(text, &n)).collect()
}

fn rule(text: &str, node: &Node<'_>) -> Result<FlowRule, ConfigError> {
    FlowRule::parse(text, rules::action(node)?).map_err(|why| node.bad(why, NEXT))
}
