//! A turn that had to call a tool. Some servers accept the demand and do not keep it (llama.cpp answers with prose or blanks where a
//! call is required, and ignores a tool's name): such an answer is none, whichever adapter reads it.

use model::provider::{FailureKind, ProviderFailure, StreamEvent, ToolChoice};

/// What was demanded, and whether it has come.
pub struct Demand {
    choice: ToolChoice,
    called: bool,
}

impl Demand {
    #[must_use]
    pub fn new(choice: ToolChoice) -> Self {
        Self { choice, called: false }
    }

    /// The events up to the one that breaks the demand, which gives way to a failure.
    #[must_use]
    pub fn check(&mut self, mut events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        let broken = events.iter().enumerate().find_map(|(at, event)| Some((at, self.broken(event)?)));
        if let Some((at, why)) = broken {
            events.truncate(at);
            events.push(StreamEvent::Failure(failure(why)));
        }
        events
    }

    fn broken(&mut self, event: &StreamEvent) -> Option<String> {
        match (&self.choice, event) {
            (ToolChoice::Auto | ToolChoice::None, _) => None,
            (ToolChoice::Named(name), StreamEvent::ToolCall(call)) if call.name != *name => {
                Some(format!("The model was to call `{name}` and called `{}`", call.name))
            }
            (_, StreamEvent::ToolCall(_)) => {
                self.called = true;
                None
            }
            (_, StreamEvent::StepFinish { .. }) if !self.called => {
                Some("The model was to call a tool and called none".into())
            }
            _ => None,
        }
    }
}

fn failure(why: String) -> ProviderFailure {
    let message = why + ": the server does not keep a demanded choice of tools.";
    ProviderFailure { kind: FailureKind::MalformedToolCall, message, retryable: true, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::CallId;
    use model::message::FinishReason;
    use model::provider::ModelCall;

    fn call(name: &str) -> StreamEvent {
        StreamEvent::ToolCall(ModelCall { id: CallId::given("c"), name: name.into(), input: "{}".into(), opaque: None })
    }

    fn finish(reason: FinishReason) -> StreamEvent {
        StreamEvent::StepFinish { reason, usage: None, metadata: None }
    }

    fn text() -> StreamEvent {
        StreamEvent::TextDelta { id: "t".into(), text: "Sure.".into() }
    }

    /// Batch by batch; `Some` = where in the last batch a failure stands, with a word of it.
    fn check(choice: ToolChoice, batches: &[&[StreamEvent]], want: Option<(usize, &str)>) {
        let mut demand = Demand::new(choice.clone());
        let checked: Vec<_> = batches.iter().map(|b| demand.check(b.to_vec())).collect();
        let last = checked.last().unwrap();
        let failed = last.iter().enumerate().find_map(|(at, e)| match e {
            StreamEvent::Failure(f) => Some((at, f.clone())),
            _ => None,
        });
        match (&failed, want) {
            (None, None) => assert_eq!(last.as_slice(), *batches.last().unwrap()),
            (Some((at, f)), Some((place, word))) => {
                assert!(*at == place && f.message.contains(word) && f.retryable, "{choice:?}: {last:?}");
                assert_eq!((last.len(), f.kind), (place + 1, FailureKind::MalformedToolCall));
            }
            _ => panic!("{choice:?}: {last:?}"),
        }
    }

    #[test]
    fn a_demand_is_kept_or_the_answer_is_none() {
        let named = || ToolChoice::Named("read".into());
        check(ToolChoice::Auto, &[&[text(), finish(FinishReason::Stop)]], None);
        check(ToolChoice::None, &[&[text(), finish(FinishReason::Stop)]], None);
        check(ToolChoice::Required, &[&[text(), call("x"), finish(FinishReason::ToolCalls)]], None);
        check(ToolChoice::Required, &[&[call("x")], &[finish(FinishReason::ToolCalls)]], None);
        check(ToolChoice::Required, &[&[text(), finish(FinishReason::Stop)]], Some((1, "called none")));
        check(ToolChoice::Required, &[&[text()], &[finish(FinishReason::Length)]], Some((0, "called none")));
        check(named(), &[&[call("read"), finish(FinishReason::ToolCalls)]], None);
        check(named(), &[&[call("read"), call("write")]], Some((1, "called `write`")));
        check(named(), &[&[finish(FinishReason::Stop)]], Some((0, "called none")));
    }
}
