//! Waits for an answer of the person for longer than it may run, and asks nothing unheard of.

use airlock::plugin::ask;

kit::tool!(
    |_, _| {
        let request = ask::Request {
            permission: "deploy".into(),
            patterns: vec!["production".into()],
            always: vec![],
            metadata: None,
        };
        match ask::permission(&request) {
            Ok(()) => text("permitted"),
            Err(denial) => Err(ToolFailure::Failed(format!("{denial:?}"))),
        }
    },
    r#"{"limits":{"wall_ms":300}}"#
);
