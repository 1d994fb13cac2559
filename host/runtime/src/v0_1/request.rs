//! The neutral request in the words of version 0.1, and what an adapter says of itself.

use super::bindings::codec::exports::airlock::plugin::provider as wit;
use super::codec::Encoding;
use crate::registry::ProviderInfo;
use model::price::{Price, Rates, Tier};
use model::provider::{ChatMessage, ChatPart, InlineFile, Model, Request, Role, ToolChoice};
use serde_json::Value;

impl Encoding {
    #[must_use]
    pub fn new(request: &Request, base_url: &str, secrets: Vec<String>, options: Option<String>) -> Self {
        Self(wit::Request {
            model: request.model.clone(),
            base_url: base_url.to_owned(),
            system: request.system.iter().map(ToString::to_string).collect(),
            messages: request.messages.iter().map(|m| message(m)).collect(),
            tools: request.tools.iter().map(tool).collect(),
            tool_choice: choice(&request.tool_choice),
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
            response_schema: request.response_schema.as_ref().map(ToString::to_string),
            session_id: request.session.to_string(),
            secrets,
            options,
        })
    }
}

pub(super) fn message(m: &ChatMessage) -> wit::Message {
    let role = match m.role {
        Role::User => wit::Role::User,
        Role::Assistant => wit::Role::Assistant,
        Role::Tool => wit::Role::Tool,
    };
    wit::Message { role, parts: m.parts.iter().map(part).collect() }
}

fn part(p: &ChatPart) -> wit::Part {
    match p {
        ChatPart::Text(text) => wit::Part::Text(text.clone()),
        ChatPart::Reasoning { text, opaque } => {
            wit::Part::Reasoning(wit::Reasoning { text: text.clone(), opaque: opaque.clone() })
        }
        ChatPart::File(f) => wit::Part::File(file(f)),
        ChatPart::ToolCall(c) => wit::Part::ToolCall(wit::ToolCall {
            id: c.id.to_string(),
            name: c.name.clone(),
            input: c.input.clone(),
            opaque: c.opaque.clone(),
        }),
        ChatPart::ToolResult(r) => wit::Part::ToolResult(wit::ToolResult {
            call_id: r.call_id.to_string(),
            name: r.name.clone(),
            text: r.text.clone(),
            is_error: r.is_error,
            files: r.files.iter().map(file).collect(),
        }),
    }
}

fn file(f: &InlineFile) -> wit::File {
    wit::File { mime: f.mime.clone(), name: f.name.clone(), data: f.data.clone() }
}

fn tool(t: &model::provider::ToolDecl) -> wit::ToolDecl {
    wit::ToolDecl { name: t.name.clone(), description: t.description.clone(), input_schema: t.input_schema.clone() }
}

fn choice(c: &ToolChoice) -> wit::ToolChoice {
    match c {
        ToolChoice::Auto => wit::ToolChoice::Auto,
        ToolChoice::None => wit::ToolChoice::None,
        ToolChoice::Required => wit::ToolChoice::Required,
        ToolChoice::Named(name) => wit::ToolChoice::Named(name.clone()),
    }
}

pub fn info(given: wit::ProviderInfo) -> ProviderInfo {
    ProviderInfo {
        id: given.id,
        name: given.name,
        secrets: given.secrets,
        base_url: given.base_url,
        models: given.models.into_iter().map(model).collect(),
    }
}

fn model(m: wit::ModelInfo) -> Model {
    Model {
        price: m.price.and_then(|p| price(&p, m.metadata.as_deref())),
        id: m.id,
        name: m.name,
        context: m.context,
        output: m.output,
        tools: m.tools,
        reasoning: m.reasoning,
        images: m.images,
    }
}

/// A price of which one part cannot be read is unknown as a whole: a cost that is too low would be worse than none. Prices of larger
/// prompts stand in the model's metadata, where the contract has room for growth: `{"tiers": [{"above": 200000, "input": "…", …}]}`.
fn price(p: &wit::Price, metadata: Option<&str>) -> Option<Price> {
    Some(Price {
        input: p.input.parse().ok()?,
        output: p.output.parse().ok()?,
        cache_read: p.cache_read.parse().ok()?,
        cache_write: p.cache_write.parse().ok()?,
        tiers: tiers(metadata)?,
    })
}

fn tiers(metadata: Option<&str>) -> Option<Vec<Tier>> {
    let metadata = metadata.and_then(|m| serde_json::from_str::<Value>(m).ok());
    let Some(given) = metadata.as_ref().and_then(|m| m.get("tiers")) else { return Some(Vec::new()) };
    given.as_array()?.iter().map(tier).collect()
}

fn tier(given: &Value) -> Option<Tier> {
    let rate = |name: &str| given.get(name)?.as_str()?.parse().ok();
    let rates = Rates {
        input: rate("input")?,
        output: rate("output")?,
        cache_read: rate("cache_read")?,
        cache_write: rate("cache_write")?,
    };
    Some(Tier { above: given.get("above")?.as_u64()?, rates })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metadata: Option<&str>) -> Option<Price> {
        let text = |t: &str| t.to_owned();
        let base =
            wit::Price { input: text("1.25"), output: text("10"), cache_read: text("0.125"), cache_write: text("0") };
        price(&base, metadata)
    }

    #[test]
    fn larger_prompts_have_prices_of_their_own() {
        let tiers = r#"{"tiers": [{"above": 200000, "input": "2.5", "output": "15", "cache_read": "0.25", "cache_write": "0"}]}"#;
        assert_eq!(of(None).unwrap().tiers, []);
        let tier = of(Some(tiers)).unwrap().tiers[0];
        assert_eq!((tier.above, tier.rates.output), (200_000, "15".parse().unwrap()));
        assert_eq!(of(Some(&tiers.replace("\"2.5\"", "2.5"))), None, "amounts are text, so that none is rounded");
        assert_eq!(of(Some(r#"{"other": 1}"#)).unwrap().tiers, []);
    }
}
