//! What every adapter is made of.

use airlock::provider::{ModelInfo, ProviderInfo};

/// What an adapter says of itself. Its one key has the adapter's name and `env` for the environment.
#[must_use]
pub fn info(id: &str, name: &str, secret: &str, base_url: &str, models: Vec<ModelInfo>) -> ProviderInfo {
    let env = serde_json::json!({"env": {secret: format!("{}_API_KEY", secret.to_uppercase())}});
    ProviderInfo {
        id: id.into(),
        name: name.into(),
        secrets: vec![secret.into()],
        base_url: base_url.into(),
        models,
        metadata: Some(env.to_string()),
    }
}

/// Makes an adapter of what one protocol says: how a conversation is written ([`Protocol`](crate::Protocol)), what a piece of an answer
/// means ([`Answer`](crate::Answer)), and what there is to know beforehand.
#[macro_export]
macro_rules! adapter {
    ($protocol:ty, $answer:ty, $info:path) => {
        /// The reader of one answer.
        pub type Decoder = $crate::Decoder<$answer>;

        /// A conversation that is written once.
        pub type Growing = $crate::Growing<$protocol>;

        /// The adapter.
        pub struct Codec;

        impl ::airlock::provider::Provider for Codec {
            type Decoder = Decoder;

            fn info() -> ::airlock::provider::ProviderInfo {
                $info()
            }

            fn encode(
                request: &::airlock::provider::Request,
            ) -> ::core::result::Result<::airlock::provider::HttpRequest, ::std::string::String> {
                $crate::conversation::encode::<$protocol>(request)
            }

            fn classify(
                status: u16,
                headers: &[::airlock::provider::Header],
                body: &[u8],
            ) -> ::airlock::provider::ProviderFailure {
                $crate::failure::classify(status, headers, body)
            }
        }

        ::airlock::provider_plugin! { Codec, Growing }
    };
}
