//! Write Airlock plugins in Rust.
//!
//! A plugin is a library crate of type `cdylib`. It implements one of the traits here on a type of its own and names that type in a macro:
//!
//! | What | Trait | Macro | Target |
//! | --- | --- | --- | --- |
//! | tools for the model | [`Tool`] | [`tool_plugin!`] | `wasm32-wasip2` |
//! | a model adapter | [`Provider`](provider::Provider) | [`provider_plugin!`] | `wasm32-unknown-unknown` |
//! | a hook | [`TextComplete`], [`ToolBefore`], [`ToolAfter`], [`Guard`], and those in [`hooks`] | [`hook_plugin!`] | either |
//!
//! The glue exists for a wasm target only. For the machine that you work on the crate is plain Rust, so that tests need no host.
//!
//! ```
//! use airlock::{CallContext, Tool, ToolFailure, ToolOutput, ToolSpec};
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! struct Count;
//!
//! #[derive(Deserialize)]
//! struct Input {
//!     text: String,
//! }
//!
//! impl Tool for Count {
//!     type Input = Input;
//!
//!     fn spec() -> ToolSpec {
//!         ToolSpec::new("count", "Counts the words of a text.", json!({
//!             "type": "object",
//!             "properties": { "text": { "type": "string" } },
//!             "required": ["text"],
//!         }))
//!         .read_only()
//!     }
//!
//!     fn call(_: &CallContext, input: Input) -> Result<ToolOutput, ToolFailure> {
//!         Ok(ToolOutput::text(input.text.split_whitespace().count().to_string()))
//!     }
//! }
//!
//! airlock::tool_plugin! { Count }
//! # fn main() {}
//! ```

mod hook;
mod manifest;
mod number;
mod tool;

pub mod calls;
pub mod host;
pub mod provider;
pub mod sse;

pub use hook::points as hooks;
pub use hook::{Guard, TextComplete, TextContext, ToolAfter, ToolBefore, ToolView};
#[doc(hidden)]
pub use manifest::is_plain;
pub use number::whole;
pub use tool::{
    Annotations, Attachment, CallContext, Scope, ScopeKind, Tool, ToolFailure, ToolOutput, ToolSpec, call_json,
};

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));

/// For the macros of this crate.
#[doc(hidden)]
pub mod __private {
    pub use serde_json;
    pub use wit_bindgen;
}
