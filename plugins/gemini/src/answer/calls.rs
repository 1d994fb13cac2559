//! The calls of one answer. Each comes whole, as an object; some gateways send the name first and the arguments in a part of their own.

use crate::signature::OfCall;
use airlock::calls::TooMuch;
use airlock::provider::ToolCall;
use codec::{Blocks, Seed};
use serde_json::{Map, Value};

#[derive(Debug)]
struct Call {
    /// Unique in this stream: the server's where it gave one.
    id: String,
    name: String,
    arguments: Map<String, Value>,
    back: OfCall,
}

#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Call>,
    bytes: usize,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes the part of a call. One without a name continues the call before it; if there is none, it is no call.
    ///
    /// # Errors
    /// [`TooMuch`] where the calls of one answer are more, or larger, than is sane.
    pub fn add(&mut self, part: &Value, seed: Seed, blocks: &mut Blocks) -> Result<(), TooMuch> {
        let given = &part["functionCall"];
        let arguments = given["args"].as_object().cloned().unwrap_or_default();
        self.bytes = self.bytes.saturating_add(part.to_string().len());
        if self.bytes > airlock::calls::Calls::MOST_BYTES || self.calls.len() >= airlock::calls::Calls::MOST {
            return Err(TooMuch);
        }
        let text = |value: &Value| value.as_str().filter(|t| !t.is_empty()).map(str::to_owned);
        let back = OfCall { signature: text(&part["thoughtSignature"]), id: text(&given["id"]) };
        match (text(&given["name"]), self.calls.last_mut()) {
            (Some(name), _) => self.start(name, arguments, back, seed, blocks),
            (None, Some(last)) => {
                last.arguments.extend(arguments);
                last.back.signature = back.signature.or(last.back.signature.take());
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn start(&mut self, name: String, arguments: Map<String, Value>, back: OfCall, seed: Seed, blocks: &mut Blocks) {
        let is_new = |id: &String| self.calls.iter().all(|c| c.id != *id);
        let id = back.id.clone().filter(is_new).unwrap_or_else(|| seed.call_id());
        blocks.input_start(&id, &name);
        self.calls.push(Call { id, name, arguments, back });
    }

    pub fn give_out(&mut self, blocks: &mut Blocks) {
        for call in std::mem::take(&mut self.calls) {
            let input = Value::Object(call.arguments).to_string();
            blocks.input(&call.id, &input);
            blocks.call(ToolCall { id: call.id, name: call.name, input, opaque: call.back.write() });
        }
    }
}
