//! What a session and those that it begot have spent, or all of them.

use crate::connection::Attempt;
use crate::ledger::Ledger;
use model::budget::Tokens;
use model::id::SessionId;
use model::message::StepFinishPart;
use model::provider::ModelRef;
use model::spending::Spending;
use model::store::StoreError;
use rusqlite::{Connection, Row};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What is added up together: session, agent, provider, model.
type Key = (String, String, String, String);

#[derive(Default)]
struct Sum {
    cost: Decimal,
    tokens: Tokens,
    steps: u64,
}

const OF_ALL: &str = "SELECT part.session_id, message.data ->> 'agent', message.data ->> 'providerID', message.data ->> 'modelID', part.data
   FROM part JOIN message ON message.id = part.message_id WHERE part.data ->> 'type' = 'step-finish'";

const OF_FAMILY: &str = " AND part.session_id IN (
   WITH RECURSIVE family (id) AS (SELECT ?1 UNION SELECT session.id FROM session JOIN family ON session.parent_id = family.id)
   SELECT id FROM family)";

impl Ledger {
    /// One entry a session, agent and model, in that order. With `root` its session and all below it, else all sessions. Holds the
    /// sums in memory, never the history.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn spending(&self, root: Option<&SessionId>) -> Result<Vec<Spending>, StoreError> {
        let root = root.cloned();
        let sums = self.read("add up the cost", move |db| sums(db, root.as_ref())).await?;
        let broken = |e: serde_json::Error| Attempt { what: "read a record", path: &self.path }.json(&e);
        let sums = sums.map_err(broken)?;
        Ok(sums.into_iter().filter_map(|(key, sum)| spending(key, sum)).collect())
    }
}

fn spending((session, agent, provider, model): Key, sum: Sum) -> Option<Spending> {
    let session = SessionId::parse(&session)?;
    let Sum { cost, tokens, steps } = sum;
    Some(Spending { session, agent, model: ModelRef { provider, model }, cost, tokens, steps })
}

type Sums = Result<BTreeMap<Key, Sum>, serde_json::Error>;

fn sums(db: &Connection, root: Option<&SessionId>) -> rusqlite::Result<Sums> {
    let (sql, given) = match root {
        Some(id) => (format!("{OF_ALL}{OF_FAMILY}"), vec![id.as_str()]),
        None => (OF_ALL.to_owned(), vec![]),
    };
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query(rusqlite::params_from_iter(given))?;
    let mut sums = BTreeMap::<Key, Sum>::new();
    while let Some(row) = rows.next()? {
        let (key, data) = read(row)?;
        match serde_json::from_str::<StepFinishPart>(&data) {
            Ok(step) => sums.entry(key).or_default().add(&step),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(sums))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Key, String)> {
    let text = |i| row.get::<_, Option<String>>(i).map(Option::unwrap_or_default);
    Ok(((text(0)?, text(1)?, text(2)?, text(3)?), row.get(4)?))
}

impl Sum {
    fn add(&mut self, step: &StepFinishPart) {
        self.cost += step.cost;
        self.tokens += step.tokens;
        self.steps += 1;
    }
}

#[cfg(test)]
mod tests;
