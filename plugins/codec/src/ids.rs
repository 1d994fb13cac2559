//! Ids for calls that come without one. A codec has neither clock nor chance: the same bytes give the same id, others another.

/// What an id is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Seed {
    /// This seed with more mixed in (FNV-1a).
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    /// Sixteen hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:016x}", self.0)
    }

    /// The id of a call.
    #[must_use]
    pub fn call_id(self) -> String {
        format!("call_{}", self.digits())
    }
}
