//! What a large output is cut to (agent-core, section 6.14): the head stays, the whole is kept in a file that the model is told of.

use model::store::Store;
use model::tool_state::Metadata;
use serde_json::Value;
use std::path::Path;

pub const MAX_OUTPUT_LINES: usize = 2000;
pub const MAX_OUTPUT_BYTES: usize = 51_200;

/// Set by a tool that has cut its output itself, and by this module.
const TRUNCATED: &str = "truncated";
/// The file that holds the whole.
const OUTPUT_PATH: &str = "outputPath";

/// Cuts `text` unless the tool did so itself; `metadata` then says whether it was cut, and where the whole is.
pub(crate) async fn bound(text: String, metadata: &mut Metadata, store: &dyn Store) -> String {
    if metadata.contains_key(TRUNCATED) {
        return text;
    }
    let Some(head) = head(&text, MAX_OUTPUT_LINES, MAX_OUTPUT_BYTES) else {
        metadata.insert(TRUNCATED.into(), Value::Bool(false));
        return text;
    };
    metadata.insert(TRUNCATED.into(), Value::Bool(true));
    let kept = store.keep_output(&text).await;
    if let Err(why) = &kept {
        tracing::warn!(%why, "a large output could not be kept");
    }
    let kept = kept.ok();
    if let Some(path) = &kept {
        metadata.insert(OUTPUT_PATH.into(), Value::String(path.display().to_string()));
    }
    format!("{head}\n\n{}", note(&text, head, kept.as_deref()))
}

/// The longest head of whole lines that fits both bounds (of characters, where the first line alone does not fit). `None` = all
/// of it fits.
fn head(text: &str, lines: usize, bytes: usize) -> Option<&str> {
    let by_lines = text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    // A newline at the very end begins no further line.
    let by_lines = if by_lines + 1 >= text.len() { text.len() } else { by_lines };
    if by_lines == text.len() && text.len() <= bytes {
        return None;
    }
    let cut = by_lines.min(text.floor_char_boundary(bytes));
    let whole_lines = if cut == by_lines { cut } else { text[..cut].rfind('\n').unwrap_or(cut) };
    Some(&text[..whole_lines])
}

fn note(text: &str, head: &str, kept: Option<&Path>) -> String {
    let removed = &text[head.len()..];
    let lines = removed.trim_matches('\n').lines().count();
    let lost = format!("[{lines} more lines, {} bytes, were cut off.", removed.len());
    match kept {
        Some(path) => format!(
            "{lost} The whole output is in {}: search it with grep, or read it with an offset and a limit.]",
            path.display()
        ),
        None => format!("{lost} The whole could not be kept: ask for less at a time.]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::store::Memory;

    #[test]
    fn the_head_fits_both_bounds() {
        let check = |text: &str, lines, bytes, expected: Option<&str>| {
            assert_eq!(head(text, lines, bytes), expected, "{text:?} {lines} {bytes}");
        };
        check("", 2, 10, None);
        check("a\nb", 2, 10, None);
        check("a\nb\n", 2, 10, None);
        check("a\nb\nc", 2, 10, Some("a\nb"));
        check("aaaa\nbbbb", 9, 7, Some("aaaa"));
        check("aaaa\nbbbb", 9, 9, None);
        check("aaaaaaaa", 9, 3, Some("aaa"));
        check("ééé", 9, 3, Some("é"));
    }

    #[tokio::test]
    async fn a_cut_output_names_its_file_and_what_is_missing() {
        let store = Memory::default();
        let text = "line\n".repeat(MAX_OUTPUT_LINES + 5);
        let mut metadata = Metadata::new();
        let shown = bound(text.clone(), &mut metadata, &store).await;
        assert_eq!(metadata["truncated"], Value::Bool(true));
        assert_eq!(store.outputs(), [text]);
        let path = metadata["outputPath"].as_str().unwrap();
        assert!(shown.contains(path) && shown.contains("5 more lines"), "{}", &shown[shown.len() - 200..]);
        assert_eq!(shown.lines().filter(|l| *l == "line").count(), MAX_OUTPUT_LINES);
    }

    #[tokio::test]
    async fn a_tool_that_cuts_itself_is_left_alone() {
        let store = Memory::default();
        let text = "x".repeat(MAX_OUTPUT_BYTES + 1);
        let mut metadata = Metadata::new();
        metadata.insert("truncated".into(), Value::Bool(false));
        assert_eq!(bound(text.clone(), &mut metadata, &store).await, text);
        assert!(store.outputs().is_empty());
        let mut small = Metadata::new();
        assert_eq!(bound("ok".into(), &mut small, &store).await, "ok");
        assert_eq!(small["truncated"], Value::Bool(false));
    }
}
