use super::*;
use model::message::{Message, PartBody};
use model::tool_state::ToolState;
use serde_json::json;

fn defaults() -> Defaults {
    Defaults { directory: "/here".into(), agent: "build".into(), version: "1".into(), now: 7 }
}

fn import(export: &Value) -> Result<(Outline, Vec<WithParts>), ImportError> {
    let text = export.to_string();
    let outline = outline(text.as_bytes(), &defaults())?;
    let mut all = vec![];
    messages(text.as_bytes(), &outline.session, &mut |m| {
        all.push(m);
        Ok(())
    })?;
    Ok((outline, all))
}

/// The shapes are those of agent-core, section 1, as the reference writes them.
fn foreign() -> Value {
    json!({
        "info": {
            "id": "ses_abc123", "slug": "x", "projectID": "p", "directory": "/there", "title": "New session",
            "version": "1.2.3", "time": {"created": 5, "updated": 6}, "parentID": null,
            "summary": {"additions": 1, "deletions": 0, "files": 1}
        },
        "messages": [
            {"info": {"id": "msg_1", "sessionID": "ses_abc123", "role": "user", "time": {"created": 5}, "agent": "build",
                      "model": {"providerID": "a", "modelID": "b"}, "summary": {"diffs": []}},
             "parts": [{"id": "prt_1", "sessionID": "ses_abc123", "messageID": "msg_1", "type": "text", "text": "hi"},
                       {"id": "prt_2", "sessionID": "ses_abc123", "messageID": "msg_1", "type": "file", "mime": "text/plain",
                        "url": "file:///there/a.txt"}]},
            {"info": {"id": "msg_2", "sessionID": "ses_abc123", "role": "assistant", "parentID": "msg_1", "mode": "build",
                      "time": {"created": 6, "completed": 9}, "providerID": "a", "modelID": "b", "cost": 0,
                      "path": {"cwd": "/there", "root": "/there"}, "finish": "other",
                      "tokens": {"total": 3, "input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
                      "error": {"name": "ProviderAuthError", "data": {"providerID": "a", "message": "no key"}}},
             "parts": [{"id": "prt_3", "type": "step-start", "snapshot": "4b825dc"},
                       {"id": "prt_4", "type": "tool", "callID": "c1", "tool": "read",
                        "state": {"status": "completed", "input": {"filePath": "a"}, "output": "text", "title": "a", "metadata": {},
                                  "time": {"start": 6, "end": 7, "compacted": 8}}},
                       {"id": "prt_5", "type": "patch", "hash": "4b825dc", "files": []},
                       {"id": "prt_6", "type": "patch", "hash": "4b825dc", "files": []},
                       {"id": "prt_7", "type": "step-finish", "reason": "tool-calls", "cost": 0.5,
                        "tokens": {"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}}]}
        ]
    })
}

#[test]
fn a_session_of_the_reference_is_read() {
    let (outline, all) = import(&foreign()).unwrap();
    assert_eq!((outline.session.id.as_str(), outline.session.title.as_str()), ("ses_abc123", "New session"));
    assert_eq!((outline.session.agent.as_str(), outline.session.worktree.to_str()), ("build", Some("/there")));
    assert_eq!((outline.messages, all.len()), (2, 2));
    let left: Vec<_> = outline.left_out.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(left, [("file (not in the export itself)", 1), ("patch", 2)]);
    let Message::Assistant(answer) = &all[1].info else { panic!("an answer") };
    assert_eq!(answer.agent, "build");
    assert_eq!(json!(answer.finish), json!("unknown"));
    assert_eq!(json!(answer.error)["data"]["message"], "ProviderAuthError: no key");
    let kinds: Vec<String> = all[1].parts.iter().map(|p| json!(p.body)["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["step-start", "tool", "step-finish"]);
    assert!(matches!(&all[1].parts[1].body, PartBody::Tool(t) if matches!(t.state, ToolState::Completed { .. })));
    assert!(outline.ids.contains(&"prt_4".to_owned()) && outline.ids.contains(&"ses_abc123".to_owned()));
}

#[test]
fn our_own_export_comes_back_as_it_was() {
    use crate::testing::{history, session};
    let session = session();
    let mut told = vec![history::user("hi"), history::assistant(|_| ())];
    told[1].parts = vec![history::text("yes", false), history::completed("read", "x"), history::failed("edit", "no")];
    for m in &mut told {
        match &mut m.info {
            Message::User(u) => u.session_id = session.id.clone(),
            Message::Assistant(a) => a.session_id = session.id.clone(),
        }
        let id = m.info.id().clone();
        m.parts.iter_mut().for_each(|p| (p.session_id, p.message_id) = (session.id.clone(), id.clone()));
    }
    let (outline, all) = import(&json!({"info": session, "messages": told})).unwrap();
    assert_eq!((outline.session, all), (session, told));
    assert_eq!(outline.left_out.len(), 0);
}

#[test]
fn garbage_is_said() {
    let check = |text: &str, word: &str| {
        let error = outline(text.as_bytes(), &defaults()).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    };
    check("", "not JSON");
    check("[1]", "`info` and `messages`");
    check("{}", "`messages`");
    check(r#"{"messages": []}"#, "`info`");
    check(r#"{"info": 1, "messages": []}"#, "no object");
    check(r#"{"info": {}, "messages": [1]}"#, "message 1");
    check(
        r#"{"info": {}, "messages": [{"info": {"role": "user"}, "parts": []}, {"info": {"role": "judge"}, "parts": []}]}"#,
        "message 2",
    );
    check(r#"{"info": {}, "messages": [{"info": {"role": "user"}, "parts": []}"#, "not JSON");
    check(r#"{"info": {}, "messages": []} trailing"#, "not JSON");
}

#[test]
fn an_id_that_is_none_of_ours_gets_a_new_one() {
    let mut export = foreign();
    export["info"]["id"] = json!("../../etc/passwd");
    export["messages"][0]["info"]["id"] = json!("msg_../x");
    let (outline, all) = import(&export).unwrap();
    assert!(model::id::SessionId::parse(outline.session.id.as_str()).is_some());
    assert_eq!(all[0].info.session(), &outline.session.id);
    assert!(model::id::MessageId::parse(all[0].info.id().as_str()).is_some());
}
