//! An adapter as a third party could write it: each line of the answer is a block of text of its own.

kit::codec!(
    |held, bytes| {
        held.extend_from_slice(&bytes);
        let Some(end) = held.iter().rposition(|b| *b == b'\n') else { return vec![] };
        let rest = held.split_off(end + 1);
        let whole = String::from_utf8_lossy(&std::mem::replace(held, rest)).into_owned();
        whole.lines().flat_map(block).collect()
    },
    |model, mut request| {
        let said: String =
            String::from_utf8_lossy(&request.body).chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let message = format!(r#"{{"role":"user","content":"{said}"}}"#);
        request.body = format!(r#"{{"model":"{model}","messages":[{message}]}}"#).into_bytes();
        request
    }
);

/// Lines of one answer differ, so each can be the id of its block.
fn block(line: &str) -> [StreamEvent; 3] {
    let (id, text) = (line.to_owned(), line.to_owned());
    [
        StreamEvent::TextStart(id.clone()),
        StreamEvent::TextDelta(BlockDelta { id: id.clone(), text }),
        StreamEvent::TextEnd(BlockEnd { id, opaque: None }),
    ]
}
