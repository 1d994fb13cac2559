//! Gives back more than a result may hold; as an attachment, where the input says so.

kit::tool!(|_, input| {
    if input.contains("attachment") {
        let data = vec![0; 21 << 20];
        let attachments = vec![airlock::plugin::types::Attachment { mime: "image/png".into(), name: None, data }];
        return Ok(ToolOutput { title: String::new(), text: String::new(), metadata: "{}".into(), attachments });
    }
    text("x".repeat((1 << 20) + 1))
});
