//! Which files a patch names: all that the gate has to know of it. What it does to them is the tool's affair.

/// Files of one patch. Beyond them the tool is refused when it comes to the next file.
const MAX_FILES: usize = 256;
const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The paths as they are written, each once.
pub(super) fn paths(patch: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for line in patch.lines() {
        let path = HEADERS.iter().find_map(|h| line.trim_end().strip_prefix(h)).map(str::trim);
        if let Some(path) = path.filter(|p| !p.is_empty() && !all.contains(p)) {
            all.push(path);
        }
        if all.len() == MAX_FILES {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_names_a_file() {
        let patch = "*** Begin Patch\n*** Add File: a b\n+*** Delete File: no\n*** Update File: c\r\n*** Move to:  d\n-*** Move to: no\n\
                     *** Delete File: e\n*** Update File: c\n*** Add File:\n*** End Patch";
        assert_eq!(paths(patch), ["a b", "c", "d", "e"]);
        assert_eq!(paths("rm -rf /"), Vec::<&str>::new());
    }
}
