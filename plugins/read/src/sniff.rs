//! What a file holds, by its first bytes.

use std::path::Path;

/// Bytes that are looked at.
pub(crate) const SAMPLE: u64 = 4096;

/// Names that end so hold no text, whatever the first bytes say.
const BINARY: [&str; 33] = [
    "zip", "tar", "gz", "bz2", "xz", "zst", "7z", "rar", "exe", "dll", "so", "dylib", "class", "jar", "war", "doc",
    "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "bin", "dat", "obj", "o", "a", "lib", "wasm", "pyc",
    "pyo",
];

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Goes with the result as it is; the media type.
    Attached(&'static str),
    Binary,
    Utf16,
    Text,
}

pub(crate) fn sniff(path: &Path, sample: &[u8]) -> Content {
    if let Some(mime) = attached(sample) {
        return Content::Attached(mime);
    }
    if sample.starts_with(b"\xFF\xFE") || sample.starts_with(b"\xFE\xFF") {
        return Content::Utf16;
    }
    if has_binary_name(path) && !sample.is_empty() || sample.contains(&0) || is_mostly_unprintable(sample) {
        return Content::Binary;
    }
    Content::Text
}

fn attached(sample: &[u8]) -> Option<&'static str> {
    match sample {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

fn has_binary_name(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_ascii_lowercase());
    extension.is_some_and(|e| BINARY.iter().any(|b| e == *b))
}

/// More than 30 % control characters.
fn is_mostly_unprintable(sample: &[u8]) -> bool {
    let unprintable = sample.iter().filter(|b| matches!(b, 0..9 | 14..32 | 127)).count();
    10 * unprintable > 3 * sample.len()
}
