//! Bytes to text and back without a loss.

use std::borrow::Cow;
use std::fmt;

const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_LE_MARK: &[u8] = &[0xFF, 0xFE];
const UTF16_BE_MARK: &[u8] = &[0xFE, 0xFF];

/// Where a byte that is no UTF-8 is kept: the character of private use that ends in the byte.
const STAND_IN: u32 = 0x0010_FE00;

/// How a file's text is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8 {
        mark: bool,
    },
    Utf16 {
        big_endian: bool,
    },
    /// Some other one, of which only ASCII is understood. Each other byte is kept as it is.
    Unknown,
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Without a byte order mark.
    pub text: String,
    pub encoding: Encoding,
}

/// Why bytes and text do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    /// NUL bytes.
    Binary,
    /// UTF-16 with half a character somewhere.
    BrokenUtf16,
    /// The text to be written has characters that the file's encoding cannot be trusted with.
    Unencodable,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "it is a binary file",
            Self::BrokenUtf16 => "its encoding is broken UTF-16",
            Self::Unencodable => "its encoding is not UTF-8, so that only ASCII text can be put into it",
        })
    }
}

impl Text {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`NotText::Binary`] and [`NotText::BrokenUtf16`].
    pub fn decode(bytes: &[u8]) -> Result<Self, NotText> {
        if let Some(rest) = bytes.strip_prefix(UTF16_LE_MARK) {
            return utf16(rest, false);
        }
        if let Some(rest) = bytes.strip_prefix(UTF16_BE_MARK) {
            return utf16(rest, true);
        }
        if bytes.contains(&0) {
            return Err(NotText::Binary);
        }
        let (mark, rest) = bytes.strip_prefix(UTF8_MARK).map_or((false, bytes), |rest| (true, rest));
        match str::from_utf8(rest) {
            Ok(text) => Ok(Self { text: text.into(), encoding: Encoding::Utf8 { mark } }),
            Err(_) => Ok(Self { text: with_stand_ins(bytes), encoding: Encoding::Unknown }),
        }
    }

    /// The bytes of another text in this file's encoding.
    ///
    /// # Errors
    /// [`NotText::Unencodable`]; ask [`Text::admits`] of what is put in, before.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, NotText> {
        match self.encoding {
            Encoding::Utf8 { mark: false } => Ok(text.as_bytes().to_vec()),
            Encoding::Utf8 { mark: true } => Ok([UTF8_MARK, text.as_bytes()].concat()),
            Encoding::Utf16 { big_endian } => Ok(to_utf16(text, big_endian)),
            Encoding::Unknown => without_stand_ins(text),
        }
    }

    /// A text of this file for people: what is not understood reads U+FFFD.
    #[must_use]
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_stand_in = |c: char| u32::from(c) & 0xFF_FF00 == STAND_IN;
        match self.encoding {
            Encoding::Unknown => text.replace(is_stand_in, "\u{fffd}").into(),
            Encoding::Utf8 { .. } | Encoding::Utf16 { .. } => text.into(),
        }
    }

    /// A text from outside may become part of this file.
    ///
    /// # Errors
    /// [`NotText::Unencodable`] where the file's encoding is not known and the text is not ASCII.
    pub fn admits(&self, text: &str) -> Result<(), NotText> {
        if self.encoding == Encoding::Unknown && !text.is_ascii() { Err(NotText::Unencodable) } else { Ok(()) }
    }
}

fn utf16(bytes: &[u8], big_endian: bool) -> Result<Text, NotText> {
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
    let text: Result<String, _> = char::decode_utf16(units.iter().map(unit)).collect();
    match text {
        Ok(text) if rest.is_empty() => Ok(Text { text, encoding: Encoding::Utf16 { big_endian } }),
        _ => Err(NotText::BrokenUtf16),
    }
}

fn to_utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let mark = if big_endian { UTF16_BE_MARK } else { UTF16_LE_MARK };
    let unit = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
    mark.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect()
}

/// All that is not ASCII is kept byte by byte: in a file of another encoding, what looks like UTF-8 is so by chance.
fn with_stand_ins(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| if b.is_ascii() { char::from(b) } else { stand_in(b) }).collect()
}

fn stand_in(byte: u8) -> char {
    char::from_u32(STAND_IN + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn without_stand_ins(text: &str) -> Result<Vec<u8>, NotText> {
    let byte = |c: char| match u32::from(c) {
        ascii @ 0..0x80 => Ok(ascii),
        other if (STAND_IN + 0x80..=STAND_IN + 0xFF).contains(&other) => Ok(other - STAND_IN),
        _ => Err(NotText::Unencodable),
    };
    text.chars().map(|c| byte(c).map(|b| b.to_le_bytes()[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<Encoding, NotText>) {
        let text = Text::decode(bytes);
        assert_eq!(text.as_ref().map(|t| t.encoding).map_err(|e| *e), expected, "{bytes:?}");
        if let Ok(text) = text {
            assert_eq!(text.encode(&text.text).as_deref(), Ok(bytes));
        }
    }

    #[test]
    fn every_file_comes_back_byte_by_byte() {
        check(b"", Ok(Encoding::Utf8 { mark: false }));
        check("gr\u{fc}n".as_bytes(), Ok(Encoding::Utf8 { mark: false }));
        check(b"\xEF\xBB\xBFa", Ok(Encoding::Utf8 { mark: true }));
        check(b"caf\xe9 \xc3\xa9", Ok(Encoding::Unknown));
        check(b"\xEF\xBB\xBF\xe9", Ok(Encoding::Unknown));
        check(&(1..=255).collect::<Vec<u8>>(), Ok(Encoding::Unknown));
        check(b"\xFF\xFEh\0i\0", Ok(Encoding::Utf16 { big_endian: false }));
        check(b"\xFE\xFF\0h\xD8\x3D\xDE\x00", Ok(Encoding::Utf16 { big_endian: true }));
        check(b"\xFF\xFEh\0i", Err(NotText::BrokenUtf16));
        check(b"\xFF\xFE\x3D\xD8h\0", Err(NotText::BrokenUtf16));
        check(b"a\0b", Err(NotText::Binary));
    }

    #[test]
    fn an_unknown_encoding_admits_ascii_alone() {
        let text = Text::decode(b"\xe9").unwrap();
        assert_eq!(text.admits("a"), Ok(()));
        assert_eq!(text.admits("\u{e9}"), Err(NotText::Unencodable));
        assert_eq!(text.encode("\u{e9}"), Err(NotText::Unencodable));
        assert_eq!(text.shown(&text.text), "\u{fffd}");
    }
}
