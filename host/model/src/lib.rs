//! What every room of the host agrees on: data, pure decisions and the ports. No I/O happens here.
//!
//! The ports ([`provider::Provider`], [`tool::Tools`], [`hook::Hooks`], [`store::Store`], [`permission::Gate`],
//! [`journal::Journal`], [`background::Background`], [`undo::UndoLedger`], [`undo::Disk`]) are implemented by rooms that do not know each other; only the binary's wiring knows them all.

pub mod address;
pub mod background;
pub mod beyond;
pub mod budget;
pub mod egress;
pub mod environment;
pub mod event;
pub mod fault;
pub mod flow;
pub mod grant;
pub mod hook;
pub mod id;
pub mod inbox;
pub mod journal;
pub mod message;
pub mod owner;
pub mod permission;
pub mod price;
pub mod profile;
pub mod provider;
pub mod question;
pub mod session;
pub mod spending;
pub mod store;
pub mod target;
pub mod tool;
pub mod tool_state;
pub mod undo;
pub mod wildcard;
