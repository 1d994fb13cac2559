//! Providers that need no config: a key in the environment, or a server on this machine, is enough.

/// A service at an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Name used in `provider/model`.
    pub id: &'static str,
    /// The adapter that speaks to it.
    pub adapter: &'static str,
    pub variable: &'static str,
    pub base_url: &'static str,
    /// Taken where a key is set and no model is named.
    pub model: &'static str,
}

/// The adapter of most of these, and of the servers on this machine.
pub const ADAPTER: &str = "openai-chat";

const fn known(id: &'static str, variable: &'static str, base_url: &'static str, model: &'static str) -> Known {
    Known { id, adapter: ADAPTER, variable, base_url, model }
}

const fn through(adapter: &'static str, known: Known) -> Known {
    Known { adapter, ..known }
}

/// In the order in which their keys are looked for.
pub const KNOWN: &[Known] = &[
    known("openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-5.1"),
    through(
        "openai-responses",
        known("openai-responses", "OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-6.1-sol"),
    ),
    through("anthropic", known("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com", "claude-sonnet-5-5")),
    known("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "openrouter/auto"),
    known("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek-chat"),
    known("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    known("mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1", "mistral-large-latest"),
    known("xai", "XAI_API_KEY", "https://api.x.ai/v1", "grok-4"),
    known("cerebras", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1", "gpt-oss-120b"),
    known(
        "fireworks",
        "FIREWORKS_API_KEY",
        "https://api.fireworks.ai/inference/v1",
        "accounts/fireworks/models/gpt-oss-120b",
    ),
    known("together", "TOGETHER_API_KEY", "https://api.together.xyz/v1", "openai/gpt-oss-120b"),
    known("moonshot", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1", "kimi-latest"),
    through(
        "gemini",
        known("gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com", "gemini-3.8-flash"),
    ),
    // The other name that Google's own libraries look for.
    through(
        "gemini",
        known("google", "GOOGLE_API_KEY", "https://generativelanguage.googleapis.com", "gemini-3.8-flash"),
    ),
    known("zai", "ZAI_API_KEY", "https://api.z.ai/api/paas/v4", "glm-4.6"),
];

/// A model server that people run on their own machine, by its usual port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    pub id: &'static str,
    pub port: u16,
}

/// In the order of preference where several answer.
pub const LOCAL: &[Local] = &[
    Local { id: "ollama", port: 11434 },
    Local { id: "llama-cpp", port: 8080 },
    Local { id: "lm-studio", port: 1234 },
    Local { id: "vllm", port: 8000 },
];

impl Local {
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

/// The provider of the bundled model that needs nothing.
pub const OFFLINE: &str = "offline";
/// Its model: looks around with the reading tools and reports.
pub const OFFLINE_MODEL: &str = "explorer";
