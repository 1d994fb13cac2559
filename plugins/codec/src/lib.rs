//! What the model adapters share. An adapter knows one protocol: how a conversation is written and what a piece of an answer means. All else
//! is here: what is written once and what with each request ([`conversation`]), which call a result answers, what the body is and where a
//! piece ends ([`Decoder`]), the events of an answer and their order ([`Blocks`]), what an error means ([`failure`]), and text that is not
//! quite JSON ([`json`], [`Loose`]).

mod adapter;
mod blocks;
mod body;
mod decoder;
mod ink;
mod loose;
mod pieces;
mod tail;
mod think;

pub mod catalogue;
pub mod conversation;
pub mod failure;
pub mod files;
pub mod frame;
pub mod host;
pub mod ids;
pub mod json;
pub mod openai;
pub mod options;

pub use adapter::info;
pub use blocks::{Blocks, Kind};
pub use body::Shape;
pub use conversation::{Answered, Growing, INTERRUPTED, Protocol};
pub use decoder::{Answer, Decoder, Place, Read};
pub use frame::Frame;
pub use ids::{CallIds, Seed};
pub use ink::{Ink, LEFT_OUT, Room};
pub use json::Unreadable;
pub use loose::{Loose, count};
pub use tail::{Item, Said, Tail, Whole};
pub use think::{Think, Thinking};
