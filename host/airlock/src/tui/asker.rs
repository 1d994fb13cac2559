//! Whoever answers the gate's questions: a person at the terminal, `--yes`, or nobody.

use super::Screen;
use super::clean::{clean, one_line};
use super::diff;
use crate::cli::{Yes, say_styled};
use async_trait::async_trait;
use model::permission::{Ask, Asker, Reply};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Nobody is there.
pub struct Nobody;

#[async_trait]
impl Asker for Nobody {
    async fn ask(&self, _: &Ask, _: &CancellationToken) -> Option<Reply> {
        None
    }
}

/// `--yes`: the same answer to every question.
pub struct Ready(pub Yes);

#[async_trait]
impl Asker for Ready {
    async fn ask(&self, _: &Ask, _: &CancellationToken) -> Option<Reply> {
        Some(match self.0 {
            Yes::Once => Reply::Once,
            Yes::Always => Reply::Always,
        })
    }
}

/// A person who reads stderr and writes to stdin. One question at a time.
pub struct Person {
    screen: Arc<Screen>,
    turn: Mutex<()>,
}

impl Person {
    #[must_use]
    pub fn new(screen: Arc<Screen>) -> Self {
        Self { screen, turn: Mutex::new(()) }
    }

    /// A question can be seen and answered.
    #[must_use]
    pub fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

#[async_trait]
impl Asker for Person {
    async fn ask(&self, ask: &Ask, cancel: &CancellationToken) -> Option<Reply> {
        let _turn = self.turn.lock().await;
        let _hold = self.screen.hold();
        say_styled(&question(ask));
        loop {
            prompt();
            let line = tokio::select! {
                () = cancel.cancelled() => return None,
                line = read_line() => line?,
            };
            if let Some(reply) = understand(&line) {
                return Some(reply);
            }
        }
    }
}

fn prompt() {
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "  [o]nce, [a]lways, or [r]eject (with a reason: r REASON): ").and_then(|()| err.flush());
}

/// `None` at the end of the input.
async fn read_line() -> Option<String> {
    let read = || {
        let mut line = String::new();
        let taken = std::io::stdin().read_line(&mut line).ok()?;
        (taken > 0).then_some(line)
    };
    tokio::task::spawn_blocking(read).await.ok()?
}

fn question(ask: &Ask) -> String {
    let bold = anstyle::Style::new().bold();
    let mut text = format!("{bold}{} asks for {}{bold:#}", clean(&ask.tool.name), clean(&ask.permission));
    for pattern in &ask.patterns {
        let _ = write!(text, "\n  {}", one_line(pattern, 400));
    }
    if let Some(d) = ask.metadata.get("diff").and_then(|d| d.as_str()) {
        let _ = write!(text, "\n{}", diff::coloured(d));
    }
    if !ask.always.is_empty() {
        let _ = write!(text, "\n  always would allow: {}", one_line(&ask.always.join(", "), 400));
    }
    text
}

/// What a person wrote. `None` = to be asked again.
fn understand(line: &str) -> Option<Reply> {
    let line = line.trim();
    let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let reason = Some(reason.trim().to_owned()).filter(|r| !r.is_empty());
    match word.to_ascii_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Some(Reply::Once),
        "a" | "always" => Some(Reply::Always),
        "r" | "reject" | "n" | "no" => Some(Reply::Reject { message: reason }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let reject = |m: Option<&str>| Some(Reply::Reject { message: m.map(str::to_owned) });
        for (line, want) in [
            ("o\n", Some(Reply::Once)),
            (" YES ", Some(Reply::Once)),
            ("always", Some(Reply::Always)),
            ("r", reject(None)),
            ("r use the other file\n", reject(Some("use the other file"))),
            ("", None),
            ("what?", None),
        ] {
            assert_eq!(understand(line), want, "{line:?}");
        }
    }
}
