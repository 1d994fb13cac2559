//! A stream that says the same over and over. Pure, with a bounded memory.

/// Bytes at the end of a text that have to be one repetition.
const SPAN: usize = 4096;
/// Longest text that is repeated: eight times and more.
const LONGEST: usize = SPAN / 8;
/// New bytes between two looks.
const LOOK: usize = 512;

/// Listens to one text.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    window: Vec<u8>,
    unseen: usize,
}

impl Echo {
    /// Takes more of the text. True once its end is nothing but a repetition.
    pub(crate) fn hear(&mut self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let new = &bytes[bytes.len().saturating_sub(SPAN)..];
        let excess = (self.window.len() + new.len()).saturating_sub(SPAN);
        self.window.drain(..excess);
        self.window.extend_from_slice(new);
        self.unseen += bytes.len();
        if self.unseen < LOOK || self.window.len() < SPAN {
            return false;
        }
        self.unseen = 0;
        (1..=LONGEST).any(|p| self.window[p..] == self.window[..SPAN - p])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that were heard when the echo was noticed, the text coming in pieces.
    fn noticed(text: &str, piece: usize) -> Option<usize> {
        let mut echo = Echo::default();
        let chars: Vec<char> = text.chars().collect();
        let mut heard = 0;
        for piece in chars.chunks(piece) {
            let piece: String = piece.iter().collect();
            heard += piece.len();
            if echo.hear(&piece) {
                return Some(heard);
            }
        }
        None
    }

    #[test]
    fn a_text_that_repeats_itself_is_noticed_soon() {
        for (what, piece) in [("I will now look. ", 1), ("\n", 7), ("é", 3), (&"abc def ".repeat(60), 50)] {
            let text = what.repeat(40_000 / what.len());
            let at = noticed(&text, piece);
            assert!(at.is_some_and(|n| n <= SPAN + LOOK + 4 * piece), "{what:.20} {at:?}");
        }
        let late = "x".to_owned() + &(0..3000).map(|i| format!("{i} ")).collect::<String>() + &"again ".repeat(2000);
        assert!(noticed(&late, 10).is_some());
    }

    #[test]
    fn a_text_that_goes_on_is_none() {
        let count: String = (0..20_000).map(|i| format!("row {i}\n")).collect();
        assert_eq!(noticed(&count, 9), None);
        assert_eq!(noticed(&"=".repeat(SPAN - 1), 5), None, "a rule across a page is no echo");
        let long = (0..LONGEST / 2).map(|i| format!("{i:04} ")).collect::<String>().repeat(20);
        assert_eq!(noticed(&long, 100), None, "what is longer than the longest is not looked for");
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut echo = Echo::default();
        for i in 0..10_000 {
            echo.hear(&format!("line {i}\n"));
        }
        echo.hear(&"z".repeat(1 << 20));
        assert!(echo.window.len() <= SPAN);
    }
}
