//! Where lines stand in a file. The passes go from the exact to the lenient; the first that finds anything decides.

/// The first place from `from` on where `wanted` stands. With `at_end` the end of the file is tried first.
pub fn seek(file: &[&str], wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
    if wanted.len() > file.len() {
        return None;
    }
    let last = file.len() - wanted.len();
    const PASSES: [fn(&str, &str) -> bool; 4] =
        [|a, b| a == b, |a, b| a.trim_end() == b.trim_end(), |a, b| a.trim() == b.trim(), |a, b| plain(a) == plain(b)];
    PASSES.iter().find_map(|same| {
        let fits = |at: &usize| file[*at..*at + wanted.len()].iter().zip(wanted).all(|(a, b)| same(a, b));
        let end = Some(last).filter(|at| at_end && *at >= from && fits(at));
        end.or_else(|| (from..=last).find(fits))
    })
}

/// Punctuation that editors and models make typographic, as it is typed.
fn plain(line: &str) -> String {
    let typed = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    };
    line.trim().chars().map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pass_that_finds_anything_decides() {
        let file = ["  a", "a", "b ", "\u{201c}c\u{201d}", "a", ""];
        let check = |wanted: &[&str], from, at_end, expected: Option<usize>| {
            assert_eq!(seek(&file, wanted, from, at_end), expected, "{wanted:?} from {from}");
        };
        check(&["a"], 0, false, Some(1));
        check(&["a"], 2, false, Some(4));
        check(&["a"], 0, true, Some(1));
        check(&["a", ""], 0, true, Some(4));
        check(&["a", "b"], 0, false, Some(1));
        check(&["   a"], 0, false, Some(0));
        check(&["\"c\""], 0, false, Some(3));
        check(&["nowhere"], 0, false, None);
        check(&["a"], 5, false, None);
        check(&["x"; 9], 0, false, None);
    }
}
