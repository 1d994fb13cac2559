//! What the model adapters share. An adapter knows one protocol: how a conversation is written and what a piece of an answer means. All else
//! is here: what the body is and where a piece ends ([`Decoder`]), the events of an answer and their order ([`Blocks`]), what an error
//! means ([`failure`]), which call a result answers ([`turns`]), and text that is not quite JSON ([`json`], [`Loose`]).

mod blocks;
mod body;
mod decoder;
mod loose;
mod newest;
mod pieces;

pub mod catalogue;
pub mod failure;
pub mod files;
pub mod host;
pub mod ids;
pub mod json;
pub mod openai;
pub mod turns;

pub use blocks::{Blocks, Kind};
pub use body::Shape;
pub use decoder::{Answer, Decoder, Place, Read};
pub use ids::{CallIds, Seed};
pub use json::Unreadable;
pub use loose::{Loose, count};
pub use newest::{LEFT_OUT, Newest};
