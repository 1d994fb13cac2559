//! The functions of a component as tools that can be called.

use super::output::{self, TooLarge};
use super::reflect::{Function, reflect};
use super::{input, shape::Shape};
use crate::fault::Fault;
use crate::state::CallState;
use model::fault::FailureKind;
use model::tool::{ToolCall, ToolFailure, ToolOutput};
use model::tool_state::Metadata;
use serde_json::Value;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Val};

/// Bytes of a failure that the guest reports.
const FAILURE: usize = 64 << 10;

/// A linked component that knows nothing of the contract.
#[derive(Clone)]
pub struct Tool {
    pre: InstancePre<CallState>,
    functions: Arc<[(Function, ComponentExportIndex)]>,
}

impl Tool {
    #[must_use]
    pub fn new(pre: &InstancePre<CallState>) -> Self {
        let component = pre.component();
        let found = reflect(component, pre.engine()).functions;
        let functions = found.into_iter().filter_map(|f| index(component, &f.path).map(|at| (f, at))).collect();
        Self { pre: pre.clone(), functions }
    }

    pub fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    /// The arguments are converted before the guest is entered.
    pub async fn call(
        &self,
        store: &mut Store<CallState>,
        call: &ToolCall,
    ) -> wasmtime::Result<Result<Returned, ToolFailure>> {
        let Some((function, at)) = self.functions.iter().find(|(f, _)| f.name == call.tool) else {
            let why = format!("The component has no function for the tool `{}`.", call.tool);
            return Ok(Err(ToolFailure::new(FailureKind::Unavailable, why)));
        };
        let arguments = match input::arguments(&function.parameters, &call.input) {
            Ok(arguments) => arguments,
            Err(misfit) => {
                let why = format!("The arguments do not fit the tool `{}`: {misfit}.", call.tool);
                return Ok(Err(ToolFailure::new(FailureKind::InvalidInput, why)));
            }
        };
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let gone = || wasmtime::Error::msg("an exported function is not there");
        let exported = instance.get_func(&mut *store, at).ok_or_else(gone)?;
        let mut results = vec![Val::Bool(false); function.results.len()];
        exported.call_async(&mut *store, &arguments, &mut results).await?;
        Ok(Returned::of(results, &function.results))
    }
}

/// Where an export lies, by the names on the way to it.
fn index(component: &Component, path: &[String]) -> Option<ComponentExportIndex> {
    let (first, rest) = path.split_first()?;
    let at = component.get_export_index(None, first.as_str())?;
    rest.iter().try_fold(at, |at, name| component.get_export_index(Some(&at), name.as_str()))
}

/// A result that nobody has looked at yet.
#[derive(Debug)]
pub struct Returned(Vec<Val>);

impl Returned {
    /// An error that the function returns is the failure of the call.
    fn of(results: Vec<Val>, shapes: &[Shape]) -> Result<Self, ToolFailure> {
        debug_assert_eq!(results.len(), shapes.len());
        match results.as_slice() {
            [Val::Result(Err(error))] => Err(failure(error.as_deref())),
            _ => Ok(Self(results)),
        }
    }

    /// # Errors
    /// A result beyond the bounds.
    pub fn check(self, limit: usize) -> Result<ToolOutput, Fault> {
        let flood = |_: TooLarge| Fault::Flood { limit };
        let value = match self.0.as_slice() {
            [] => Value::Null,
            [Val::Result(Ok(side))] => {
                side.as_deref().map_or(Ok(Value::Null), |v| output::json(v, limit)).map_err(flood)?
            }
            [one] => output::json(one, limit).map_err(flood)?,
            several => {
                let named = |(i, v)| Ok((format!("val{i}"), output::json(v, limit).map_err(flood)?));
                Value::Object(several.iter().enumerate().map(named).collect::<Result<_, _>>()?)
            }
        };
        let text = output::text(&value);
        if text.len() > limit {
            return Err(Fault::Flood { limit });
        }
        Ok(ToolOutput { title: String::new(), text, metadata: envelope(value), attachments: Vec::new() })
    }
}

/// For programs; text says all in the result itself.
fn envelope(value: Value) -> Metadata {
    match value {
        Value::Null | Value::String(_) => Metadata::new(),
        value => Metadata::from_iter([("result".to_owned(), value)]),
    }
}

fn failure(error: Option<&Val>) -> ToolFailure {
    let silent = || "The tool failed, and does not say why.".to_owned();
    let said = match error.map(|val| output::json(val, FAILURE)) {
        None | Some(Ok(Value::Null)) => silent(),
        Some(Ok(value)) => Some(output::text(&value)).filter(|t| !t.is_empty()).unwrap_or_else(silent),
        Some(Err(TooLarge)) => "The tool failed, with more words than are kept.".to_owned(),
    };
    ToolFailure::new(FailureKind::Failed, said)
}

/// What comes of results, for the tables of tests.
#[cfg(test)]
pub fn judged(results: Vec<Val>, shapes: &[Shape], limit: usize) -> Value {
    use serde_json::json;
    match Returned::of(results, shapes).map(|r| r.check(limit)) {
        Ok(Ok(out)) => json!({"text": out.text, "metadata": out.metadata}),
        Ok(Err(fault)) => json!({"fault": fault.to_string()}),
        Err(failure) => json!({"kind": failure.kind, "message": failure.message}),
    }
}
