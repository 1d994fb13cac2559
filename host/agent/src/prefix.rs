//! The system blocks of a session, frozen when it first speaks with an agent and a model, so that every later request begins with
//! the same bytes, also after a restart. They lie with the message that they were first sent before; what changes later (an edited
//! `AGENTS.md`) is told in the message that comes next.

use crate::prompt::system;
use model::hook::{Hooks, TurnContext};
use model::message::{PartBody, PrefixPart, TextPart, WithParts};
use model::profile::Profile;
use model::session::Session;
use model::tool_state::Metadata;
use serde_json::Value;
use std::sync::Arc;

/// Key, in the metadata of a text of the host's, of the source that it speaks of.
const SOURCE: &str = "source";
/// Key of what the source held then.
const HASH: &str = "hash";

/// A block of standing instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it comes from: a path, or a word such as `skills`.
    pub source: String,
    pub text: String,
}

/// What a run begins with.
pub(crate) struct Prefix {
    pub blocks: Vec<Arc<str>>,
    /// For the next user message.
    pub news: Vec<PartBody>,
    /// The blocks were made now, and have to be stored.
    pub is_fresh: bool,
}

/// The frozen blocks of this session, agent and model with what has changed since; new ones where there are none.
pub(crate) async fn freeze(
    session: &Session,
    profile: &Profile,
    instructions: &[Instruction],
    history: &[WithParts],
    hooks: &dyn Hooks,
) -> Prefix {
    if let Some(frozen) = frozen(history, profile, session) {
        let blocks = frozen.blocks.iter().map(|b| b.as_str().into()).collect();
        return Prefix { blocks, news: changes(frozen, instructions, history), is_fresh: false };
    }
    let texts: Vec<String> = instructions.iter().map(|i| i.text.clone()).collect();
    let context =
        TurnContext { session: session.id.clone(), agent: profile.name.clone(), model: session.model.clone() };
    let blocks = hooks.system(&context, system(session, profile, &texts)).await;
    let part = PrefixPart {
        agent: profile.name.clone(),
        model: session.model.clone(),
        blocks: blocks.clone(),
        sources: instructions.iter().map(|i| (i.source.clone(), hash(&i.text))).collect(),
    };
    let blocks = blocks.iter().filter(|b| !b.trim().is_empty()).map(|b| b.as_str().into()).collect();
    Prefix { blocks, news: vec![PartBody::Prefix(part)], is_fresh: true }
}

/// The newest one counts: another agent or model in between begins with blocks of its own.
fn frozen<'h>(history: &'h [WithParts], profile: &Profile, session: &Session) -> Option<&'h PrefixPart> {
    bodies(history).find_map(|b| match b {
        PartBody::Prefix(p) if p.agent == profile.name && p.model == session.model => Some(p),
        _ => None,
    })
}

/// Newest first.
fn bodies(history: &[WithParts]) -> impl Iterator<Item = &PartBody> {
    history.iter().rev().flat_map(|m| m.parts.iter().rev()).map(|p| &p.body)
}

fn changes(frozen: &PrefixPart, now: &[Instruction], history: &[WithParts]) -> Vec<PartBody> {
    let is_known = |source: &str| now.iter().any(|i| i.source == source);
    let gone = known_sources(frozen, history).into_iter().filter(|s| !is_known(s));
    let gone: Vec<PartBody> = gone
        .filter(|s| last_told(frozen, history, s).is_some_and(|h| !h.is_null()))
        .map(|s| told(&s, Value::Null, format!("The instructions from {s} hold no longer.")))
        .collect();
    let changed = now.iter().filter(|i| last_told(frozen, history, &i.source) != Some(&hash(&i.text)));
    let changed =
        changed.map(|i| told(&i.source, hash(&i.text), format!("These instructions hold from now on.\n{}", i.text)));
    changed.chain(gone).collect()
}

fn told(source: &str, hash: Value, text: String) -> PartBody {
    let metadata = Metadata::from_iter([(SOURCE.into(), source.into()), (HASH.into(), hash)]);
    PartBody::Text(TextPart { text, synthetic: true, time: None, metadata })
}

fn known_sources(frozen: &PrefixPart, history: &[WithParts]) -> Vec<String> {
    let later = bodies(history).filter_map(|b| told_of(b)).map(|(source, _)| source.to_owned());
    let mut all: Vec<String> = frozen.sources.keys().cloned().chain(later).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What the source held when the model was last told of it; null = that it is gone.
fn last_told<'h>(frozen: &'h PrefixPart, history: &'h [WithParts], source: &str) -> Option<&'h Value> {
    let later = bodies(history).filter_map(|b| told_of(b)).find(|(s, _)| *s == source);
    later.map(|(_, hash)| hash).or_else(|| frozen.sources.get(source))
}

fn told_of(body: &PartBody) -> Option<(&str, &Value)> {
    let PartBody::Text(text) = body else { return None };
    Some((text.metadata.get(SOURCE)?.as_str()?, text.metadata.get(HASH)?))
}

fn hash(text: &str) -> Value {
    blake3::hash(text.as_bytes()).to_hex().as_str().into()
}

#[cfg(test)]
mod tests;
