//! Images and documents, and how many of them a request may hold.

use airlock::provider::File;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files::as_text;
use codec::{Ink, LEFT_OUT, Room};
use serde_json::json;

/// Bytes of one image, in base64 (the server's own bound).
const IMAGE: usize = 5 << 20;
/// Files of a request (the server's own bound), and their bytes in base64. The server takes 32 MiB for the whole request.
pub const ROOM: Room = Room { most: 100, bytes: 24 << 20 };

/// The block of a file.
pub fn block(file: &File) -> Ink {
    let Some(size) = size(file) else { return text(&too_large(file).unwrap_or_else(|| as_text(file))) };
    let (kind, mime) = media_type(file).map_or(("document", "application/pdf"), |mime| ("image", mime));
    let source = json!({"type": "base64", "media_type": mime, "data": STANDARD.encode(&file.data)});
    let block = json!({"type": kind, "source": source});
    Ink::of_file(&block, size, || format!(r#""type":"text","text":"{LEFT_OUT}""#).into_bytes())
}

fn text(text: &str) -> Ink {
    Ink::of(&json!({"type": "text", "text": text}))
}

fn media_type(file: &File) -> Option<&str> {
    match file.mime.as_str() {
        "image/jpg" => Some("image/jpeg"),
        mime @ ("image/jpeg" | "image/png" | "image/gif" | "image/webp") => Some(mime),
        _ => None,
    }
}

fn encoded(file: &File) -> usize {
    file.data.len().div_ceil(3) * 4
}

/// Bytes on the wire; `None` for what cannot be sent as it is.
fn size(file: &File) -> Option<usize> {
    let bytes = encoded(file);
    let fits = match media_type(file) {
        Some(_) => bytes <= IMAGE,
        None => file.mime == "application/pdf" && bytes <= ROOM.bytes,
    };
    (fits && bytes > 0).then_some(bytes)
}

fn too_large(file: &File) -> Option<String> {
    let sendable = media_type(file).is_some() || file.mime == "application/pdf";
    let name = file.name.as_deref().unwrap_or("file");
    (sendable && !file.data.is_empty()).then(|| {
        format!("[The file {name} ({}, {} bytes) is larger than this model accepts]", file.mime, file.data.len())
    })
}
