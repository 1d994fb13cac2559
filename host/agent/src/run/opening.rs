//! The beginning of a run: the session is loaded and repaired, and the prompt is written down.

use super::compact::Cause;
use super::{Job, Ports, Prompt, Run, Voice};
use crate::answer::AnswerCheck;
use crate::builtin::Workbench;
use crate::bus::Bus;
use crate::cancel::Stopper;
use crate::error::AgentError;
use crate::input::title;
use crate::nearby::Surroundings;
use crate::places::Places;
use crate::prefix;
use crate::prompt::{Frame, Settings};
use crate::repair::repair;
use crate::step::{self, Bounds, Load, Step};
use crate::subagent::{Kin, Nursery};
use crate::turn::Spent;
use model::budget::Used;
use model::hook::UserText;
use model::id::PartId;
use model::message::{Part, PartBody};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Told where a run goes on without a new prompt.
const BROKEN_OFF: &str = "Your last answer was broken off. Go on with the task.";

impl<'a> Run<'a> {
    /// Loads and repairs the session, and writes the prompt down.
    pub(super) async fn open(
        job: Job,
        ports: &'a Ports,
        places: Arc<dyn Places>,
        cancel: CancellationToken,
        kin: Kin,
        purpose: Purpose,
    ) -> Result<Self, AgentError> {
        let Job { session, is_new, prompt, profile, model, policy, limits, options, roster, offspring: _ } = job;
        let stopper = Stopper::new(cancel, limits.wall);
        let answers = AnswerCheck::new(options.schema.as_ref(), options.schema_retries)?;
        let history = if is_new { vec![] } else { ports.store.history(&session.id).await? };
        ports.gate.taint(&session.id, &session.labels);
        ports.gate.taint(&session.id, &crate::calls::flow::of_history(&history));
        let hooks = ports.hooks.as_ref();
        let surroundings =
            options.nearby.clone().map(|n| Arc::new(Surroundings::new(n, &history, &options.instructions)));
        let prefix = prefix::freeze(&session, &profile, &options.instructions, &history, hooks).await;
        let set = Settings {
            max_output_tokens: options.max_output_tokens,
            temperature: options.temperature,
            schema: options.schema.clone(),
        };
        let frame = Frame::new(&session, &profile, prefix.blocks, set);
        let voice = Voice { provider: ports.provider.clone(), model, name: session.model.clone() };
        let mut run = Self {
            ports,
            places,
            bus: Bus::new(ports.store.clone(), ports.sink.clone(), session, history),
            frame,
            voice,
            fallback: options.fallback.iter().cloned().collect(),
            // Laid out once the session is open.
            tools: Arc::new(Workbench::new(ports.tools.clone(), vec![])),
            toolset: Arc::default(),
            surroundings,
            bounds: Bounds { limits, profile_steps: profile.steps },
            nursery: Nursery::new(kin.clone(), &stopper),
            kin,
            switch: Arc::default(),
            wish: Arc::default(),
            roster,
            policy,
            stopper,
            answers,
            agent: profile.name.clone(),
            profile,
            schema: options.schema.clone(),
            continue_on_deny: options.continue_on_deny,
            retry: options.retry.clone(),
            options,
            steps: 0,
            spent: Spent::default(),
            pardons: 0,
            pardoned: None,
            stops: 0,
        };
        let news = News { parts: prefix.news, is_fresh: prefix.is_fresh };
        run.mend(is_new).await?;
        match purpose {
            Purpose::Work => run.begin(prompt, is_new, news).await?,
            Purpose::Summary => run.begin_summary(news)?,
        }
        run.bus.open().await?;
        run.equip().await;
        Ok(run)
    }

    /// Closes what an earlier run left open.
    async fn mend(&mut self, is_new: bool) -> Result<(), AgentError> {
        let repairs = repair(self.bus.transcript().messages(), self.ports.clock.now_ms());
        self.bus.stage(&repairs);
        if !is_new {
            self.close_family().await?;
            self.tell_lost();
            self.ports.inbox.put_back(&self.bus.session().id).await?;
        }
        Ok(())
    }

    /// A prompt that nobody has answered is work that goes on after the summary.
    fn begin_summary(&mut self, news: News) -> Result<(), AgentError> {
        if self.bus.transcript().prompt().is_none() {
            return Err(AgentError::NothingToAnswer(self.bus.session().id.clone()));
        }
        self.attach(news);
        self.ask_summary(if self.is_open() { Cause::Crowded } else { Cause::Wanted });
        Ok(())
    }

    async fn begin(&mut self, prompt: Prompt, is_new: bool, news: News) -> Result<(), AgentError> {
        let now = self.ports.clock.now_ms();
        let is_empty = prompt.text.trim().is_empty() && prompt.files.is_empty() && prompt.notes.is_empty();
        if is_empty && self.bus.transcript().prompt().is_none() && !self.has_letters().await? {
            return Err(AgentError::NothingToAnswer(self.bus.session().id.clone()));
        }
        let named = title(&prompt.text).filter(|_| self.bus.session().title.is_empty());
        if is_new || !is_empty {
            self.bus.edit_session(|s| {
                s.time.updated = now;
                s.title = named.unwrap_or_else(|| std::mem::take(&mut s.title));
            });
        }
        if !is_empty {
            self.prompted(prompt, news, now).await;
        } else {
            self.attach(news);
            if self.is_broken_off() {
                self.note(BROKEN_OFF.into());
            }
        }
        Ok(())
    }

    /// Whether work is left to be done.
    fn is_open(&self) -> bool {
        let load = Load::default();
        let next = step::next(self.bus.transcript().messages(), &Bounds::default(), &Used::default(), &load);
        next != Step::Finish
    }

    /// Whether the conversation ends with words of the model's that were cut off: servers want somebody to speak after them.
    fn is_broken_off(&mut self) -> bool {
        self.is_open() && self.bus.conversation(self.voice.view()).ends_with_answer()
    }

    /// Frozen blocks lie with the prompt that they were first sent before. What else is new waits for the next one: what was sent
    /// stays as it was.
    fn attach(&mut self, news: News) {
        let Some(message_id) = self.bus.transcript().prompt().filter(|_| news.is_fresh).cloned() else { return };
        for body in news.parts {
            let session_id = self.bus.session().id.clone();
            self.bus.add_part(Part { id: PartId::new(), session_id, message_id: message_id.clone(), body });
        }
    }

    pub(super) async fn prompted(&mut self, mut prompt: Prompt, news: News, now: u64) {
        let said = UserText { text: std::mem::take(&mut prompt.text), notes: std::mem::take(&mut prompt.notes) };
        let UserText { text, notes } = self.ports.hooks.message(&self.context(), said).await;
        let prompt = Prompt { text, notes, ..prompt };
        let session = self.bus.session().clone();
        let (info, parts) = self.drafting(&session, now).prompt(prompt, self.bus.transcript().messages(), news.parts);
        self.bus.add_message(info, parts);
    }
}

/// What a session is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Work,
    /// A summary of what was said, and nothing else.
    Summary,
}

/// What a run has to write down before it begins.
#[derive(Default)]
pub(super) struct News {
    parts: Vec<PartBody>,
    is_fresh: bool,
}
