use super::*;
use crate::tail::Whole;

/// Draws a conversation: one letter a turn, and of answers the texts, `-` where there is none.
struct Drawing;

fn drawn(text: &str) -> Whole {
    Whole { role: "", ink: Ink::of(&text) }
}

impl Protocol for Drawing {
    type Item = Whole;
    const KEPT: usize = 1;

    fn new(_: &Request, _: &mut Tail<Whole>) -> Result<Self, String> {
        Ok(Self)
    }

    fn user(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        out.push(drawn(&"u".repeat(said.len())));
    }

    fn assistant(&mut self, said: &[Part], out: &mut Tail<Whole>) {
        out.push(drawn(&"a".repeat(said.len())));
    }

    fn answers(&self, answers: &[Answered], out: &mut Tail<Whole>) {
        let text: String = answers.iter().map(|a| a.result.as_ref().map_or("-", |r| r.text.as_str())).collect();
        out.push(drawn(&text));
    }

    fn end(&self, out: &mut Tail<Whole>) -> Result<(), String> {
        if out.is_empty() { Err("nothing".into()) } else { Ok(()) }
    }

    fn frame(&self, _: &Tail<Whole>) -> Cow<'_, Frame> {
        Cow::Owned(Frame { head: b"[".to_vec(), foot: b"]".to_vec(), ..Frame::default() })
    }
}

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "f".into(), input: "{}".into(), opaque: None })
}

fn result(id: &str) -> Part {
    let (call_id, name, text) = (id.into(), "f".into(), id.into());
    Part::ToolResult(ToolResult { call_id, name, text, is_error: false, files: Vec::new() })
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts }
}

fn draw(messages: &[Message]) -> Result<String, String> {
    let request = Request { messages: messages.to_vec(), ..Request::new("m", "http://h") };
    let body = encode::<Drawing>(&request)?.body;
    let turns: Vec<String> = serde_json::from_slice(&body).unwrap();
    Ok(turns.join(" "))
}

#[test]
fn every_call_is_answered_in_order_and_once() {
    use Role::{Assistant, Tool, User};
    let two = || message(Assistant, vec![call("x"), call("y")]);
    let text = || Part::Text("t".into());
    let table: &[(Vec<Message>, &str)] = &[
        (vec![message(User, vec![text()])], "u"),
        (vec![two(), message(Tool, vec![result("y"), result("x")])], "aa xy"),
        (vec![two(), message(Tool, vec![result("y")]), message(Tool, vec![result("x")])], "aa xy"),
        (vec![two(), message(Tool, vec![result("y")]), message(User, vec![text()])], "aa -y u"),
        (vec![two(), message(Tool, vec![result("y")])], "aa -y"),
        (vec![two(), two()], "aa -- aa --"),
        (vec![message(Assistant, vec![call("x"), result("x")])], "a x"),
        (vec![message(Assistant, vec![call("x"), call("x")]), message(Tool, vec![result("x"), result("x")])], "aa xx"),
    ];
    for (messages, expected) in table {
        assert_eq!(draw(messages).as_deref(), Ok(*expected));
    }
    assert!(draw(&[]).is_err(), "an end may be refused");
    for orphan in [
        vec![message(Tool, vec![result("x")])],
        vec![message(Assistant, vec![call("x")]), message(Tool, vec![result("x"), result("x")])],
        vec![message(Assistant, vec![call("x")]), message(User, vec![]), message(Tool, vec![result("x")])],
        vec![message(User, vec![result("x")])],
        vec![message(Tool, vec![text()])],
    ] {
        assert!(draw(&orphan).is_err(), "{orphan:?}");
    }
}

#[test]
fn what_could_not_be_expressed_once_stays_so() {
    let mut growing = Growing::<Drawing>::new(Request::new("m", "http://h"));
    growing.append(vec![message(Role::Tool, vec![result("x")])]);
    growing.append(vec![message(Role::User, vec![])]);
    assert!(growing.encode().unwrap_err().contains("answers no open call"));
}
