//! What a strict server demands of a request, one file a protocol: pure functions of the body, used by the mock server and by the
//! adapters' own tests alike. The rules are the vendors' published ones and what their servers answer where one is broken.

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod responses;

pub use anthropic::anthropic_request;
pub use gemini::gemini_request;
pub use ollama::ollama_request;
pub use responses::responses_request;
