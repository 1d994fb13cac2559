//! The decoder against field reports, recorded streams, each known quirk, and noise.

mod cases;
mod decoder;
mod fold;
