//! Each line is a piece of text. Built for a target without WASI it is pure; built for WASI it is not.

kit::codec!(|held, bytes| {
    held.extend_from_slice(&bytes);
    let Some(end) = held.iter().rposition(|b| *b == b'\n') else { return vec![] };
    let rest = held.split_off(end + 1);
    let whole = std::mem::replace(held, rest);
    let lines = whole[..end].split(|b| *b == b'\n');
    lines
        .map(|l| StreamEvent::TextDelta(BlockDelta { id: "0".into(), text: String::from_utf8_lossy(l).into_owned() }))
        .collect()
});
