//! Any other component: its exported functions become tools by reflection. Names, schemas and the JSON of values follow what other
//! hosts of such components use, so that a component written for them runs unchanged; where their conversion loses something,
//! both its shape and a better one are taken.
//!
//! All but [`Tool::call`] is pure: types become [`Shape`]s once, and values are converted along them.

mod docs;
mod input;
mod misfit;
mod name;
mod output;
mod reflect;
mod schema;
mod shape;
mod tool;

#[cfg(test)]
mod tests;

pub use docs::Docs;
pub use reflect::{Reflected, reflect};
pub use tool::{Returned, Tool};
