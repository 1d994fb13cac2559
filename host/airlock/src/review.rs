//! A second look at an answer, by an agent that saw nothing of the work: it reads the task, the answer and the files, and names what is
//! wrong. What it names is told to the one that did the work, a few times at most.

use crate::cli::{Ground, say};
use crate::report::Report;
use crate::tui::asker::Nobody;
use crate::wire::{self, Rooms};
use agent::attempts::{share, used_by};
use agent::{Job, Ports, Prompt, RunOptions};
use model::budget::Limits;
use model::event::{Ending, Event, EventSink, RunOutcome};
use model::id::SessionId;
use model::permission::Reach;
use model::profile::{AgentMode, Profile};
use model::session::Session;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// How often the work is sent back.
const ROUNDS: u32 = 2;
/// Requests of one look.
const STEPS: u32 = 20;
/// Problems that are told at once.
const MAX_PROBLEMS: usize = 20;

const PROMPT: &str = "You review the work of another agent. You did not see how it was done: look at the files yourself, with the tools. \
Say only what you have checked and what matters: what was asked and is not done, what is wrong, what is claimed and not true. Matters of taste are no \
problems. You change nothing.";

/// What is looked at where the person gives no list.
const CHECKLIST: &str = "- Everything that the task asks for is done, and nothing besides.\n\
- What the answer says of the files is true: read them.\n\
- Code that was changed is right in the cases that the task implies, the odd ones included.\n\
- Nothing is left half done: no stubs, no debug output, no broken references.";

/// What a look comes to.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Verdict {
    pub problems: Vec<String>,
    /// From 0 to 100, where one was asked for.
    pub score: Option<u8>,
}

/// What a look is to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looking {
    ForProblems,
    /// And a score, so that attempts can be held against each other.
    ToCompare,
}

/// What the second look needs beside the run itself.
pub struct Desk<'a> {
    pub ground: &'a Ground,
    pub rooms: &'a Rooms,
    pub ports: &'a Ports,
    /// The person's own list.
    pub checklist: Option<String>,
}

/// Nobody watches the reviewer: what it finds is told.
struct Silent;

impl EventSink for Silent {
    fn emit(&self, _: Event) {}
}

