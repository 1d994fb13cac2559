//! The points around permissions, messages and requests. What a fault comes to stands at each trait; the host sees to it.

use crate::CallContext;
use serde_json::{Map, Value};

/// Whose turn it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnContext {
    pub session_id: String,
    pub agent: String,
    /// As provider/model.
    pub model: String,
}

/// Acts that no rule denies, before the rules' answer takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionRequest {
    pub session_id: String,
    pub call_id: String,
    pub agent: String,
    pub tool: String,
    /// Permission and pattern of each act.
    pub needs: Vec<(String, String)>,
    /// The rules would let it pass; else a person would be asked.
    pub is_allowed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    None,
    /// A person is to be asked, even where a rule allows it.
    Ask,
    /// The reason, which the model reads.
    Deny(String),
    /// In place of a question; counts only where the user granted `may_allow`.
    Allow,
}

/// A say in what may happen. A fault denies.
pub trait Permission {
    fn run(request: &PermissionRequest) -> Opinion;
}

/// What a person said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    /// Further texts for the model, marked as not the person's.
    pub notes: Vec<String>,
}

/// A person's message, before it is stored. A fault leaves it unchanged.
pub trait Message {
    fn run(context: &TurnContext, said: Said) -> Said;
}

/// The conversation as it is about to be sent: `{role, parts}` each, as `hook-messages` of the contract describes. A fault leaves
/// it unchanged.
pub trait Messages {
    fn run(context: &TurnContext, messages: Vec<Value>) -> Vec<Value>;
}

/// The system blocks, once a session. A fault leaves them unchanged.
pub trait System {
    fn run(context: &TurnContext, blocks: Vec<String>) -> Vec<String>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestParams {
    /// From 0 to 2.
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    /// For the model adapter.
    pub options: Map<String, Value>,
}

/// What a request asks of the model beside its words. A fault leaves it unchanged.
pub trait Params {
    fn run(context: &TurnContext, params: RequestParams) -> RequestParams;
}

/// HTTP headers to send along. A fault adds none.
pub trait Headers {
    fn run(context: &TurnContext) -> Vec<(String, String)>;
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDecl {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

/// What the model is told of a tool; the name stays. A fault leaves it unchanged.
pub trait ToolWords {
    fn run(context: &TurnContext, tool: ToolDecl) -> ToolDecl;
}

/// Variables for the programs of a call. A fault adds none.
pub trait ProcessEnv {
    fn run(context: &CallContext, tool: &str) -> Vec<(String, String)>;
}

/// A command that a person invoked, expanded. A fault leaves it unchanged.
pub trait Command {
    /// Returns the text to go on with.
    fn run(context: &TurnContext, name: &str, arguments: &str, text: String) -> String;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Further texts for the summary to take up.
    pub context: Vec<String>,
    /// In place of the built-in prompt.
    pub prompt: Option<String>,
    /// Whether the model goes on by itself afterwards.
    pub go_on: bool,
}

/// A compaction that is about to begin. A fault leaves it unchanged.
pub trait Compacting {
    fn run(context: &TurnContext, plan: Plan) -> Plan;
}

/// An answer that would end the run. A fault lets it end.
pub trait Stop {
    /// `Some` = what the model is told so that it goes on; `round` counts from 0.
    fn run(context: &TurnContext, answer: &str, round: u32) -> Option<String>;
}

/// Sees what happens. A fault is ignored.
pub trait Event {
    /// A JSON object with `type`, as `hook-event` of the contract describes.
    fn run(event: &Value);
}
