//! The account of what the tools gave. Nothing is said that they did not say.

use crate::explorer::{Done, Seen, names};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const WHO: &str = "I am not a language model: no model is set up, so this is Airlock's offline stand-in. It looks at the workspace by fixed \
rules and cannot carry out a task.\n";

const SETUP: &str = "\nTo work with a model, do one of these and start again:\n\
- put a key into the environment, such as `OPENAI_API_KEY`\n\
- start a local server: Ollama, llama.cpp, LM Studio or vLLM\n\
- write `model = \"provider/model\"` into the config\n";

/// Lines of a README that are shown.
const README_LINES: usize = 8;
/// Names that are listed before the rest is counted.
const MOST_NAMES: usize = 20;
const LONGEST_LINE: usize = 160;

pub fn of(seen: &Seen<'_>) -> String {
    let mut out = WHO.to_owned();
    match seen.done.split_first() {
        None if seen.can_look => out.push_str("\nThe look at the workspace gave no result.\n"),
        None => out.push_str("\nI was given no tool to look at the workspace with (neither `read` nor `glob`), so I know nothing about it.\n"),
        Some((listing, files)) => {
            folder(listing, &mut out);
            files.iter().for_each(|done| file(done, &mut out));
        }
    }
    out.push_str(SETUP);
    out
}

fn folder(listing: &Done<'_>, out: &mut String) {
    if listing.result.is_error {
        let _ = writeln!(out, "\nI could not look at the workspace: {}", line(&listing.result.text));
        return;
    }
    let names = names(&listing.result.text);
    let (folders, files): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| name.ends_with('/'));
    out.push_str("\nWhat lies in the workspace:\n");
    let _ = writeln!(out, "- folders: {}", list(&folders));
    let _ = writeln!(out, "- files: {}", kinds(&files));
}

fn list(names: &[&String]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|n| format!("`{n}`")).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        _ if names.is_empty() => "none".into(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Files counted by their extension.
fn kinds(files: &[&String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in files {
        let extension =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("without extension", |(_, e)| e);
        *counts.entry(extension).or_default() += 1;
    }
    let all: Vec<String> = counts.iter().take(MOST_NAMES).map(|(kind, count)| format!("{count} {kind}")).collect();
    if all.is_empty() { "none".into() } else { format!("{} ({})", files.len(), all.join(", ")) }
}

fn file(done: &Done<'_>, out: &mut String) {
    let name = serde_json::from_str::<serde_json::Value>(&done.call.input).ok();
    let name = name.as_ref().and_then(|v| v["filePath"].as_str()).unwrap_or("a file");
    if done.result.is_error {
        let _ = writeln!(out, "\n`{name}` could not be read: {}", line(&done.result.text));
        return;
    }
    let lines = content(&done.result.text);
    if name.to_ascii_lowercase().starts_with("readme") {
        let _ = writeln!(out, "\n`{name}` begins:");
        for said in lines.iter().filter(|l| !l.trim().is_empty()).take(README_LINES) {
            let _ = writeln!(out, "> {}", line(said));
        }
    } else {
        let facts: Vec<String> = lines.iter().filter_map(|l| fact(l)).take(4).collect();
        let facts = if facts.is_empty() { format!("{} lines", lines.len()) } else { facts.join(", ") };
        let _ = writeln!(out, "\n`{name}`: {facts}");
    }
}

/// The lines of a file as `read` gives them, without frame and numbers.
fn content(text: &str) -> Vec<&str> {
    let inner = text.split_once("<content>\n").map_or(text, |(_, rest)| rest);
    let inner = inner.split("</content>").next().unwrap_or(inner);
    inner.lines().map(without_number).collect()
}

fn without_number(line: &str) -> &str {
    match line.trim_start().split_once(": ").or_else(|| line.trim_start().split_once(':')) {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => line,
    }
}

/// `name = "x"`, `"version": "1"`, `module x`: what a manifest says of itself.
fn fact(line: &str) -> Option<String> {
    let line = line.trim().trim_end_matches(',');
    if let Some(module) = line.strip_prefix("module ") {
        return Some(format!("module {}", module.trim()));
    }
    let (key, value) = line.split_once('=').or_else(|| line.split_once(':'))?;
    let key = key.trim().trim_matches('"');
    let value = value.trim();
    let is_text = value.len() > 2 && value.starts_with('"') && value.ends_with('"');
    let known = matches!(key, "name" | "version" | "description");
    (known && is_text).then(|| self::line(&format!("{key} {}", value.trim_matches('"'))))
}

fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let joined = words.join(" ");
    match joined.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}
