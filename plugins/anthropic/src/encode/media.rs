//! Images and documents, and how many of them a request may hold.

use airlock::provider::{File, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::files::as_text;
use codec::{LEFT_OUT, Newest};
use serde_json::{Value, json};

/// Bytes of one image, in base64 (the server's own bound).
const IMAGE: usize = 5 << 20;
/// Bytes of all files of a request, in base64. The server takes 32 MiB for the whole request.
const ALL: usize = 24 << 20;
/// Files of a request (the server's own bound).
const MOST: usize = 100;

/// Writes files, the newest as long as they fit into a request.
pub struct Media(Newest);

impl Media {
    pub fn new(messages: &[Message]) -> Self {
        Self(Newest::new(messages, size, MOST, ALL))
    }

    /// The block of a file. The files of a conversation have to come in its order.
    pub fn block(&mut self, file: &File) -> Value {
        if size(file).is_none() {
            return text(&too_large(file).unwrap_or_else(|| as_text(file)));
        }
        if !self.0.fits() {
            return text(LEFT_OUT);
        }
        let data = STANDARD.encode(&file.data);
        match media_type(file) {
            Some(mime) => json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}),
            None => {
                json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})
            }
        }
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
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
        None => file.mime == "application/pdf" && bytes <= ALL,
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
