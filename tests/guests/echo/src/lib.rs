//! Gives its input back, and tells what it was told.

use airlock::plugin::{log, progress};

kit::tool!(|context, input| {
    log::write(log::Level::Info, "an echo");
    println!("printed");
    progress::update(Some("at work"), Some(r#"{"half":true}"#));
    Ok(ToolOutput {
        title: context.workspace,
        text: input,
        metadata: format!(r#"{{"agent":"{}","now":{}}}"#, context.agent, context.now_ms),
        attachments: vec![],
    })
});
