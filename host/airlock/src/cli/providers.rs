//! `airlock providers`: what can stand before the slash, and where each key is looked for. Keys themselves are never shown.

use super::config::source;
use super::{Format, Ground, Listing, columns, print, print_json};
use crate::config::file::KeySource;
use crate::config::keys::Keys;
use crate::config::providers::{ADAPTER, KNOWN, LOCAL, OFFLINE};
use crate::config::{Config, probe};
use crate::report::Report;
use futures::future::join_all;
use serde_json::json;

struct Row {
    name: String,
    adapter: String,
    base_url: String,
    key: Option<KeySource>,
}

pub async fn main(args: &Listing) -> Result<(), Report> {
    let ground = Ground::of(args)?;
    ground.print_notices();
    let rows = join_all(rows(&ground.config).into_iter().map(|r| looked_at(r, &ground.keys))).await;
    match args.format {
        Format::Json => rows.iter().try_for_each(|(r, state)| {
            print_json(&json!({
                "id": r.name, "adapter": r.adapter, "base_url": r.base_url,
                "key": key(r, &ground.keys), "ready": *state == State::Ready, "state": state.word(),
            }))
        }),
        Format::Text => {
            print(&columns(&rows.iter().map(|(r, state)| cells(r, *state, &ground.keys)).collect::<Vec<_>>()))
        }
    }
}

/// Whether a provider can be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Its key is not where it should be.
    NotSet,
    /// Nothing listens where its server should be.
    NoAnswer,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotSet => "not set",
            Self::NoAnswer => "no answer",
        }
    }
}

/// A server of this machine is knocked at; services elsewhere are not asked just for a list.
async fn looked_at(row: Row, keys: &Keys) -> (Row, State) {
    let state = match probe::port(&row.base_url) {
        _ if !has_key(&row, keys) => State::NotSet,
        Some(port) if !probe::listens(port).await => State::NoAnswer,
        _ => State::Ready,
    };
    (row, state)
}

fn cells(r: &Row, state: State, keys: &Keys) -> Vec<String> {
    let key = key(r, keys).unwrap_or_else(|| "no key needed".into());
    vec![r.name.clone(), state.word().into(), r.adapter.clone(), r.base_url.clone(), key]
}

/// Where the key is taken from, or should lie.
fn key(r: &Row, keys: &Keys) -> Option<String> {
    let named = r.key.as_ref().filter(|k| keys.sources().is_there(k));
    let kept = || keys.key(&r.name).map(|_| format!("kept in {}", keys.path().display()));
    named.map(source).or_else(kept).or_else(|| r.key.as_ref().map(source))
}

fn has_key(r: &Row, keys: &Keys) -> bool {
    r.key.as_ref().is_none_or(|k| keys.sources().is_there(k) || keys.key(&r.name).is_some())
}

/// A configured provider takes the place of the one that is known by its name.
fn rows(config: &Config) -> Vec<Row> {
    let configured = config.providers.iter().map(|(name, p)| Row {
        name: name.clone(),
        adapter: p.adapter.clone(),
        base_url: p.base_url.clone().unwrap_or_default(),
        key: p.key.clone(),
    });
    let known = KNOWN.iter().map(|k| Row {
        name: k.id.into(),
        adapter: k.adapter.into(),
        base_url: k.base_url.into(),
        key: Some(KeySource::Env(k.variable.into())),
    });
    let local =
        LOCAL.iter().map(|l| Row { name: l.id.into(), adapter: ADAPTER.into(), base_url: l.base_url(), key: None });
    let offline = Row { name: OFFLINE.into(), adapter: OFFLINE.into(), base_url: String::new(), key: None };
    let built_in = known.chain(local).chain([offline]).filter(|r| !config.providers.contains_key(&r.name));
    configured.chain(built_in).collect()
}
