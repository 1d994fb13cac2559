//! What carries [`Provider`](super::Provider) over the component boundary.
//!
//! The bindings are generated in the plugin's crate, so the conversions between them and the plain types have to be there as well: a macro.

/// Exports a [`Provider`](crate::provider::Provider) as this component's `provider` interface.
///
/// A second type is the adapter's own [`Conversation`](crate::provider::Conversation); without one it is [`Whole`](crate::provider::Whole).
///
/// Expands to nothing unless the target is wasm: elsewhere the codec is plain Rust, tested without a host.
#[macro_export]
macro_rules! provider_plugin {
    ($codec:ident $(; $($asks:tt)*)?) => {
        $crate::provider_plugin! { $codec, $crate::provider::Whole<$codec> $(; $($asks)*)? }
    };
    ($codec:ident, $conversation:ty $(; $($asks:tt)*)?) => {
        $crate::manifest! { $($($asks)*)? }
        #[cfg(target_family = "wasm")]
        type __AirlockConversation = $conversation;
        #[cfg(target_family = "wasm")]
        mod __airlock {
            use super::{$codec, __AirlockConversation};

            $crate::__provider_bindings! {}
            $crate::__provider_conversions! {}

            struct Component;

            impl wire::Guest for Component {
                type Conversation = Talk;
                type Decoder = Stream;

                fn info() -> wire::ProviderInfo {
                    info(<$codec as plain::Provider>::info())
                }

                fn classify(status: u16, headers: Vec<wire::Header>, body: Vec<u8>) -> wire::ProviderFailure {
                    let headers: Vec<_> = headers.into_iter().map(plain_header).collect();
                    failure(<$codec as plain::Provider>::classify(status, &headers, &body))
                }
            }

            struct Talk(::std::cell::RefCell<__AirlockConversation>);

            impl wire::GuestConversation for Talk {
                fn new(request: wire::Request) -> Self {
                    Self(::std::cell::RefCell::new(plain::Conversation::new(plain_request(request))))
                }

                fn append(&self, messages: Vec<wire::Message>) {
                    let messages = messages.into_iter().map(plain_message).collect();
                    plain::Conversation::append(&mut *self.0.borrow_mut(), messages);
                }

                fn encode(&self) -> Result<wire::HttpRequest, String> {
                    plain::Conversation::encode(&*self.0.borrow()).map(http_request)
                }
            }

            struct Stream(::std::cell::RefCell<<$codec as plain::Provider>::Decoder>);

            impl wire::GuestDecoder for Stream {
                fn new(model: String, content_type: String) -> Self {
                    Self(::std::cell::RefCell::new(plain::Decode::new(&model, &content_type)))
                }

                fn push(&self, bytes: Vec<u8>) -> Vec<wire::StreamEvent> {
                    plain::Decode::push(&mut *self.0.borrow_mut(), &bytes).into_iter().map(event).collect()
                }

                fn finish(&self) -> Vec<wire::StreamEvent> {
                    plain::Decode::finish(&mut *self.0.borrow_mut()).into_iter().map(event).collect()
                }
            }

            export!(Component);
        }
    };
}

