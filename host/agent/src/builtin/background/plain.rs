//! What a program printed, as text that neither a terminal nor a reader acts on.

use std::iter::Peekable;
use std::str::Chars;

/// Lines, tabs and letters: no control characters, no escape sequences (ECMA-48). A carriage return ends a line.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\u{1b}' => skip(&mut chars),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

fn skip(chars: &mut Peekable<Chars<'_>>) {
    match chars.next_if(|c| matches!(c, '@'..='_' | '7' | '8' | '=' | '>')) {
        Some('[') => {
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']') => while chars.next_if(|c| !c.is_control()).is_some() {},
        _ => {}
    }
}

#[test]
fn nothing_but_text_is_left() {
    for (bytes, want) in [
        (&b"a\r\nb\rc\n"[..], "a\nb\nc\n"),
        (b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b7", "red\u{fffd}"),
        (b"\0\xff\t", "\u{fffd}\u{fffd}\t"),
    ] {
        assert_eq!(plain(bytes), want);
    }
}