impl Desk<'_> {
    /// Looks, and has the work mended, until nothing is found or the rounds are used. An answer that came to no good end is not
    /// looked at; a look that fails changes nothing.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn second_look(
        &self,
        job: Job,
        first: RunOutcome,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, Report> {
        let (begun, mut outcome) = (Instant::now(), first);
        for round in 0..=ROUNDS {
            if outcome.ending != Ending::Done || cancel.is_cancelled() {
                break;
            }
            let left = |so_far: &RunOutcome| share(&job.limits, &used_by(so_far, begun.elapsed()), 1);
            let Ok(limits) = left(&outcome) else { break };
            let asked = Job { limits, ..job.clone() };
            let (verdict, used) = self.look(&asked, &outcome.text, Looking::ForProblems, cancel).await?;
            outcome = with_costs_of(outcome, &used);
            let Some(told) = verdict.unwrap_or_default().told() else { break };
            if round == ROUNDS {
                say(&format!("the review still finds:\n{told}"));
                break;
            }
            say(&format!("the review finds:\n{told}"));
            let Ok(limits) = left(&outcome) else { break };
            let again = self.again(&job, limits, told).await?;
            let mended = agent::run(again, self.ports, cancel.clone()).await?;
            outcome = with_costs_of(mended, &outcome);
        }
        Ok(outcome)
    }

    /// Looks once and gives a score. `None` = the look came to no end.
    ///
    /// # Errors
    /// A ledger that fails.
    pub async fn compare(
        &self,
        job: &Job,
        answer: &str,
        cancel: &CancellationToken,
    ) -> Result<(Option<Verdict>, RunOutcome), Report> {
        self.look(job, answer, Looking::ToCompare, cancel).await
    }

    async fn look(
        &self,
        job: &Job,
        answer: &str,
        how: Looking,
        cancel: &CancellationToken,
    ) -> Result<(Option<Verdict>, RunOutcome), Report> {
        let reviewer = self.reviewer(job, answer, how);
        let (provider, minds) = (self.ports.provider.clone(), self.ports.minds.clone());
        let (nobody, silent) = (Arc::new(Nobody), Arc::new(Silent));
        let ports = wire::ports(self.ground, self.rooms, provider, minds, &reviewer, nobody, silent).await?;
        let outcome = agent::run(reviewer, &ports, cancel.clone()).await?;
        let verdict = match outcome.ending {
            Ending::Done => serde_json::from_str(outcome.text.trim()).ok(),
            _ => {
                say("the review came to no end; the answer stands as it is");
                None
            }
        };
        Ok((verdict, outcome))
    }

    fn reviewer(&self, job: &Job, answer: &str, how: Looking) -> Job {
        let session = Session {
            id: SessionId::new(),
            parent_id: Some(job.session.id.clone()),
            summary: None,
            labels: model::flow::Labels::default(),
            title: "Review".into(),
            agent: "review".into(),
            ..job.session.clone()
        };
        let checklist = self.checklist.as_deref().unwrap_or(CHECKLIST);
        let text = format!(
            "The task was:\n<task>\n{}\n</task>\n\nThe answer is:\n<answer>\n{answer}\n</answer>\n\nCheck these points:\n{checklist}",
            job.prompt.text
        );
        Job {
            session,
            is_new: true,
            prompt: Prompt { text, ..Prompt::default() },
            profile: profile(),
            limits: Limits { steps: Some(job.limits.steps.map_or(STEPS, |n| n.min(STEPS))), ..job.limits.clone() },
            options: RunOptions { schema: Some(schema(how)), continue_on_deny: true, ..job.options.clone() },
            ..job.clone()
        }
    }

    /// The same session, told what is wrong, with what is left of its limits.
    async fn again(&self, job: &Job, limits: Limits, told: String) -> Result<Job, Report> {
        let notes = vec![format!(
            "A reviewer looked at your work and names these problems. Mend what is right about them, then answer again in full.\n{told}"
        )];
        Ok(Job {
            session: self.ports.store.session(&job.session.id).await?,
            is_new: false,
            prompt: Prompt { notes, ..Prompt::default() },
            limits,
            ..job.clone()
        })
    }
}

impl Verdict {
    /// A line a problem; `None` where there is none.
    pub fn told(&self) -> Option<String> {
        let mut out = String::new();
        for problem in self.problems.iter().filter(|p| !p.trim().is_empty()).take(MAX_PROBLEMS) {
            let _ = writeln!(out, "- {}", problem.trim());
        }
        (!out.is_empty()).then(|| out.trim_end().to_owned())
    }
}

fn profile() -> Profile {
    Profile {
        name: "review".into(),
        origin: "built in".into(),
        description: None,
        mode: AgentMode::Primary,
        prompt: Some(PROMPT.into()),
        tools: Some(["read", "glob", "grep"].map(str::to_owned).to_vec()),
        rules: vec![],
        reach: Reach::Full,
        model: None,
        temperature: None,
        steps: Some(STEPS),
    }
}

fn schema(how: Looking) -> Value {
    let problems = json!({
        "type": "array", "items": { "type": "string" },
        "description": "One problem each, with file and line where there is one; empty if there are none",
    });
    let score = json!({
        "type": "integer", "minimum": 0, "maximum": 100,
        "description": "How much of the task is done, and done right: 0 nothing, 100 all of it",
    });
    let (properties, required) = match how {
        Looking::ForProblems => (json!({ "problems": problems }), json!(["problems"])),
        Looking::ToCompare => (json!({ "problems": problems, "score": score }), json!(["problems", "score"])),
    };
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// An outcome with what another one used.
pub fn with_costs_of(outcome: RunOutcome, other: &RunOutcome) -> RunOutcome {
    let mut tokens = outcome.tokens;
    tokens += other.tokens;
    RunOutcome { cost: outcome.cost + other.cost, tokens, steps: outcome.steps + other.steps, ..outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_without_problems_says_nothing() {
        let verdict = |json: &str| serde_json::from_str::<Verdict>(json).unwrap().told();
        assert_eq!(verdict(r#"{"problems": []}"#), None);
        assert_eq!(verdict(r#"{"problems": ["  "]}"#), None);
        assert_eq!(verdict(r#"{"problems": ["a", " b "]}"#).as_deref(), Some("- a\n- b"));
    }
}
