//! What components sent over the network: one record a request, refused ones included. It holds no path, no header and no body.

use crate::id::{CallId, SessionId};
use serde::{Deserialize, Serialize};

/// One request of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egress {
    /// Sorts by time.
    pub id: String,
    #[serde(rename = "sessionID")]
    pub session: SessionId,
    #[serde(rename = "callID")]
    pub call: CallId,
    pub tool: String,
    /// BLAKE3 of the component, hex.
    pub component: String,
    /// Milliseconds since the Unix epoch.
    pub time: u64,
    pub method: String,
    /// `scheme://host[:port]`, or the text where it was none.
    pub host: String,
    /// Names of the secrets that were put in.
    pub secrets: Vec<String>,
    pub verdict: Verdict,
    /// Of the answer, once there is one.
    pub status: Option<u16>,
    /// Bytes of the body that was sent.
    pub sent: u64,
    /// Bytes of the body that came back and was read.
    pub received: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Verdict {
    /// It was permitted, and sent or tried.
    Sent,
    /// Nothing left this machine.
    Refused { why: String },
    /// It was permitted, and there was no answer.
    Failed { why: String },
}
