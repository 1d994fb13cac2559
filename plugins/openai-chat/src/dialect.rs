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
    pub parameters: Parameters,
    pub thinking: Thinking,
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

/// What the schemas of tools may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameters {
    /// All of JSON Schema; it goes byte by byte.
    Any,
    /// OpenAI's part of it.
    Openai,
    /// Moonshot's part of it.
    Moonshot,
}

impl Parameters {
    pub fn rules(self) -> Option<&'static schema::Rules> {
        match self {
            Self::Any => None,
            Self::Openai => Some(&schema::OPENAI),
            Self::Moonshot => Some(&schema::MOONSHOT),
        }
    }
}

/// How a model that can think is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// It decides itself.
    AsIs,
    /// Z.ai: `thinking`, and earlier thoughts are kept.
    Zai,
    /// Alibaba: `enable_thinking`, for the models that are named as such.
    Alibaba,
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
    parameters: Parameters::Any,
    thinking: Thinking::AsIs,
    auth: Auth::Bearer,
    stream_options: true,
    cache_key: false,
    store: false,
    bridge: false,
    fixed_temperature: false,
};

const OPENAI: Dialect = Dialect {
    max_tokens: Limit::ByModel,
    fixed_temperature: true,
    cache_key: true,
    store: true,
    parameters: Parameters::Openai,
    ..COMMON
};
/// Older versions of the service refuse the cache key.
const AZURE: Dialect = Dialect { cache_key: false, store: false, auth: Auth::ApiKey, ..OPENAI };
/// Unknown fields are an error there.
const MISTRAL: Dialect = Dialect { ids: Ids::Nine, stream_options: false, bridge: true, ..COMMON };
const DEEPSEEK: Dialect = Dialect { reasoning: Reasoning::Content, schema: Schema::JsonObject, ..COMMON };
const MOONSHOT: Dialect = Dialect { reasoning: Reasoning::Content, parameters: Parameters::Moonshot, ..COMMON };
const ZAI: Dialect =
    Dialect { reasoning: Reasoning::Content, schema: Schema::JsonObject, thinking: Thinking::Zai, ..COMMON };
const ALIBABA: Dialect = Dialect { thinking: Thinking::Alibaba, ..COMMON };
const OPENROUTER: Dialect = Dialect { reasoning: Reasoning::Details, ..COMMON };
/// Servers that look for `prompt_cache_key`.
const CACHING: Dialect = Dialect { cache_key: true, ..COMMON };

/// The host, or the end of it. What is not here (Groq, Together, vLLM, SGLang, llama.cpp, LM Studio and many more) takes what most take.
const HOSTS: [(&str, Dialect); 15] = [
    ("api.openai.com", OPENAI),
    ("openai.azure.com", AZURE),
    ("services.ai.azure.com", AZURE),
    ("mistral.ai", MISTRAL),
    ("deepseek.com", DEEPSEEK),
    ("moonshot.ai", MOONSHOT),
    ("moonshot.cn", MOONSHOT),
    ("z.ai", ZAI),
    ("bigmodel.cn", ZAI),
    ("aliyuncs.com", ALIBABA),
    ("openrouter.ai", OPENROUTER),
    ("x.ai", CACHING),
    ("cerebras.ai", CACHING),
    ("deepinfra.com", CACHING),
    ("venice.ai", CACHING),
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
    parameters: Option<Parameters>,
    thinking: Option<Thinking>,
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
            parameters: self.parameters.unwrap_or(host.parameters),
            thinking: self.thinking.unwrap_or(host.thinking),
            auth: self.auth.unwrap_or(host.auth),
            stream_options: self.stream_options.unwrap_or(host.stream_options),
            cache_key: self.cache_key.unwrap_or(host.cache_key),
            store: self.store.unwrap_or(host.store),
            bridge: self.bridge.unwrap_or(host.bridge),
            fixed_temperature: self.fixed_temperature.unwrap_or(host.fixed_temperature),
        }
    }
}
