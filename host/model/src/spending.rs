//! What was paid: who asked which model, and what it came to.

use crate::budget::Tokens;
use crate::id::SessionId;
use crate::provider::ModelRef;
use rust_decimal::Decimal;

/// The requests of one agent to one model in one session, added up. Attempts that were given up count: they were paid.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    pub session: SessionId,
    pub agent: String,
    pub model: ModelRef,
    /// USD.
    pub cost: Decimal,
    pub tokens: Tokens,
    /// Requests that came to their end.
    pub steps: u64,
}
