//! Fakes of the ports: a scripted provider that holds every request against the law, tools that say when they ran, a ledger in
//! memory. Time is virtual.

pub(crate) mod history;
pub(crate) mod programs;
pub(crate) mod provider;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod tools;
pub(crate) mod undo;

use model::budget::Tokens;
use model::id::SessionId;
use model::permission::Reach;
use model::profile::{AgentMode, Profile};
use model::provider::ModelRef;
use model::session::{Session, SessionTime};
use rust_decimal::Decimal;

pub(crate) fn profile() -> Profile {
    Profile {
        name: "build".into(),
        origin: "test".into(),
        description: None,
        mode: AgentMode::Primary,
        prompt: None,
        tools: None,
        rules: vec![],
        reach: Reach::Full,
        model: None,
        temperature: None,
        steps: None,
    }
}

pub(crate) fn model_ref() -> ModelRef {
    ModelRef { provider: "test".into(), model: "m".into() }
}

pub(crate) fn session() -> Session {
    Session {
        id: SessionId::new(),
        parent_id: None,
        summary: None,
        labels: model::flow::Labels::default(),
        title: String::new(),
        directory: "/w".into(),
        worktree: "/w".into(),
        agent: "build".into(),
        model: model_ref(),
        version: "0".into(),
        cost: Decimal::ZERO,
        tokens: Tokens::default(),
        time: SessionTime { created: 0, updated: 0 },
    }
}
