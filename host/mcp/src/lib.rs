//! Tools of a remote Model Context Protocol server, seen as one more set of tools.
//!
//! Here lies what can be said without a connection: what a server declares becomes a [`model::tool::ToolSpec`].

mod convert;
mod name;

pub use convert::{ConvertError, tool_spec};
pub use name::{MAX_NAME, Names};
