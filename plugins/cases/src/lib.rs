//! Tests over the bundled components together; see `tests/`. The example of the README is compiled here.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
