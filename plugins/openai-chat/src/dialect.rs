//! How servers differ in what they accept: one row a host. A server that is not listed gets what most understand.

use codec::host;
use serde::Deserialize;

/// What an encoder has to know of a server. Each field can be set in the provider's options, under `dialect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub max_tokens: Limit,
    pub ids: Ids,
    pub reasoning: Reasoning,
    pub schema: Schema,
    pub auth: Auth,
    /// The server takes `stream_options`; without it usage comes anyway, or not at all.
    pub stream_options: bool,
    /// The server takes `prompt_cache_key`.
    pub cache_key: bool,
    /// The server takes `store: false`.
    pub store: bool,
    /// A user's message must not follow a tool's: an assistant's comes between.
    pub bridge: bool,
    /// The server's reasoning models refuse a temperature.
    pub fixed_temperature: bool,
}

/// Name of the limit of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    #[serde(rename = "max_tokens")]
    Common,
    #[serde(rename = "max_completion_tokens")]
    Completion,
    /// `max_completion_tokens` for the reasoning models, which refuse the other.
    ByModel,
}

/// Ids of calls that the server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ids {
    Any,
    /// Exactly nine letters and digits.
    Nine,
}

/// How earlier reasoning goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    Dropped,
    /// `reasoning_content`, on every message of the assistant.
    Content,
    /// `reasoning_details`, as they came.
    Details,
}

/// How the shape of the answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schema {
    JsonSchema,
    /// The server knows `json_object` only.
    JsonObject,
}

/// Header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    Bearer,
    ApiKey,
}

const COMMON: Dialect = Dialect {
    max_tokens: Limit::Common,
    ids: Ids::Any,
    reasoning: Reasoning::Dropped,
    schema: Schema::JsonSchema,
    auth: Auth::Bearer,
    stream_options: true,
    cache_key: false,
    store: false,
    bridge: false,
    fixed_temperature: false,
};

const OPENAI: Dialect =
    Dialect { max_tokens: Limit::ByModel, fixed_temperature: true, cache_key: true, store: true, ..COMMON };
const AZURE: Dialect = Dialect { max_tokens: Limit::ByModel, fixed_temperature: true, auth: Auth::ApiKey, ..COMMON };
/// Unknown fields are an error there.
const MISTRAL: Dialect = Dialect { ids: Ids::Nine, stream_options: false, bridge: true, ..COMMON };
const DEEPSEEK: Dialect = Dialect { reasoning: Reasoning::Content, schema: Schema::JsonObject, ..COMMON };
const THINKING: Dialect = Dialect { reasoning: Reasoning::Content, ..COMMON };
const OPENROUTER: Dialect = Dialect { reasoning: Reasoning::Details, ..COMMON };

/// The host, or the end of it.
const HOSTS: [(&str, Dialect); 9] = [
    ("api.openai.com", OPENAI),
    ("openai.azure.com", AZURE),
    ("services.ai.azure.com", AZURE),
    ("mistral.ai", MISTRAL),
    ("deepseek.com", DEEPSEEK),
    ("moonshot.ai", THINKING),
    ("moonshot.cn", THINKING),
    ("z.ai", THINKING),
    ("openrouter.ai", OPENROUTER),
];

impl Dialect {
    pub fn of(base_url: &str) -> Self {
        let host = host::of(base_url);
        let listed = HOSTS.iter().find(|(name, _)| host::is_in(&host, name));
        listed.map_or(COMMON, |(_, dialect)| *dialect)
    }

    /// The fields of `given` over those of the host.
    pub fn with(self, given: &serde_json::Value) -> Result<Self, String> {
        let overrides: Overrides =
            serde_json::from_value(given.clone()).map_err(|e| format!("options.dialect: {e}"))?;
        Ok(overrides.over(self))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Overrides {
    max_tokens: Option<Limit>,
    ids: Option<Ids>,
    reasoning: Option<Reasoning>,
    schema: Option<Schema>,
    auth: Option<Auth>,
    stream_options: Option<bool>,
    cache_key: Option<bool>,
    store: Option<bool>,
    bridge: Option<bool>,
    fixed_temperature: Option<bool>,
}

impl Overrides {
    fn over(self, host: Dialect) -> Dialect {
        Dialect {
            max_tokens: self.max_tokens.unwrap_or(host.max_tokens),
            ids: self.ids.unwrap_or(host.ids),
            reasoning: self.reasoning.unwrap_or(host.reasoning),
            schema: self.schema.unwrap_or(host.schema),
            auth: self.auth.unwrap_or(host.auth),
            stream_options: self.stream_options.unwrap_or(host.stream_options),
            cache_key: self.cache_key.unwrap_or(host.cache_key),
            store: self.store.unwrap_or(host.store),
            bridge: self.bridge.unwrap_or(host.bridge),
            fixed_temperature: self.fixed_temperature.unwrap_or(host.fixed_temperature),
        }
    }
}
