//! The boundary: components, what they are linked to, and the single funnel of every act.

pub mod caps;
