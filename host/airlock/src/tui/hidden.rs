//! A line that is typed and not shown. Ctrl-C ends the question, and the terminal is as it was before.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, Read, Write};

/// Puts the terminal back, however the question ends.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        // Signals, too: one that ends the process would leave the terminal without its echo.
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// What a key press comes to.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    More,
    Done,
    GivenUp,
}

/// Asks on the terminal; `None` where the person gives up. At most `max` bytes count.
///
/// # Errors
/// A terminal that cannot be read.
pub fn ask(question: &str, max: usize) -> io::Result<Option<String>> {
    let quiet = Quiet::begin()?;
    let mut err = io::stderr().lock();
    write!(err, "{question} ")?;
    err.flush()?;
    let mut line = Vec::new();
    let mut end = Typed::GivenUp;
    for byte in io::stdin().lock().bytes() {
        end = take(&mut line, byte?, max);
        if end != Typed::More {
            break;
        }
    }
    drop(quiet);
    writeln!(err)?;
    Ok((end == Typed::Done).then(|| String::from_utf8_lossy(&line).into_owned()))
}

fn take(line: &mut Vec<u8>, byte: u8, max: usize) -> Typed {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const ERASE_LINE: u8 = 21;
    match byte {
        b'\r' | b'\n' => return Typed::Done,
        INTERRUPT => return Typed::GivenUp,
        END if line.is_empty() => return Typed::GivenUp,
        END => return Typed::Done,
        8 | 127 => drop(line.pop()),
        ERASE_LINE => line.clear(),
        _ if line.len() < max => line.push(byte),
        _ => {}
    }
    Typed::More
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_one_by_one() {
        for (typed, want, end) in [
            (&b"sk-1\r"[..], "sk-1", Typed::Done),
            (b"sx\x7fk\n", "sk", Typed::Done),
            (b"wrong\x15sk\n", "sk", Typed::Done),
            (b"sk\x03", "sk", Typed::GivenUp),
            (b"\x04", "", Typed::GivenUp),
            (b"sk\x04", "sk", Typed::Done),
            (b"123456789\n", "12345678", Typed::Done),
        ] {
            let mut line = Vec::new();
            let ends: Vec<Typed> = typed.iter().map(|b| take(&mut line, *b, 8)).collect();
            assert_eq!((line.as_slice(), ends.last()), (want.as_bytes(), Some(&end)), "{typed:?}");
        }
    }
}
