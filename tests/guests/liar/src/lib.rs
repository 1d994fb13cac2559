//! Gives back metadata that is no JSON object.

kit::tool!(|_, _| Ok(ToolOutput {
    title: String::new(),
    text: "fine".into(),
    metadata: "[1]".into(),
    attachments: vec![]
}));
