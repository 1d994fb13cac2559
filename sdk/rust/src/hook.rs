//! Hooks: pure functions that see, and may change, what passes between the person, the model and the tools.

mod glue;
pub mod points;

use crate::CallContext;
use serde_json::{Map, Value};

/// Which text a hook sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextContext {
    pub session_id: String,
    pub message_id: String,
    pub part_id: String,
}

/// A finished text of the model, before it is stored. A fault leaves the text unchanged.
pub trait TextComplete {
    /// Returns the text to keep.
    fn run(context: &TextContext, text: String) -> String;
}

/// A call that is about to be judged and run. A fault denies the call.
pub trait ToolBefore {
    /// Returns the input to go on with.
    ///
    /// # Errors
    /// The reason for refusing the call, which the model reads.
    fn run(context: &CallContext, tool: &str, input: Map<String, Value>) -> Result<Map<String, Value>, String>;
}

/// The result of a call as a hook sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolView {
    pub title: String,
    pub text: String,
    pub metadata: Map<String, Value>,
}

/// The result of a call, before it is stored and shown to the model. A fault leaves it unchanged.
pub trait ToolAfter {
    /// Returns the result to keep.
    fn run(context: &CallContext, tool: &str, input: &Map<String, Value>, output: ToolView) -> ToolView;
}

/// A hook that sees texts, calls and results alike.
pub trait Guard: TextComplete + ToolBefore + ToolAfter {}

impl<T: TextComplete + ToolBefore + ToolAfter> Guard for T {}

/// Makes the crate a component with a hook: `hook_plugin! { guard: Redact }`. Before the colon stands the point (`text_complete`,
/// `tool_before`, `tool_after`, `permission`, `message`, `messages`, `system`, `params`, `headers`, `tool_spec`, `process_env`,
/// `command`, `compacting`, `stop`, `event`), or `guard` for the first three together; behind the type, after a `;`, what the component
/// asks for (as in `tool_plugin!`).
#[macro_export]
macro_rules! hook_plugin {
    ($point:ident: $hook:ident $(; $($asks:tt)*)?) => {
        $crate::manifest! { $($($asks)*)? }
        #[cfg(target_family = "wasm")]
        mod __airlock {
            $crate::__hook! { $point, super::$hook }
            export!(Component);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __hook {
    (guard, $hook:ty) => {
        $crate::__guard_bindings! {}
        struct Component;
        $crate::__text_complete_hook! { $hook }
        $crate::__tool_before_hook! { $hook }
        $crate::__tool_after_hook! { $hook }
    };
    (text_complete, $hook:ty) => {
        $crate::__text_complete_bindings! {}
        struct Component;
        $crate::__text_complete_hook! { $hook }
    };
    (tool_before, $hook:ty) => {
        $crate::__tool_before_bindings! {}
        struct Component;
        $crate::__tool_before_hook! { $hook }
    };
    (tool_after, $hook:ty) => {
        $crate::__tool_after_bindings! {}
        struct Component;
        $crate::__tool_after_hook! { $hook }
    };
    (permission, $hook:ty) => {
        $crate::__permission_bindings! {}
        struct Component;
        $crate::__permission_hook! { $hook }
    };
    (message, $hook:ty) => {
        $crate::__message_bindings! {}
        struct Component;
        $crate::__message_hook! { $hook }
    };
    (messages, $hook:ty) => {
        $crate::__messages_bindings! {}
        struct Component;
        $crate::__messages_hook! { $hook }
    };
    (system, $hook:ty) => {
        $crate::__system_bindings! {}
        struct Component;
        $crate::__system_hook! { $hook }
    };
    (params, $hook:ty) => {
        $crate::__params_bindings! {}
        struct Component;
        $crate::__params_hook! { $hook }
    };
    (headers, $hook:ty) => {
        $crate::__headers_bindings! {}
        struct Component;
        $crate::__headers_hook! { $hook }
    };
    (tool_spec, $hook:ty) => {
        $crate::__tool_spec_bindings! {}
        struct Component;
        $crate::__tool_spec_hook! { $hook }
    };
    (process_env, $hook:ty) => {
        $crate::__process_env_bindings! {}
        struct Component;
        $crate::__process_env_hook! { $hook }
    };
    (command, $hook:ty) => {
        $crate::__command_bindings! {}
        struct Component;
        $crate::__command_hook! { $hook }
    };
    (compacting, $hook:ty) => {
        $crate::__compacting_bindings! {}
        struct Component;
        $crate::__compacting_hook! { $hook }
    };
    (stop, $hook:ty) => {
        $crate::__stop_bindings! {}
        struct Component;
        $crate::__stop_hook! { $hook }
    };
    (event, $hook:ty) => {
        $crate::__event_bindings! {}
        struct Component;
        $crate::__event_hook! { $hook }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __text_complete_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_text_complete::Guest for Component {
            fn run(context: exports::airlock::plugin::hook_text_complete::TextContext, text: String) -> String {
                let context = $crate::TextContext {
                    session_id: context.session_id,
                    message_id: context.message_id,
                    part_id: context.part_id,
                };
                <$hook as $crate::TextComplete>::run(&context, text)
            }
        }
    };
}

/// Input that is no JSON object never reaches a hook: the host makes it. An error here is a fault of the host, and denies.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_before_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_tool_before::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::CallContext,
                tool: String,
                input: String,
            ) -> Result<String, String> {
                let context = $crate::__context!(context);
                let input = $crate::__private::serde_json::from_str(&input).map_err(|e| e.to_string())?;
                let input = <$hook as $crate::ToolBefore>::run(&context, &tool, input)?;
                Ok($crate::__private::serde_json::Value::Object(input).to_string())
            }
        }
    };
}

/// A result whose metadata cannot be read is passed on as it came.
#[doc(hidden)]
#[macro_export]
macro_rules! __tool_after_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_tool_after::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::CallContext,
                tool: String,
                input: String,
                output: exports::airlock::plugin::hook_tool_after::ToolView,
            ) -> exports::airlock::plugin::hook_tool_after::ToolView {
                use $crate::__private::serde_json::{Value, from_str};
                let (Ok(input), Ok(metadata)) = (from_str(&input), from_str(&output.metadata)) else { return output };
                let view = $crate::ToolView { title: output.title, text: output.text, metadata };
                let view = <$hook as $crate::ToolAfter>::run(&$crate::__context!(context), &tool, &input, view);
                exports::airlock::plugin::hook_tool_after::ToolView {
                    title: view.title,
                    text: view.text,
                    metadata: Value::Object(view.metadata).to_string(),
                }
            }
        }
    };
}
