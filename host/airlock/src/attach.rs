//! What a run is given besides the words of its prompt: text on standard input, and files.

use crate::cli::say;
use crate::report::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::message::FilePart;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Largest file or standard input.
const MAX: u64 = 10 << 20;
/// How long standard input may stay open before a person is told.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a person gave, apart.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub words: String,
    /// What stood on standard input.
    pub piped: Option<String>,
    pub files: Vec<Attached>,
}

/// A file that goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub path: PathBuf,
    pub part: FilePart,
}

/// Takes the words, what stands on standard input, and the files.
///
/// # Errors
/// A file that is not there, is too large, or is of another kind.
pub fn given(words: &[String], files: &[PathBuf]) -> Result<Given, Report> {
    // Files first: a wrong name should not wait for the end of a pipe.
    let files = files.iter().map(|f| attach(f)).collect::<Result<_, _>>()?;
    // Blanks alone are no words.
    let words = Some(words.join(" ")).filter(|w| !w.trim().is_empty()).unwrap_or_default();
    Ok(Given { words, piped: standard_input()?.filter(|p| !p.trim().is_empty()), files })
}

/// Text goes along as a text part, an image or a PDF as itself.
fn attach(path: &Path) -> Result<Attached, Report> {
    let bytes = bytes(path)?;
    let mime = known(&bytes)
        .or_else(|| is_text(&bytes).then_some("text/plain"))
        .ok_or_else(|| unusable(path, "it is neither text nor a PDF nor a PNG, JPEG, GIF or WebP image"))?;
    let url = format!("data:{mime};base64,{}", STANDARD.encode(&bytes));
    let part = FilePart { mime: mime.into(), filename: Some(path.display().to_string()), url };
    Ok(Attached { path: path.to_owned(), part })
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| !t.contains('\0'))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Report> {
    let failed = |e: std::io::Error| unusable(path, &e.to_string());
    let file = std::fs::File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(unusable(path, "it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX {
        return Err(unusable(path, "it is larger than 10 MiB"));
    }
    Ok(bytes)
}

fn unusable(path: &Path, why: &str) -> Report {
    let what = format!("the file {} cannot be given to the model: {why}", path.display());
    Report::usage(what, "Check the name behind --file.")
}

/// By its first bytes: a name can lie.
fn known(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What was piped in. A terminal is not waited for.
fn standard_input() -> Result<Option<String>, Report> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let waiting = tell_if_waiting();
    let read = stdin.lock().take(MAX + 1).read_to_end(&mut bytes);
    drop(waiting);
    let bad = |why: String| Report::usage(format!("standard input cannot be used: {why}"), "Give a file with --file.");
    match read {
        // Closed from the start: there is nothing to append.
        Err(_) => Ok(None),
        Ok(_) if bytes.len() as u64 > MAX => Err(bad("it is larger than 10 MiB".into())),
        Ok(_) => {
            let text = String::from_utf8(bytes).map_err(|e| bad(format!("it is not UTF-8 text ({e})")))?;
            Ok(Some(text.trim_end().to_owned()).filter(|t| !t.is_empty()))
        }
    }
}

/// A pipe that nobody closes would be waited for in silence. Dropping what is returned ends the watch.
fn tell_if_waiting() -> SyncSender<()> {
    let (over, watch) = sync_channel(0);
    std::thread::spawn(move || {
        if watch.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            say("waiting for the end of standard input (`< /dev/null` where there is nothing to append)");
        }
    });
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_text_or_an_image_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let text = attach(&write("a.png", b"no image")).unwrap().part;
        assert_eq!((text.mime.as_str(), text.url.as_str()), ("text/plain", "data:text/plain;base64,bm8gaW1hZ2U="));
        let image = attach(&write("b.txt", b"\x89PNG\r\n")).unwrap().part;
        assert_eq!((image.mime.as_str(), image.url.as_str()), ("image/png", "data:image/png;base64,iVBORw0K"));
        for (path, word) in [
            (write("c", b"a\0b"), "neither"),
            (write("d", b"\xff\xfe"), "neither"),
            (dir.path().join("missing.txt"), "missing.txt"),
            (dir.path().to_owned(), "no file"),
        ] {
            let report = attach(&path).err().unwrap();
            assert!(report.what.contains(word) && report.exit.code() == 2, "{}", report.what);
        }
    }
}
