//! Images and documents.

use airlock::provider::File;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files::as_text;
use codec::{Ink, LEFT_OUT, Room};
use serde::Serialize;
use serde_json::json;

/// Files of a request, and their bytes in base64: the server's own bounds, which it sets for the whole request.
pub const ROOM: Room = Room { most: 500, bytes: 40 << 20 };

/// The part of a file.
pub fn part(file: &File) -> Ink {
    let Some(size) = size(file) else { return text(&as_text(file)) };
    let mime = media_type(file);
    let data = format!("data:{mime};base64,{}", STANDARD.encode(&file.data));
    let part = if mime == "application/pdf" {
        let name = file.name.as_deref().filter(|n| !n.is_empty()).unwrap_or("file.pdf");
        json!({"type": "input_file", "filename": name, "file_data": data})
    } else {
        json!({"type": "input_image", "image_url": data, "detail": "auto"})
    };
    Ink::of_file(&part, size, || format!(r#""type":"input_text","text":"{LEFT_OUT}""#).into_bytes())
}

pub fn text(text: &str) -> Ink {
    Ink::of(&Text { kind: "input_text", text })
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

fn media_type(file: &File) -> &str {
    if file.mime == "image/jpg" { "image/jpeg" } else { &file.mime }
}

/// Bytes on the wire; `None` for what cannot be sent as it is.
fn size(file: &File) -> Option<usize> {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    let bytes = file.data.len().div_ceil(3) * 4;
    (known.contains(&media_type(file)) && bytes > 0 && bytes <= ROOM.bytes).then_some(bytes)
}
