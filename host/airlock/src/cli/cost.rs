//! `airlock session cost`: what was paid, in all, and by model, agent and session.

use super::session::{ledger, parse_id};
use super::{Format, columns, print_foreign, print_json};
use crate::report::Report;
use clap::Args;
use indexmap::IndexMap;
use model::budget::Tokens;
use model::spending::Spending;
use model::store::Store;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub struct CostArgs {
    /// The session, with those that its agents began; without it all sessions
    id: Option<String>,
    /// Text for people or JSON for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub async fn main(args: &CostArgs) -> Result<(), Report> {
    let id = args.id.as_deref().map(parse_id).transpose()?;
    let ledger = ledger().await?;
    if let Some(id) = &id {
        // One that is not there is told apart from one that cost nothing.
        ledger.session(id).await?;
    }
    let spent = ledger.spending(id.as_ref()).await?;
    let bill = Bill::new(&spent);
    match args.format {
        Format::Json => print_json(&bill.as_json()),
        Format::Text => print_foreign(&bill.as_text()),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    cost: Decimal,
    tokens: Tokens,
    steps: u64,
}

impl Sum {
    fn add(&mut self, s: &Spending) {
        self.cost += s.cost;
        self.tokens += s.tokens;
        self.steps += s.steps;
    }
}

#[derive(Debug, Default)]
struct Bill {
    all: Sum,
    models: IndexMap<String, Sum>,
    agents: IndexMap<String, Sum>,
    sessions: IndexMap<String, Sum>,
}

impl Bill {
    /// The dearest first.
    fn new(spent: &[Spending]) -> Self {
        let mut bill = Self::default();
        for s in spent {
            bill.all.add(s);
            bill.models.entry(s.model.to_string()).or_default().add(s);
            bill.agents.entry(s.agent.clone()).or_default().add(s);
            bill.sessions.entry(s.session.to_string()).or_default().add(s);
        }
        for part in [&mut bill.models, &mut bill.agents, &mut bill.sessions] {
            part.sort_by(|_, a, _, b| b.cost.cmp(&a.cost));
        }
        bill
    }

    fn as_json(&self) -> Value {
        let of = |name: &str, part: &IndexMap<String, Sum>| -> Vec<Value> {
            part.iter()
                .map(|(key, sum)| {
                    let mut line = sum_json(sum);
                    line[name] = key.as_str().into();
                    line
                })
                .collect()
        };
        let mut all = sum_json(&self.all);
        all["models"] = of("model", &self.models).into();
        all["agents"] = of("agent", &self.agents).into();
        all["sessions"] = of("sessionID", &self.sessions).into();
        all
    }

    fn as_text(&self) -> String {
        let mut rows = vec![row("total", "", &self.all)];
        for (kind, part) in [("model", &self.models), ("agent", &self.agents), ("session", &self.sessions)] {
            rows.extend(part.iter().map(|(key, sum)| row(kind, key, sum)));
        }
        columns(&rows)
    }
}

fn sum_json(sum: &Sum) -> Value {
    json!({ "cost": sum.cost.to_f64().unwrap_or_default(), "tokens": sum.tokens, "steps": sum.steps })
}

fn row(kind: &str, name: &str, sum: &Sum) -> Vec<String> {
    let t = &sum.tokens;
    vec![
        kind.into(),
        name.into(),
        format!("${}", sum.cost.normalize()),
        format!("{} requests", sum.steps),
        format!("{} in", t.input),
        format!("{} cached", t.cache.read),
        format!("{} written", t.cache.write),
        format!("{} out", t.output),
        format!("{} reasoning", t.reasoning),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::SessionId;
    use model::provider::ModelRef;

    #[test]
    fn the_parts_of_a_bill_add_up_to_it() {
        let (a, b) = (SessionId::new(), SessionId::new());
        let spending = |session: &SessionId, agent: &str, model: &str, cost: &str| Spending {
            session: session.clone(),
            agent: agent.into(),
            model: ModelRef::parse(model).unwrap(),
            cost: cost.parse().unwrap(),
            tokens: Tokens { input: 5, ..Tokens::default() },
            steps: 2,
        };
        let bill = Bill::new(&[
            spending(&a, "build", "p/m", "0.1"),
            spending(&a, "plan", "p/n", "0.2"),
            spending(&b, "build", "p/m", "0.4"),
        ]);
        let json = bill.as_json();
        assert_eq!((json["cost"].as_f64(), json["steps"].as_u64()), (Some(0.7), Some(6)));
        for part in ["models", "agents", "sessions"] {
            let lines = json[part].as_array().unwrap();
            let input: u64 = lines.iter().map(|l| l["tokens"]["input"].as_u64().unwrap()).sum();
            assert_eq!((lines.len(), input), (2, 15), "{part}");
        }
        assert_eq!((&json["models"][0]["model"], json["models"][0]["cost"].as_f64()), (&json!("p/m"), Some(0.5)));
        assert_eq!(json["sessions"][0]["sessionID"], b.to_string());
        assert!(bill.as_text().starts_with("total "), "{}", bill.as_text());
    }
}
