//! Images and documents.

use airlock::provider::{File, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codec::Newest;
use codec::files::as_text;
use serde_json::{Value, json};

/// Bytes of all files of a request, in base64. The server takes 50 MB for the whole request.
const ALL: usize = 40 << 20;
/// Files of a request (the server's own bound).
const MOST: usize = 500;

/// Writes files, the newest as long as they fit into a request.
pub struct Media(Newest);

impl Media {
    pub fn new(request: &Request) -> Self {
        Self(Newest::new(&request.messages, size, MOST, ALL))
    }

    /// The part of a file. The files of a conversation have to come in its order.
    pub fn part(&mut self, file: &File) -> Value {
        if size(file).is_none() {
            return text(&as_text(file));
        }
        if !self.0.fits() {
            return text(codec::LEFT_OUT);
        }
        let mime = media_type(file);
        let data = format!("data:{mime};base64,{}", STANDARD.encode(&file.data));
        if mime == "application/pdf" {
            let name = file.name.as_deref().filter(|n| !n.is_empty()).unwrap_or("file.pdf");
            return json!({"type": "input_file", "filename": name, "file_data": data});
        }
        json!({"type": "input_image", "image_url": data, "detail": "auto"})
    }
}

fn text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn media_type(file: &File) -> &str {
    if file.mime == "image/jpg" { "image/jpeg" } else { &file.mime }
}

/// Bytes on the wire; `None` for what cannot be sent as it is.
fn size(file: &File) -> Option<usize> {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    let bytes = file.data.len().div_ceil(3) * 4;
    (known.contains(&media_type(file)) && bytes > 0 && bytes <= ALL).then_some(bytes)
}
