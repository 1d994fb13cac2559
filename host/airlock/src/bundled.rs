//! The components that are part of the program, as the build script made them.

use runtime::{Bundled, Learnt};

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
