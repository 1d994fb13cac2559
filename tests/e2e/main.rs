//! The built binary, end to end. One file an area.

mod adapters;
mod answers;
mod attempts;
mod bad_input;
mod canary;
mod cases_a;
mod cases_b;
mod cases_c;
mod cases_e;
mod cases_f;
mod cases_i;
mod cassettes;
mod catalogue;
mod cli;
mod crash;
mod fallback;
mod family;
mod inputs;
mod keys;
mod network;
mod permissions;
mod plugins;
mod providers;
mod undo;
mod webfetch;
