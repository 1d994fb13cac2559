//! The one closed enum of everything observable. Only what is stored is announced; deltas are the exception that observers of a
//! live stream need.

use crate::budget::{Limit, Tokens};
use crate::id::{MessageId, PartId, SessionId};
use crate::message::{FinishReason, Message, Part};
use crate::permission::{Ask, Reply};
use crate::provider::{ModelRef, ProviderFailure};
use crate::question::{Answers, Inquiry};
use crate::session::Session;
use rust_decimal::Decimal;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub enum Event {
    SessionOpened {
        info: Session,
    },
    MessageUpdated {
        info: Message,
    },
    PartUpdated {
        part: Arc<Part>,
    },
    /// Text that was added to a text or reasoning part and not yet stored.
    PartDelta {
        message: MessageId,
        part: PartId,
        kind: DeltaKind,
        delta: String,
    },
    /// The part belongs to an attempt that was given up.
    PartDropped {
        part: Arc<Part>,
    },
    Asked {
        ask: Ask,
    },
    Answered {
        ask: Ask,
        reply: Option<Reply>,
    },
    /// The model asks the person something.
    Inquired {
        inquiry: Inquiry,
    },
    /// `None` = nobody was there to answer.
    Replied {
        inquiry: Inquiry,
        answers: Option<Answers>,
    },
    Retry {
        session: SessionId,
        attempt: u32,
        next: Duration,
        error: ProviderFailure,
    },
    /// The older part of the conversation was replaced by a summary: tokens before and after, estimated.
    Compacted {
        session: SessionId,
        before: u64,
        after: u64,
    },
    /// The model went back: so many messages left the talk, so many changes on the disk were taken back.
    Rewound {
        session: SessionId,
        messages: usize,
        files: usize,
    },
    /// Another model takes over, since this one failed for good.
    Switched {
        session: SessionId,
        from: ModelRef,
        to: ModelRef,
        error: ProviderFailure,
    },
    Failed {
        session: SessionId,
        error: ProviderFailure,
    },
    Finished {
        session: SessionId,
        outcome: RunOutcome,
    },
    /// Something of a session that came of this run's. Never nested.
    Child {
        /// Who works there.
        agent: Arc<str>,
        event: Box<Event>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    Text,
    Reasoning,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Done,
    /// After all retries.
    Failed(ProviderFailure),
    Internal(String),
    /// A person said no, or nobody was there to answer.
    Denied(String),
    Limit(Limit),
    /// The model went round in circles, and nobody was there to let it: what it repeated.
    Looped(String),
    Interrupted,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    pub ending: Ending,
    pub finish: FinishReason,
    /// Text of the last assistant message.
    pub text: String,
    pub cost: Decimal,
    pub tokens: Tokens,
    pub steps: u32,
}

/// Whoever watches. Must not block for long: it stands in the way of the loop.
pub trait EventSink: Send + Sync {
    fn emit(&self, event: Event);
}
