//! The boundary: components, what they are linked to, and the single funnel of every act.

mod anatomy;
mod bounds;
pub mod caps;
mod codec;

mod compile;
mod conversation;
mod demand;
mod describe;
mod destination;
mod engine;
mod error;
mod fault;
mod guest_log;
mod hooks;
mod http;
mod instance;
mod library;
mod linker;
mod loader;
mod manifest;
mod nobody;
mod once;
mod open;
mod provider;
mod registry;
mod secret;
mod state;
mod tape;
mod text_calls;
mod tools;
mod v0_1;
mod vault;
mod veil;

pub use error::RuntimeError;
pub use hooks::HookUse;
pub use http::HttpOptions;
pub use library::{Bundled, CompileNotice, Learnt};
pub use manifest::Manifest;
pub use open::{Runtime, RuntimeOptions};
pub use provider::ProviderConfig;
pub use registry::{HookPoint, PluginInfo, ProviderInfo};
pub use secret::Secret;
pub use tape::{StandIn, Tape, TapeError};
