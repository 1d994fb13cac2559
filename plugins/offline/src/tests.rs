use super::*;
use airlock::provider::{
    Decode, FinishReason, Message, Part, Role, StreamEvent, ToolCall, ToolDecl, ToolResult, Usage,
};
use serde_json::{Value, json};

fn request(tools: &[&str]) -> Request {
    let mut request = Request::new("explorer", "echo:");
    let decl = |name: &&str| ToolDecl { name: (*name).into(), description: String::new(), input_schema: "{}".into() };
    request.tools = tools.iter().map(decl).collect();
    request.messages.push(Message { role: Role::User, parts: vec![Part::Text("What is this?".into())] });
    request
}

/// One step as the host takes it: the request goes out, its body comes back.
fn step(request: &Request) -> Vec<StreamEvent> {
    let http = Codec::encode(request).unwrap();
    assert_eq!((http.method.as_str(), http.url.as_str()), ("POST", "echo:"));
    let whole = read(&[&http.body]);
    let bytes: Vec<&[u8]> = http.body.chunks(1).collect();
    assert_eq!(read(&bytes), whole, "any cut gives the same events");
    whole
}

fn read(pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new("explorer", "text/event-stream");
    let mut events: Vec<StreamEvent> = pieces.iter().flat_map(|p| decoder.push(p)).collect();
    events.extend(decoder.finish());
    assert!(decoder.finish().is_empty());
    events
}

fn text(events: &[StreamEvent]) -> String {
    events
        .iter()
        .filter_map(|e| if let StreamEvent::TextDelta { text, .. } = e { Some(text.as_str()) } else { None })
        .collect()
}

fn calls(events: &[StreamEvent]) -> Vec<ToolCall> {
    events.iter().filter_map(|e| if let StreamEvent::ToolCall(c) = e { Some(c.clone()) } else { None }).collect()
}

fn reason(events: &[StreamEvent]) -> Option<FinishReason> {
    events.iter().find_map(|e| if let StreamEvent::StepFinish(f) = e { Some(f.reason) } else { None })
}

/// Appends the step and the results of its calls.
fn go_on(request: &mut Request, events: &[StreamEvent], answer: impl Fn(&ToolCall) -> (String, bool)) {
    let calls = calls(events);
    let mut parts = vec![Part::Text(text(events))];
    parts.extend(calls.iter().cloned().map(Part::ToolCall));
    request.messages.push(Message { role: Role::Assistant, parts });
    let results = calls.iter().map(|call| {
        let (text, is_error) = answer(call);
        Part::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text,
            is_error,
            files: vec![],
        })
    });
    request.messages.push(Message { role: Role::Tool, parts: results.collect() });
}

fn workspace(call: &ToolCall) -> (String, bool) {
    let input: Value = serde_json::from_str(&call.input).unwrap();
    let file = |path: &str, lines: &str| {
        (format!("<path>/w/{path}</path>\n<type>file</type>\n<content>\n{lines}</content>\n(End)"), false)
    };
    match input["filePath"].as_str().or(input["pattern"].as_str()).unwrap() {
        "." => ("<path>/w</path>\n<type>directory</type>\n<entries>\nCargo.toml\nREADME.md\na.rs\nb.rs\nsrc/\n</entries>\n(5 entries)".into(), false),
        "*" => ("/w/README.md\n/w/main.py".into(), false),
        "README.md" => file("README.md", "1: # Lighthouse\n2: \n3: Shines.\n"),
        "Cargo.toml" => file("Cargo.toml", "1: [package]\n2: name = \"lighthouse\"\n3: version = \"1.2.3\"\n"),
        other => (format!("No such file: {other}"), true),
    }
}

