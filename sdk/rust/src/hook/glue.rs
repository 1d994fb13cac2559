//! The glue between the contract's types and those of the SDK, a macro a point: bindings live in the plugin's own crate.

#[doc(hidden)]
#[macro_export]
macro_rules! __turn {
    ($context:expr) => {
        $crate::hooks::TurnContext { session_id: $context.session_id, agent: $context.agent, model: $context.model }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __permission_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_permission::Guest for Component {
            fn run(
                request: exports::airlock::plugin::hook_permission::Request,
            ) -> exports::airlock::plugin::hook_permission::Opinion {
                use exports::airlock::plugin::hook_permission::{Answer, Opinion};
                let request = $crate::hooks::PermissionRequest {
                    session_id: request.session_id,
                    call_id: request.call_id,
                    agent: request.agent,
                    tool: request.tool,
                    needs: request.needs.into_iter().map(|n| (n.permission, n.pattern)).collect(),
                    is_allowed: matches!(request.by_rules, Answer::Allow),
                };
                match <$hook as $crate::hooks::Permission>::run(&request) {
                    $crate::hooks::Opinion::None => Opinion::None,
                    $crate::hooks::Opinion::Ask => Opinion::Ask,
                    $crate::hooks::Opinion::Deny(reason) => Opinion::Deny(reason),
                    $crate::hooks::Opinion::Allow => Opinion::Allow,
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __message_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_message::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::TurnContext,
                said: exports::airlock::plugin::hook_message::Said,
            ) -> exports::airlock::plugin::hook_message::Said {
                let said = $crate::hooks::Said { text: said.text, notes: said.notes };
                let said = <$hook as $crate::hooks::Message>::run(&$crate::__turn!(context), said);
                exports::airlock::plugin::hook_message::Said { text: said.text, notes: said.notes }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __messages_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_messages::Guest for Component {
            fn run(context: self::airlock::plugin::types::TurnContext, messages: String) -> String {
                use $crate::__private::serde_json::{Value, from_str};
                let Ok(all) = from_str(&messages) else { return messages };
                Value::Array(<$hook as $crate::hooks::Messages>::run(&$crate::__turn!(context), all)).to_string()
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __system_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_system::Guest for Component {
            fn run(context: self::airlock::plugin::types::TurnContext, blocks: Vec<String>) -> Vec<String> {
                <$hook as $crate::hooks::System>::run(&$crate::__turn!(context), blocks)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __params_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_params::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::TurnContext,
                params: exports::airlock::plugin::hook_params::Params,
            ) -> exports::airlock::plugin::hook_params::Params {
                use $crate::__private::serde_json::{Value, from_str};
                let options = params.options.as_deref().and_then(|json| from_str(json).ok()).unwrap_or_default();
                let params = $crate::hooks::RequestParams {
                    temperature: params.temperature,
                    max_output_tokens: params.max_output_tokens,
                    options,
                };
                let params = <$hook as $crate::hooks::Params>::run(&$crate::__turn!(context), params);
                exports::airlock::plugin::hook_params::Params {
                    temperature: params.temperature,
                    max_output_tokens: params.max_output_tokens,
                    options: (!params.options.is_empty()).then(|| Value::Object(params.options).to_string()),
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __headers_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_headers::Guest for Component {
            fn run(context: self::airlock::plugin::types::TurnContext) -> Vec<(String, String)> {
                <$hook as $crate::hooks::Headers>::run(&$crate::__turn!(context))
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tool_spec_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_tool_spec::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::TurnContext,
                tool: exports::airlock::plugin::hook_tool_spec::ToolDecl,
            ) -> exports::airlock::plugin::hook_tool_spec::ToolDecl {
                let Ok(input_schema) = $crate::__private::serde_json::from_str(&tool.input_schema) else { return tool };
                let decl = $crate::hooks::ToolDecl { name: tool.name, description: tool.description, input_schema };
                let decl = <$hook as $crate::hooks::ToolWords>::run(&$crate::__turn!(context), decl);
                exports::airlock::plugin::hook_tool_spec::ToolDecl {
                    name: decl.name,
                    description: decl.description,
                    input_schema: decl.input_schema.to_string(),
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __process_env_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_process_env::Guest for Component {
            fn run(context: self::airlock::plugin::types::CallContext, tool: String) -> Vec<(String, String)> {
                <$hook as $crate::hooks::ProcessEnv>::run(&$crate::__context!(context), &tool)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __command_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_command::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::TurnContext,
                name: String,
                arguments: String,
                text: String,
            ) -> String {
                <$hook as $crate::hooks::Command>::run(&$crate::__turn!(context), &name, &arguments, text)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __compacting_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_compacting::Guest for Component {
            fn run(
                context: self::airlock::plugin::types::TurnContext,
                plan: exports::airlock::plugin::hook_compacting::Plan,
            ) -> exports::airlock::plugin::hook_compacting::Plan {
                let plan = $crate::hooks::Plan { context: plan.context, prompt: plan.prompt, go_on: plan.go_on };
                let plan = <$hook as $crate::hooks::Compacting>::run(&$crate::__turn!(context), plan);
                exports::airlock::plugin::hook_compacting::Plan {
                    context: plan.context,
                    prompt: plan.prompt,
                    go_on: plan.go_on,
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __stop_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_stop::Guest for Component {
            fn run(context: self::airlock::plugin::types::TurnContext, answer: String, round: u32) -> Option<String> {
                <$hook as $crate::hooks::Stop>::run(&$crate::__turn!(context), &answer, round)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __event_hook {
    ($hook:ty) => {
        impl exports::airlock::plugin::hook_event::Guest for Component {
            fn run(event: String) {
                if let Ok(event) = $crate::__private::serde_json::from_str(&event) {
                    <$hook as $crate::hooks::Event>::run(&event);
                }
            }
        }
    };
}
