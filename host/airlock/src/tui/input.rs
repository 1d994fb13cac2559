//! Lines that a person types. One thread reads for as long as the process lives: a question that is given up leaves no reader
//! behind that would take the answer to the next one.

use std::io::BufRead;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Lines that wait to be looked at. A thread that may not go on reading leaves the rest with the terminal.
const MAX_LINES: usize = 16;

/// Characters of one line that count.
const MAX_LINE: u64 = 64 * 1024;

/// How long lines that the reader took before a question may need to arrive.
const SETTLE: Duration = Duration::from_millis(20);
const MAX_SETTLE: Duration = Duration::from_secs(1);

/// The person's lines. The reader starts with the first question: a run in the background that asks nothing reads nothing.
#[derive(Default)]
pub struct Input(Option<Receiver<String>>);

impl Input {
    /// Forgets all that was typed up to now: it was no answer to what is about to be asked.
    pub async fn forget(&mut self) {
        flush_terminal();
        let lines = self.0.get_or_insert_with(|| read(|| std::io::stdin().lock()));
        drain(lines).await;
    }

    /// `None` at the end of the input. A terminal has more after it: the next question begins anew.
    pub async fn line(&mut self) -> Option<String> {
        let line = self.0.get_or_insert_with(|| read(|| std::io::stdin().lock())).recv().await;
        if line.is_none() {
            self.0 = None;
        }
        line
    }
}

/// Takes lines until none comes for a moment, or they never end.
async fn drain(lines: &mut Receiver<String>) {
    let quiet = async { while let Ok(Some(_)) = tokio::time::timeout(SETTLE, lines.recv()).await {} };
    // Whoever types without an end is asked all the same.
    let _ = tokio::time::timeout(MAX_SETTLE, quiet).await;
}

/// What the terminal holds and nobody has read yet.
fn flush_terminal() {
    // No terminal, nothing to flush.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

fn read<R: BufRead>(open: impl FnOnce() -> R + Send + 'static) -> Receiver<String> {
    let (lines, taken) = channel(MAX_LINES);
    // The thread ends with the input or with the process.
    std::thread::spawn(move || pass_on(open(), &lines));
    taken
}

fn pass_on(mut from: impl BufRead, lines: &Sender<String>) {
    loop {
        let mut line = Vec::new();
        match std::io::Read::take(&mut from, MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        if lines.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, PipeWriter, Write};

    fn piped() -> (PipeWriter, Input) {
        let (reader, writer) = std::io::pipe().unwrap();
        (writer, Input(Some(read(|| BufReader::new(reader)))))
    }

    #[tokio::test]
    async fn a_dropped_question_takes_no_line() {
        let (mut typed, mut input) = piped();
        let given_up = tokio::time::timeout(Duration::from_millis(20), input.line()).await;
        assert!(given_up.is_err());
        typed.write_all(b"once\n").unwrap();
        assert_eq!(input.line().await.as_deref(), Some("once\n"));
        drop(typed);
        assert_eq!(input.0.as_mut().unwrap().recv().await, None);
    }

    #[tokio::test]
    async fn what_was_typed_before_is_no_answer() {
        let (mut typed, mut input) = piped();
        typed.write_all("o\n".repeat(3 * MAX_LINES).as_bytes()).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        drain(input.0.as_mut().unwrap()).await;
        typed.write_all(b"r\n").unwrap();
        assert_eq!(input.line().await.as_deref(), Some("r\n"));
    }
}
