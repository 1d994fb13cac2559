//! Models as people write them: descriptions with limits and prices, references, short names.

use super::error::ConfigError;
use super::read::{Node, Table, nearest};
use indexmap::IndexMap;
use model::price::{Price, Rates, Tier};
use model::provider::{Model, ModelRef};
use rust_decimal::Decimal;

/// Short names, each for one model.
pub type Aliases = IndexMap<String, ModelRef>;

const MODEL: &[&str] = &["id", "name", "context", "output", "price", "tools", "reasoning", "images"];
const PRICE: &[&str] = &["input", "output", "cache_read", "cache_write", "tiers"];
const TIER: &[&str] = &["above", "input", "output", "cache_read", "cache_write"];

/// How much a model thinks before it answers: what may stand behind a model's name, as in `openai/gpt-5.1:high`. A closed list, since
/// names of models hold colons of their own (`qwen3:8b`).
pub const VARIANTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// A model's name without its variant, and the variant.
#[must_use]
pub fn split_variant(id: &str) -> (&str, Option<&str>) {
    match id.rsplit_once(':') {
        Some((name, variant)) if !name.is_empty() && VARIANTS.contains(&variant) => (name, Some(variant)),
        _ => (id, None),
    }
}

/// The model with this variant in place of its own.
#[must_use]
pub fn with_variant(model: &ModelRef, variant: &str) -> ModelRef {
    let (name, _) = split_variant(&model.model);
    ModelRef { provider: model.provider.clone(), model: format!("{name}:{variant}") }
}

/// `provider/model`, or a short name.
///
/// # Errors
/// The short name that is meant, where there is one that is near.
pub fn named(text: &str, aliases: &Aliases) -> Result<ModelRef, Option<String>> {
    let (name, variant) = split_variant(text);
    let whole = aliases.get(text).cloned();
    let by_alias = || aliases.get(name).map(|m| variant.map_or(m.clone(), |v| with_variant(m, v)));
    whole
        .or_else(by_alias)
        .or_else(|| ModelRef::parse(text))
        .ok_or_else(|| nearest(name, aliases.keys().map(String::as_str)))
}

/// What to write instead of a name that is none.
#[must_use]
pub fn hint(near: Option<String>) -> String {
    near.map_or_else(
        || "Write it as \"provider/model\", or a name of [aliases].".into(),
        |near| format!("Did you mean `{near}`?"),
    )
}

pub fn reference(node: &Node<'_>, aliases: &Aliases) -> Result<ModelRef, ConfigError> {
    let text = node.text()?;
    named(&text, aliases).map_err(|near| node.bad(format!("`{text}` names no provider"), hint(near)))
}

/// One entry of `[aliases]`: it stands for a model, not for another short name.
pub fn alias(node: &Node<'_>) -> Result<ModelRef, ConfigError> {
    reference(node, &Aliases::new())
}

pub fn model(node: &Node<'_>) -> Result<Model, ConfigError> {
    let table = node.table()?;
    table.only(MODEL)?;
    let id = table.need("id", "Name the model as its server does.", Node::text)?;
    let base = Model::unknown(&id);
    Ok(Model {
        name: table.read("name", Node::text)?.unwrap_or(id),
        context: table.read("context", Node::count)?.unwrap_or(base.context),
        output: table.read("output", Node::count)?.unwrap_or(base.output),
        price: table.read("price", price)?,
        tools: table.read("tools", Node::flag)?.unwrap_or(base.tools),
        reasoning: table.read("reasoning", Node::flag)?.unwrap_or(base.reasoning),
        images: table.read("images", Node::flag)?.unwrap_or(base.images),
        ..base
    })
}

fn price(node: &Node<'_>) -> Result<Price, ConfigError> {
    let table = node.table()?;
    table.only(PRICE)?;
    let Rates { input, output, cache_read, cache_write } = rates(&table)?;
    let tiers = table.read("tiers", |n| n.items()?.iter().map(tier).collect())?.unwrap_or_default();
    Ok(Price { input, output, cache_read, cache_write, tiers })
}

fn tier(node: &Node<'_>) -> Result<Tier, ConfigError> {
    let table = node.table()?;
    table.only(TIER)?;
    let above =
        table.need("above", "Say beyond how many tokens of the prompt it holds: above = 200000.", Node::count)?;
    Ok(Tier { above: above.into(), rates: rates(&table)? })
}

fn rates(table: &Table<'_>) -> Result<Rates, ConfigError> {
    let one = |key: &str| Ok::<_, ConfigError>(table.read(key, decimal)?.unwrap_or_default());
    Ok(Rates {
        input: one("input")?,
        output: one("output")?,
        cache_read: one("cache_read")?,
        cache_write: one("cache_write")?,
    })
}

/// From the digits as written: money never passes through a float.
pub fn decimal(node: &Node<'_>) -> Result<Decimal, ConfigError> {
    let text = node.number()?.replace('_', "");
    let value: Option<Decimal> = text.parse().ok().or_else(|| Decimal::from_scientific(&text).ok());
    value.filter(|d| !d.is_sign_negative()).ok_or_else(|| node.bad(format!("{text} is no amount"), "Write it as 0.25."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_reference_or_a_short_name_with_or_without_a_variant() {
        let fast = ModelRef::parse("p/small").unwrap();
        let aliases =
            Aliases::from([("fast".to_owned(), fast), ("deep".into(), ModelRef::parse("p/big:high").unwrap())]);
        for (text, want) in [
            ("p/m", Ok("p/m")),
            ("p/m:high", Ok("p/m:high")),
            ("fast", Ok("p/small")),
            ("fast:low", Ok("p/small:low")),
            ("deep", Ok("p/big:high")),
            ("deep:low", Ok("p/big:low")),
            ("ollama/qwen3:8b", Ok("ollama/qwen3:8b")),
            ("fats", Err(Some("fast"))),
            ("x", Err(None)),
        ] {
            let got = named(text, &aliases).map(|m| m.to_string());
            assert_eq!(got, want.map(str::to_owned).map_err(|n| n.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn only_a_word_of_the_list_is_a_variant() {
        for (id, want) in [
            ("gpt:high", ("gpt", Some("high"))),
            ("qwen3:8b", ("qwen3:8b", None)),
            ("a:free:low", ("a:free", Some("low"))),
            (":high", (":high", None)),
        ] {
            assert_eq!(split_variant(id), want, "{id}");
        }
    }
}
