//! A conversation as turns in which nothing is left open: each turn with calls is followed by one with an answer to each of them.

use airlock::provider::{Message, Part, Role, ToolCall, ToolResult};

/// Said for a call that has no result.
pub const INTERRUPTED: &str = "Error: the call was interrupted and has no result";

#[derive(Clone, Debug, PartialEq)]
pub enum Turn<'a> {
    /// Texts and files.
    User(Vec<&'a Part>),
    /// Texts, reasoning and calls.
    Assistant(Vec<&'a Part>),
    /// One for each call of the turn before, in the order of the calls.
    Answers(Vec<Answered<'a>>),
}

/// A call with its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answered<'a> {
    pub call: &'a ToolCall,
    /// `None`: the call was interrupted.
    pub result: Option<&'a ToolResult>,
}

/// Reads a conversation as turns.
///
/// # Errors
/// Says which result answers no open call, or what stands where it cannot.
pub fn of(messages: &[Message]) -> Result<Vec<Turn<'_>>, String> {
    let mut reader = Reader::default();
    for message in messages {
        match message.role {
            Role::User => reader.user(message)?,
            Role::Assistant => reader.assistant(message)?,
            Role::Tool => reader.results(message)?,
        }
    }
    reader.settle();
    Ok(reader.out)
}

#[derive(Default)]
struct Reader<'a> {
    out: Vec<Turn<'a>>,
    open: Vec<Answered<'a>>,
}

impl<'a> Reader<'a> {
    fn user(&mut self, message: &'a Message) -> Result<(), String> {
        self.settle();
        if message.parts.iter().any(|p| matches!(p, Part::ToolCall(_) | Part::ToolResult(_))) {
            return Err("A user's message holds a tool call or its result".into());
        }
        let said = message.parts.iter().filter(|p| matches!(p, Part::Text(_) | Part::File(_)));
        self.out.push(Turn::User(said.collect()));
        Ok(())
    }

    fn assistant(&mut self, message: &'a Message) -> Result<(), String> {
        self.settle();
        let said: Vec<_> = message.parts.iter().filter(|p| !matches!(p, Part::ToolResult(_))).collect();
        let calls = said.iter().filter_map(|p| if let Part::ToolCall(call) = p { Some(call) } else { None });
        self.open = calls.map(|call| Answered { call, result: None }).collect();
        self.out.push(Turn::Assistant(said));
        message.parts.iter().try_for_each(|part| match part {
            Part::ToolResult(result) => self.result(result),
            _ => Ok(()),
        })
    }

    fn results(&mut self, message: &'a Message) -> Result<(), String> {
        message.parts.iter().try_for_each(|part| match part {
            Part::ToolResult(result) => self.result(result),
            _ => Err("A tool's message holds something that is no result".into()),
        })
    }

    fn result(&mut self, result: &'a ToolResult) -> Result<(), String> {
        let waits = |a: &&mut Answered<'_>| a.result.is_none() && a.call.id == result.call_id;
        let Some(answered) = self.open.iter_mut().find(waits) else {
            return Err(format!("The result of `{}` answers no open call ({})", result.name, result.call_id));
        };
        answered.result = Some(result);
        Ok(())
    }

    fn settle(&mut self) {
        let answered = std::mem::take(&mut self.open);
        if !answered.is_empty() {
            self.out.push(Turn::Answers(answered));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Part {
        Part::ToolCall(ToolCall { id: id.into(), name: "f".into(), input: "{}".into(), opaque: None })
    }

    fn result(id: &str) -> Part {
        let (call_id, name, text) = (id.into(), "f".into(), format!("of {id}"));
        Part::ToolResult(ToolResult { call_id, name, text, is_error: false, files: Vec::new() })
    }

    fn message(role: Role, parts: Vec<Part>) -> Message {
        Message { role, parts }
    }

    /// One letter a turn; answers with the ids of the calls, `-` where there is no result.
    fn drawn(messages: &[Message]) -> Result<String, String> {
        let draw = |turn: &Turn<'_>| match turn {
            Turn::User(_) => "u".to_owned(),
            Turn::Assistant(_) => "a".to_owned(),
            Turn::Answers(all) => all.iter().map(|a| a.result.map_or("-", |r| r.call_id.as_str())).collect(),
        };
        Ok(of(messages)?.iter().map(draw).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn every_call_is_answered_in_order_and_once() {
        use Role::{Assistant, Tool, User};
        let two = || message(Assistant, vec![call("x"), call("y")]);
        let table: &[(Vec<Message>, &str)] = &[
            (vec![], ""),
            (vec![message(User, vec![Part::Text("t".into())])], "u"),
            (vec![two(), message(Tool, vec![result("y"), result("x")])], "a xy"),
            (vec![two(), message(Tool, vec![result("y")]), message(Tool, vec![result("x")])], "a xy"),
            (vec![two(), message(Tool, vec![result("y")]), message(User, vec![])], "a -y u"),
            (vec![two(), two()], "a -- a --"),
            (vec![message(Assistant, vec![call("x"), result("x")])], "a x"),
            (
                vec![message(Assistant, vec![call("x"), call("x")]), message(Tool, vec![result("x"), result("x")])],
                "a xx",
            ),
        ];
        for (messages, expected) in table {
            assert_eq!(drawn(messages).as_deref(), Ok(*expected));
        }
        for orphan in [
            vec![message(Tool, vec![result("x")])],
            vec![message(Assistant, vec![call("x")]), message(Tool, vec![result("x"), result("x")])],
            vec![message(Assistant, vec![call("x")]), message(User, vec![]), message(Tool, vec![result("x")])],
            vec![message(User, vec![result("x")])],
            vec![message(Tool, vec![Part::Text("t".into())])],
        ] {
            assert!(drawn(&orphan).is_err(), "{orphan:?}");
        }
    }
}
