//! The glue that all guests have in common. Bindings are made in each guest: a shared crate would carry its type section along.

/// A component with one tool, called like the crate.
#[macro_export]
macro_rules! tool {
    ($call:expr $(, $manifest:literal)?) => {
        wit_bindgen::generate!({ path: "../../../wit/v0.1", world: "tool-plugin", generate_all });
        use airlock::plugin::types::{Annotations, CallContext, ToolFailure, ToolOutput, ToolSpec};

        struct Plugin;

        impl exports::airlock::plugin::tool::Guest for Plugin {
            fn list() -> Vec<ToolSpec> {
                vec![ToolSpec {
                    name: env!("CARGO_PKG_NAME").into(),
                    description: "A guest of the tests.".into(),
                    input_schema: r#"{"type":"object"}"#.into(),
                    annotations: Annotations::READ_ONLY,
                    scopes: vec![],
                    metadata: None,
                }]
            }

            fn call(context: CallContext, _name: String, input: String) -> Result<ToolOutput, ToolFailure> {
                let call: fn(CallContext, String) -> Result<ToolOutput, ToolFailure> = $call;
                call(context, input)
            }
        }

        export!(Plugin);

        pub fn text(text: impl Into<String>) -> Result<ToolOutput, ToolFailure> {
            Ok(ToolOutput { title: String::new(), text: text.into(), metadata: "{}".into(), attachments: vec![] })
        }

        $($crate::manifest!($manifest);)?
    };
}

/// The manifest of a component, as its compiler's output carries it.
#[macro_export]
macro_rules! manifest {
    ($json:literal) => {
        #[unsafe(link_section = "airlock:manifest")]
        #[used]
        static MANIFEST: [u8; $json.len()] = *$json.as_bytes().first_chunk().unwrap();
    };
}

/// A component with all three hooks: what each makes of a text, of an input, and of a result's text and metadata.
#[macro_export]
macro_rules! hook {
    ($text:expr, $before:expr, $after:expr) => {
        wit_bindgen::generate!({ path: "../../../wit/v0.1", world: "guard-plugin", generate_all });
        use exports::airlock::plugin::{hook_text_complete, hook_tool_after, hook_tool_before};

        struct Plugin;

        impl hook_text_complete::Guest for Plugin {
            fn run(_: hook_text_complete::TextContext, text: String) -> String {
                let hook: fn(String) -> String = $text;
                hook(text)
            }
        }

        impl hook_tool_before::Guest for Plugin {
            fn run(_: hook_tool_before::CallContext, tool: String, input: String) -> Result<String, String> {
                let hook: fn(String, String) -> Result<String, String> = $before;
                hook(tool, input)
            }
        }

        impl hook_tool_after::Guest for Plugin {
            fn run(
                _: hook_tool_after::CallContext,
                _: String,
                _: String,
                view: hook_tool_after::ToolView,
            ) -> hook_tool_after::ToolView {
                let hook: fn(hook_tool_after::ToolView) -> hook_tool_after::ToolView = $after;
                hook(view)
            }
        }

        export!(Plugin);
    };
}

/// A component with the other hooks, in this order: permission, message, messages, system, params, headers, tool-spec, process-env,
/// command, compacting, stop, event.
#[macro_export]
macro_rules! points {
    (
        $permission:expr, $message:expr, $messages:expr, $system:expr, $params:expr, $headers:expr, $tool_spec:expr,
        $process_env:expr, $command:expr, $compacting:expr, $stop:expr, $event:expr $(,)?
    ) => {
        wit_bindgen::generate!({ path: "../../../wit/v0.1", world: "further-hooks-plugin", generate_all });
        use airlock::plugin::types::{CallContext, TurnContext};
        use exports::airlock::plugin::{
            hook_command, hook_compacting, hook_event, hook_headers, hook_message, hook_messages, hook_params,
            hook_permission, hook_process_env, hook_stop, hook_system, hook_tool_spec,
        };

        struct Plugin;

        impl hook_permission::Guest for Plugin {
            fn run(request: hook_permission::Request) -> hook_permission::Opinion {
                let hook: fn(hook_permission::Request) -> hook_permission::Opinion = $permission;
                hook(request)
            }
        }
        impl hook_message::Guest for Plugin {
            fn run(_: TurnContext, said: hook_message::Said) -> hook_message::Said {
                let hook: fn(hook_message::Said) -> hook_message::Said = $message;
                hook(said)
            }
        }
        impl hook_messages::Guest for Plugin {
            fn run(_: TurnContext, messages: String) -> String {
                let hook: fn(String) -> String = $messages;
                hook(messages)
            }
        }
        impl hook_system::Guest for Plugin {
            fn run(_: TurnContext, blocks: Vec<String>) -> Vec<String> {
                let hook: fn(Vec<String>) -> Vec<String> = $system;
                hook(blocks)
            }
        }
        impl hook_params::Guest for Plugin {
            fn run(_: TurnContext, params: hook_params::Params) -> hook_params::Params {
                let hook: fn(hook_params::Params) -> hook_params::Params = $params;
                hook(params)
            }
        }
        impl hook_headers::Guest for Plugin {
            fn run(context: TurnContext) -> Vec<(String, String)> {
                let hook: fn(TurnContext) -> Vec<(String, String)> = $headers;
                hook(context)
            }
        }
        impl hook_tool_spec::Guest for Plugin {
            fn run(_: TurnContext, tool: hook_tool_spec::ToolDecl) -> hook_tool_spec::ToolDecl {
                let hook: fn(hook_tool_spec::ToolDecl) -> hook_tool_spec::ToolDecl = $tool_spec;
                hook(tool)
            }
        }
        impl hook_process_env::Guest for Plugin {
            fn run(_: CallContext, tool: String) -> Vec<(String, String)> {
                let hook: fn(String) -> Vec<(String, String)> = $process_env;
                hook(tool)
            }
        }
        impl hook_command::Guest for Plugin {
            fn run(_: TurnContext, _: String, _: String, text: String) -> String {
                let hook: fn(String) -> String = $command;
                hook(text)
            }
        }
        impl hook_compacting::Guest for Plugin {
            fn run(_: TurnContext, plan: hook_compacting::Plan) -> hook_compacting::Plan {
                let hook: fn(hook_compacting::Plan) -> hook_compacting::Plan = $compacting;
                hook(plan)
            }
        }
        impl hook_stop::Guest for Plugin {
            fn run(_: TurnContext, answer: String, round: u32) -> Option<String> {
                let hook: fn(String, u32) -> Option<String> = $stop;
                hook(answer, round)
            }
        }
        impl hook_event::Guest for Plugin {
            fn run(event: String) {
                let hook: fn(String) = $event;
                hook(event)
            }
        }

        export!(Plugin);
    };
}

