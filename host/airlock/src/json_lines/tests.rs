use super::*;
use model::fault::FailureKind;
use model::id::{AskId, CallId, MessageId};
use model::message::{ReasoningPart, StepFinishPart, TextPart, ToolPart};
use model::permission::AskTool;
use model::tool_state::{Metadata, Span, ToolState};
use std::sync::Arc;

fn part(session: &SessionId, body: PartBody) -> Event {
    let part = Part { id: PartId::new(), session_id: session.clone(), message_id: MessageId::new(), body };
    Event::PartUpdated { part: Arc::new(part) }
}

/// The lines that these events give.
fn lines(events: Vec<Event>) -> Vec<Value> {
    let mut buffer = Vec::new();
    let sink = JsonLines::new(&mut buffer, || 7);
    events.into_iter().for_each(|e| sink.emit(e));
    drop(sink);
    let text = String::from_utf8(buffer).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn span(end: Option<u64>) -> Span {
    Span { start: 1, end }
}

fn text(end: Option<u64>) -> PartBody {
    PartBody::Text(TextPart { text: "hello".into(), time: Some(span(end)), ..TextPart::default() })
}

fn tool(state: ToolState) -> PartBody {
    let call_id = CallId::given("c1");
    PartBody::Tool(ToolPart { call_id, tool: "read".into(), state, metadata: Metadata::new() })
}

#[test]
fn a_part_is_told_of_when_it_has_ended() {
    let s = SessionId::new();
    let mut failed = ToolState::pending();
    failed.fail(FailureKind::NotFound, "no".into(), Metadata::new(), 3);
    let finish = StepFinishPart {
        reason: FinishReason::Stop,
        cost: 0.into(),
        tokens: Tokens::default(),
        metadata: Metadata::new(),
    };
    let reasoning = ReasoningPart { text: "hm".into(), time: span(Some(2)), metadata: Metadata::new() };
    let prompt = PartBody::Text(TextPart { text: "do".into(), ..TextPart::default() });
    for (body, want) in [
        (PartBody::StepStart { metadata: Metadata::new() }, Some("step_start")),
        (text(None), None),
        (text(Some(2)), Some("text")),
        (prompt, None),
        (PartBody::Reasoning(reasoning), Some("reasoning")),
        (tool(ToolState::pending()), None),
        (tool(failed), Some("tool_use")),
        (PartBody::StepFinish(finish), Some("step_finish")),
    ] {
        let got = lines(vec![part(&s, body.clone())]);
        assert_eq!(got.first().map(|l| l["type"].as_str().unwrap()), want, "{body:?}");
        if let Some(line) = got.first() {
            assert_eq!((&line["timestamp"], &line["sessionID"]), (&json!(7), &json!(s)));
            assert_eq!(line["part"]["sessionID"], json!(s));
        }
    }
}

#[test]
fn an_ended_part_is_told_of_once() {
    let event = part(&SessionId::new(), text(Some(2)));
    assert_eq!(lines(vec![event.clone(), event]).len(), 1);
}

#[test]
fn a_failed_call_tells_its_kind() {
    let mut state = ToolState::pending();
    state.fail(FailureKind::Denied, "no".into(), Metadata::new(), 3);
    let line = &lines(vec![part(&SessionId::new(), tool(state))])[0];
    assert_eq!(line["part"]["state"]["metadata"]["kind"], "denied");
    assert_eq!((&line["part"]["tool"], &line["part"]["callID"]), (&json!("read"), &json!("c1")));
}

fn an_ask() -> Ask {
    Ask {
        id: AskId::new(),
        session_id: SessionId::new(),
        permission: "edit".into(),
        patterns: vec!["a".into()],
        always: vec!["*".into()],
        metadata: json!({}),
        tool: AskTool { message_id: MessageId::new(), call_id: CallId::given("c"), name: "write".into() },
    }
}

#[test]
fn an_ask_is_told_with_its_answer() {
    let why = Some("no".to_owned());
    for (reply, word) in [
        (None, Value::Null),
        (Some(Reply::Once), json!("once")),
        (Some(Reply::Always), json!("always")),
        (Some(Reply::Reject { message: why }), json!("reject")),
    ] {
        let ask = an_ask();
        let got = lines(vec![Event::Asked { ask: ask.clone() }, Event::Answered { ask: ask.clone(), reply }]);
        assert_eq!(got.len(), 1);
        assert_eq!((&got[0]["type"], &got[0]["reply"]), (&json!("ask"), &word));
        let request = &got[0]["request"];
        for key in ["id", "sessionID", "permission", "patterns", "always", "metadata", "tool"] {
            assert!(!request[key].is_null(), "{request} should have {key}");
        }
    }
}

#[test]
fn failures_and_retries_have_one_shape() {
    let error = ProviderFailure {
        kind: model::provider::FailureKind::RateLimit,
        message: "slow down".into(),
        retryable: true,
        retry_after: None,
    };
    let s = SessionId::new();
    let next = Duration::from_secs(2);
    let retry = Event::Retry { session: s.clone(), attempt: 1, next, error: error.clone() };
    let got = lines(vec![retry, Event::Failed { session: s, error }]);
    let want = json!({ "kind": "rate-limit", "message": "slow down", "retryable": true });
    assert_eq!((&got[0]["type"], &got[0]["error"], &got[0]["attempt"]), (&json!("retry"), &want, &json!(1)));
    assert_eq!((&got[0]["next"], &got[1]["type"], &got[1]["error"]), (&json!(2000), &json!("error"), &want));
}

#[test]
fn a_retry_names_the_told_parts_that_count_no_more() {
    let s = SessionId::new();
    let (told, untold) = (part(&s, text(Some(2))), part(&s, text(None)));
    let gone = |e: &Event| match e {
        Event::PartUpdated { part } => Event::PartDropped { part: part.clone() },
        other => panic!("{other:?}"),
    };
    let error = ProviderFailure {
        kind: model::provider::FailureKind::Server,
        message: "no".into(),
        retryable: true,
        retry_after: None,
    };
    let retry = |attempt| Event::Retry { session: s.clone(), attempt, next: Duration::ZERO, error: error.clone() };
    let dropped = [gone(&told), gone(&untold), gone(&told)];
    let got = lines([vec![told, untold], dropped.to_vec(), vec![retry(1), retry(2)]].concat());
    assert_eq!(got.len(), 3);
    assert_eq!((&got[1]["dropped"], &got[2]["dropped"]), (&json!([got[0]["part"]["id"]]), &json!([])));
}

#[test]
fn a_run_that_broke_off_has_its_last_lines() {
    let mut buffer = Vec::new();
    JsonLines::new(&mut buffer, || 7).broke_off(&SessionId::new(), "the disk is full", Exit::Failed);
    let text = String::from_utf8(buffer).unwrap();
    let got: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&got[0]["type"], &got[0]["error"]["message"]), (&json!("error"), &json!("the disk is full")));
    assert_eq!((&got[1]["type"], &got[1]["finish"], &got[1]["exit"]), (&json!("result"), &json!("error"), &json!(1)));
    assert_eq!(got.len(), 2);
}