/// The conversions of [`provider_plugin!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __provider_conversions {
    () => {
        use self::exports::airlock::plugin::provider as wire;
        use $crate::provider as plain;

        fn info(i: plain::ProviderInfo) -> wire::ProviderInfo {
            wire::ProviderInfo {
                id: i.id,
                name: i.name,
                secrets: i.secrets,
                base_url: i.base_url,
                models: i.models.into_iter().map(model).collect(),
                metadata: i.metadata,
            }
        }

        fn model(m: plain::ModelInfo) -> wire::ModelInfo {
            wire::ModelInfo {
                id: m.id,
                name: m.name,
                context: m.context,
                output: m.output,
                price: m.price.map(|p| wire::Price {
                    input: p.input,
                    output: p.output,
                    cache_read: p.cache_read,
                    cache_write: p.cache_write,
                }),
                tools: m.tools,
                reasoning: m.reasoning,
                images: m.images,
                metadata: m.metadata,
            }
        }

        fn plain_request(r: wire::Request) -> plain::Request {
            plain::Request {
                model: r.model,
                base_url: r.base_url,
                system: r.system,
                messages: r.messages.into_iter().map(plain_message).collect(),
                tools: r.tools.into_iter().map(plain_tool).collect(),
                tool_choice: match r.tool_choice {
                    wire::ToolChoice::Auto => plain::ToolChoice::Auto,
                    wire::ToolChoice::None => plain::ToolChoice::None,
                    wire::ToolChoice::Required => plain::ToolChoice::Required,
                    wire::ToolChoice::Named(name) => plain::ToolChoice::Named(name),
                },
                max_output_tokens: r.max_output_tokens,
                temperature: r.temperature,
                response_schema: r.response_schema,
                session_id: r.session_id,
                secrets: r.secrets,
                options: r.options,
            }
        }

        fn plain_tool(t: wire::ToolDecl) -> plain::ToolDecl {
            plain::ToolDecl { name: t.name, description: t.description, input_schema: t.input_schema }
        }

        fn plain_message(m: wire::Message) -> plain::Message {
            let role = match m.role {
                wire::Role::User => plain::Role::User,
                wire::Role::Assistant => plain::Role::Assistant,
                wire::Role::Tool => plain::Role::Tool,
            };
            plain::Message { role, parts: m.parts.into_iter().map(plain_part).collect() }
        }

        fn plain_part(p: wire::Part) -> plain::Part {
            match p {
                wire::Part::Text(text) => plain::Part::Text(text),
                wire::Part::Reasoning(r) => plain::Part::Reasoning(plain::Reasoning { text: r.text, opaque: r.opaque }),
                wire::Part::File(f) => plain::Part::File(plain_file(f)),
                wire::Part::ToolCall(c) => {
                    plain::Part::ToolCall(plain::ToolCall { id: c.id, name: c.name, input: c.input, opaque: c.opaque })
                }
                wire::Part::ToolResult(r) => plain::Part::ToolResult(plain::ToolResult {
                    call_id: r.call_id,
                    name: r.name,
                    text: r.text,
                    is_error: r.is_error,
                    files: r.files.into_iter().map(plain_file).collect(),
                }),
            }
        }

        fn plain_file(f: wire::File) -> plain::File {
            plain::File { mime: f.mime, name: f.name, data: f.data }
        }

        fn plain_header(h: wire::Header) -> plain::Header {
            plain::Header { name: h.name, value: h.value }
        }

        fn http_request(r: plain::HttpRequest) -> wire::HttpRequest {
            let headers = r.headers.into_iter().map(|h| wire::Header { name: h.name, value: h.value }).collect();
            wire::HttpRequest { method: r.method, url: r.url, headers, body: r.body }
        }

        fn failure(f: plain::ProviderFailure) -> wire::ProviderFailure {
            wire::ProviderFailure {
                kind: failure_kind(f.kind),
                message: f.message,
                retryable: f.retryable,
                retry_after_ms: f.retry_after_ms,
            }
        }

        fn failure_kind(kind: plain::FailureKind) -> wire::FailureKind {
            match kind {
                plain::FailureKind::Auth => wire::FailureKind::Auth,
                plain::FailureKind::Quota => wire::FailureKind::Quota,
                plain::FailureKind::RateLimit => wire::FailureKind::RateLimit,
                plain::FailureKind::Overloaded => wire::FailureKind::Overloaded,
                plain::FailureKind::ContextOverflow => wire::FailureKind::ContextOverflow,
                plain::FailureKind::InvalidRequest => wire::FailureKind::InvalidRequest,
                plain::FailureKind::ContentFilter => wire::FailureKind::ContentFilter,
                plain::FailureKind::Server => wire::FailureKind::Server,
                plain::FailureKind::Transport => wire::FailureKind::Transport,
                plain::FailureKind::MalformedToolCall => wire::FailureKind::MalformedToolCall,
                plain::FailureKind::Unknown => wire::FailureKind::Unknown,
            }
        }

        fn finish(f: plain::StepFinish) -> wire::StepFinish {
            let reason = match f.reason {
                plain::FinishReason::Stop => wire::FinishReason::Stop,
                plain::FinishReason::Length => wire::FinishReason::Length,
                plain::FinishReason::ToolCalls => wire::FinishReason::ToolCalls,
                plain::FinishReason::ContentFilter => wire::FinishReason::ContentFilter,
                plain::FinishReason::Pause => wire::FinishReason::Pause,
                plain::FinishReason::Error => wire::FinishReason::Error,
                plain::FinishReason::Unknown => wire::FinishReason::Unknown,
            };
            let usage = f.usage.map(|u| wire::Usage {
                input: u.input,
                output: u.output,
                reasoning: u.reasoning,
                cache_read: u.cache_read,
                cache_write: u.cache_write,
            });
            wire::StepFinish { reason, usage, metadata: f.metadata }
        }

        fn tool_call(c: plain::ToolCall) -> wire::ToolCall {
            wire::ToolCall { id: c.id, name: c.name, input: c.input, opaque: c.opaque }
        }

        fn tool_result(r: plain::ToolResult) -> wire::ToolResult {
            let files = r.files.into_iter().map(|f| wire::File { mime: f.mime, name: f.name, data: f.data }).collect();
            wire::ToolResult { call_id: r.call_id, name: r.name, text: r.text, is_error: r.is_error, files }
        }

        fn event(e: plain::StreamEvent) -> wire::StreamEvent {
            use plain::StreamEvent as P;
            use wire::StreamEvent as W;
            let delta = |id, text| wire::BlockDelta { id, text };
            let end = |id, opaque| wire::BlockEnd { id, opaque };
            match e {
                P::StepStart => W::StepStart,
                P::TextStart { id } => W::TextStart(id),
                P::TextDelta { id, text } => W::TextDelta(delta(id, text)),
                P::TextEnd { id, opaque } => W::TextEnd(end(id, opaque)),
                P::ReasoningStart { id } => W::ReasoningStart(id),
                P::ReasoningDelta { id, text } => W::ReasoningDelta(delta(id, text)),
                P::ReasoningEnd { id, opaque } => W::ReasoningEnd(end(id, opaque)),
                P::ToolInputStart { id, name } => W::ToolInputStart(wire::InputStart { id, name }),
                P::ToolInputDelta { id, text } => W::ToolInputDelta(delta(id, text)),
                P::ToolInputEnd { id } => W::ToolInputEnd(id),
                P::ToolCall(c) => W::ToolCall(tool_call(c)),
                P::ToolResult(r) => W::ToolResult(tool_result(r)),
                P::StepFinish(f) => W::StepFinish(finish(f)),
                P::Failure(f) => W::Failure(failure(f)),
            }
        }
    };
}