/// A model adapter: what its decoder makes of bytes, and what it changes in the request before it is handed out. All else is the
/// same for all.
#[macro_export]
macro_rules! codec {
    ($push:expr) => {
        $crate::codec!($push, |_, request| request);
    };
    ($push:expr, $send:expr) => {
        wit_bindgen::generate!({ path: "../../../wit/v0.1", world: "provider-plugin", generate_all });
        use exports::airlock::plugin::provider::*;

        struct Plugin;

        impl Guest for Plugin {
            type Conversation = Told;
            type Decoder = Decoding;

            fn info() -> ProviderInfo {
                let price = Price {
                    input: "2.5".into(),
                    output: "10".into(),
                    cache_read: "0.25".into(),
                    cache_write: "3.125".into(),
                };
                let model = ModelInfo {
                    id: "m".into(),
                    name: "M".into(),
                    context: 1000,
                    output: 100,
                    price: Some(price),
                    tools: true,
                    reasoning: false,
                    images: false,
                    metadata: None,
                };
                ProviderInfo {
                    id: env!("CARGO_PKG_NAME").into(),
                    name: "Lines".into(),
                    secrets: vec!["KEY".into()],
                    base_url: "echo:lines".into(),
                    models: vec![model],
                    metadata: None,
                }
            }

            fn classify(status: u16, headers: Vec<Header>, body: Vec<u8>) -> ProviderFailure {
                let wait = headers.iter().find(|h| h.name == "retry-after").and_then(|h| h.value.parse::<u64>().ok());
                ProviderFailure {
                    kind: if status == 429 { FailureKind::RateLimit } else { FailureKind::Server },
                    message: format!("{status}: {}", String::from_utf8_lossy(&body)),
                    retryable: true,
                    retry_after_ms: wait.map(|s| s * 1000),
                }
            }
        }

        struct Told(std::cell::RefCell<Request>);

        impl GuestConversation for Told {
            fn new(request: Request) -> Self {
                Self(std::cell::RefCell::new(request))
            }

            fn append(&self, messages: Vec<Message>) {
                self.0.borrow_mut().messages.extend(messages);
            }

            fn encode(&self) -> Result<HttpRequest, String> {
                let request = self.0.borrow();
                if request.model == "unspeakable" {
                    return Err("there are no words for it".into());
                }
                let mut headers = vec![Header { name: "content-type".into(), value: "application/json".into() }];
                if request.secrets.iter().any(|s| s == "KEY") {
                    headers.push(Header { name: "authorization".into(), value: "Bearer {{secret:KEY}}".into() });
                }
                let url = match request.model.as_str() {
                    "elsewhere" => "https://elsewhere.example/chat".into(),
                    _ if request.base_url.starts_with("echo:") => request.base_url.clone(),
                    _ => format!("{}/chat", request.base_url),
                };
                let body = request.messages.iter().flat_map(|m| &m.parts).filter_map(|p| match p {
                    Part::Text(t) => Some(t.as_str()),
                    _ => None,
                });
                let body = body.collect::<String>().into_bytes();
                let send: fn(&str, HttpRequest) -> HttpRequest = $send;
                Ok(send(&request.model, HttpRequest { method: "POST".into(), url, headers, body }))
            }
        }

        #[derive(Default)]
        struct Decoding(std::cell::RefCell<Vec<u8>>);

        impl GuestDecoder for Decoding {
            fn new(_: String, _: String) -> Self {
                Self::default()
            }

            fn push(&self, bytes: Vec<u8>) -> Vec<StreamEvent> {
                let push: fn(&mut Vec<u8>, Vec<u8>) -> Vec<StreamEvent> = $push;
                push(&mut self.0.borrow_mut(), bytes)
            }

            fn finish(&self) -> Vec<StreamEvent> {
                vec![StreamEvent::StepFinish(StepFinish { reason: FinishReason::Stop, usage: None, metadata: None })]
            }
        }

        export!(Plugin);
    };
}