#[test]
fn the_result_tells_all_that_scripts_ask_for() {
    let mut outcome = RunOutcome {
        ending: Ending::Done,
        finish: FinishReason::ToolCalls,
        text: "answer".into(),
        cost: "0.25".parse().unwrap(),
        tokens: Tokens { input: 3, ..Tokens::default() },
        steps: 2,
    };
    let told = |outcome: &RunOutcome| -> Value {
        let mut buffer = Vec::new();
        JsonLines::new(&mut buffer, || 7).result(&SessionId::new(), outcome, &[], Exit::Denied);
        serde_json::from_slice(&buffer).unwrap()
    };
    let line = told(&outcome);
    assert_eq!((&line["type"], &line["finish"]), (&json!("result"), &json!("tool-calls")));
    assert_eq!((&line["text"], &line["cost"], &line["steps"]), (&json!("answer"), &json!(0.25), &json!(2)));
    assert_eq!((&line["tokens"]["input"], &line["exit"]), (&json!(3), &json!(4)));
    assert!(line.get("limit").is_none() && line.get("loop").is_none());
    outcome.ending = Ending::Limit(model::budget::Limit::OutputTokens);
    assert_eq!(told(&outcome)["limit"], json!("output-tokens"));
    outcome.ending = Ending::Looped("round and round".into());
    assert_eq!(told(&outcome)["loop"], json!("round and round"));
}

/// A reader that went away.
struct Closed(usize);

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        self.0 += 1;
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_tried_once() {
    let mut closed = Closed(0);
    let sink = JsonLines::new(&mut closed, || 7);
    for _ in 0..3 {
        sink.emit(part(&SessionId::new(), text(Some(2))));
    }
    drop(sink);
    assert_eq!(closed.0, 1);
}
