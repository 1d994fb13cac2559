//! The built binary, end to end. One file an area.

mod adapters;
mod answers;
mod bad_input;
mod cases_a;
mod cases_e;
mod cases_f;
mod crash;
mod keys;
mod permissions;