#[test]
fn without_a_script_it_looks_reads_and_reports() {
    let mut request = request(&["glob", "read"]);
    let first = step(&request);
    assert_eq!(calls(&first).iter().map(|c| c.input.as_str()).collect::<Vec<_>>(), [r#"{"filePath":"."}"#]);
    assert_eq!(reason(&first), Some(FinishReason::ToolCalls));
    go_on(&mut request, &first, workspace);

    let second = step(&request);
    let inputs: Vec<String> = calls(&second).into_iter().map(|c| c.input).collect();
    assert_eq!(inputs, [r#"{"filePath":"README.md"}"#, r#"{"filePath":"Cargo.toml"}"#]);
    go_on(&mut request, &second, workspace);

    let third = step(&request);
    let said = text(&third);
    assert_eq!((calls(&third).len(), reason(&third)), (0, Some(FinishReason::Stop)));
    for part in [
        "not a language model",
        "`src/`",
        "1 md, 2 rs, 1 toml",
        "# Lighthouse",
        "Shines.",
        "name lighthouse",
        "version 1.2.3",
        "OPENAI_API_KEY",
        "Ollama",
        "model = ",
    ] {
        assert!(said.contains(part), "{part:?} is missing in:\n{said}");
    }
    let deltas = third.iter().filter(|e| matches!(e, StreamEvent::TextDelta { .. })).count();
    assert!(deltas > 10, "the text comes in pieces");
}

#[test]
fn ids_of_calls_are_unique_in_a_conversation_and_the_same_each_time() {
    let mut request = request(&["read"]);
    let mut ids = Vec::new();
    for _ in 0..2 {
        for _ in 0..2 {
            let events = step(&request);
            assert_eq!(step(&request), events);
            ids.extend(calls(&events).into_iter().map(|c| c.id));
            go_on(&mut request, &events, workspace);
        }
        request.messages.push(Message { role: Role::User, parts: vec![Part::Text("And now?".into())] });
    }
    let count = ids.len();
    assert_eq!(count, 6);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn it_says_what_it_could_not_do() {
    let none = text(&step(&request(&[])));
    assert!(none.contains("no tool to look") && none.contains("not a language model"), "{none}");

    let mut refused = request(&["read"]);
    let events = step(&refused);
    go_on(&mut refused, &events, |_| ("The person said no.".into(), true));
    let said = text(&step(&refused));
    assert!(said.contains("could not look at the workspace: The person said no."), "{said}");

    let mut only_glob = request(&["glob"]);
    let events = step(&only_glob);
    assert_eq!(calls(&events)[0].name, "glob");
    go_on(&mut only_glob, &events, workspace);
    let said = text(&step(&only_glob));
    assert!(said.contains("1 md, 1 py"), "{said}");
}

fn scripted(script: &Value, answered: usize) -> Result<Vec<StreamEvent>, String> {
    let mut request = request(&["read"]);
    request.options = Some(json!({ "script": script }).to_string());
    for _ in 0..answered {
        request.messages.push(Message { role: Role::Assistant, parts: vec![Part::Text("x".into())] });
    }
    Codec::encode(&request).map(|http| read(&[&http.body]))
}

#[test]
fn a_script_is_played_turn_by_turn() {
    let script = json!({"turns": [
        {"reasoning": "Hm.", "text": "One.", "tool_calls": [{"name": "read", "input": {"filePath": "a"}}, {"name": "x", "input": "{\"broken"}]},
        {"text": "Two.", "finish": "length", "usage": {"input": 7, "cache_read": 2}},
        {"text": "Half", "error": {"kind": "rate-limit", "message": "Slow down.", "retryable": true}},
    ]});
    let first = scripted(&script, 0).unwrap();
    let made = calls(&first);
    assert_eq!((made[0].id.as_str(), made[0].input.as_str()), ("call_0_0", r#"{"filePath":"a"}"#));
    assert_eq!((made[1].id.as_str(), made[1].input.as_str()), ("call_0_1", "{\"broken"));
    assert!(first.contains(&StreamEvent::ReasoningDelta { id: "reasoning".into(), text: "Hm.".into() }));
    assert_eq!(reason(&first), Some(FinishReason::ToolCalls));

    let second = scripted(&script, 1).unwrap();
    let Some(StreamEvent::StepFinish(finish)) = second.last() else { panic!("{second:?}") };
    assert_eq!(
        (finish.reason, finish.usage),
        (FinishReason::Length, Some(Usage { input: 7, cache_read: 2, ..Usage::default() }))
    );

    let third = scripted(&script, 2).unwrap();
    let Some(StreamEvent::Failure(failure)) = third.last() else { panic!("{third:?}") };
    assert_eq!(
        (failure.kind, failure.message.as_str(), failure.retryable),
        (FailureKind::RateLimit, "Slow down.", true)
    );
    assert_eq!(text(&third), "Half");
    assert!(text(&scripted(&script, 3).unwrap()).contains("script has ended"));
}

#[test]
fn a_script_may_repeat() {
    let table = [("last", 5, "b"), ("last", 0, "a"), ("cycle", 2, "a"), ("cycle", 3, "b")];
    for (repeat, answered, expected) in table {
        let script = json!({"turns": [{"text": "a"}, {"text": "b"}], "repeat": repeat});
        assert_eq!(text(&scripted(&script, answered).unwrap()), expected, "{repeat} {answered}");
    }
    assert!(text(&scripted(&json!({"turns": [], "repeat": "cycle"}), 0).unwrap()).contains("script has ended"));
}

#[test]
fn a_slip_in_a_script_is_an_error() {
    for script in [json!({"turns": [{"txt": "a"}]}), json!({}), json!([]), json!({"turns": [], "repeat": "often"})] {
        assert!(scripted(&script, 0).unwrap_err().contains("script"), "{script}");
    }
}

#[test]
fn a_body_that_is_not_its_own_is_a_failure() {
    for body in ["", "<html>", "data: {}\n\n", "data: {\"text\":\"a\"}\n\n"] {
        let events = read(&[body.as_bytes()]);
        assert!(
            matches!(events.last(), Some(StreamEvent::Failure(f)) if f.kind == FailureKind::Transport),
            "{events:?}"
        );
    }
}
