//! How the places of a grant are spelt: once, when it is read, so that one place has one name.

use super::Mode;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};

/// A folder or a file in its one spelling: `./docs`, `docs/` and `docs//.` are `docs`. What leads up stays as it is: who reads a
/// grant refuses it.
#[must_use]
pub fn spelt(text: &str) -> String {
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    match (text.starts_with('/'), parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) if !text.is_empty() => ".".to_owned(),
        (false, _) => parts.join("/"),
    }
}

/// Places with their modes. One that stands twice is granted what either says.
///
/// # Errors
/// What is no such table.
pub fn modes<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Mode>, D::Error> {
    let written = BTreeMap::<String, Mode>::deserialize(from)?;
    let mut read = BTreeMap::new();
    for (place, mode) in written {
        let held = read.entry(spelt(&place)).or_insert(mode);
        *held = (*held).max(mode);
    }
    Ok(read)
}

/// A list of places.
///
/// # Errors
/// What is no list of text.
pub fn names<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<String>, D::Error> {
    Ok(BTreeSet::<String>::deserialize(from)?.iter().map(|place| spelt(place)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Grant;
    use serde_json::json;

    #[test]
    fn one_place_has_one_name() {
        for (written, want) in [
            ("docs", "docs"),
            ("./docs", "docs"),
            ("docs/", "docs"),
            ("docs//a/./b/", "docs/a/b"),
            (".", "."),
            ("./", "."),
            (".//.", "."),
            ("/", "/"),
            ("//srv/x/", "/srv/x"),
            ("", ""),
            ("../x", "../x"),
            ("docs/../x", "docs/../x"),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(spelt(written), want, "{written}");
            assert_eq!(spelt(want), want);
        }
    }

    #[test]
    fn spellings_are_one_to_a_grant() {
        let read = |value| serde_json::from_value::<Grant>(value).unwrap();
        let docs = read(json!({ "fs": { "docs": "ro" }, "except": ["docs/a"] }));
        for other in ["./docs", "docs/", "./docs//."] {
            let other = read(json!({ "fs": { other: "ro" }, "except": [format!("{other}/a")] }));
            assert_eq!(other, docs);
            assert!(other.within(&docs) && docs.within(&other) && docs.meet(&other) == docs);
            assert_eq!(docs.without(&other), Grant::default());
        }
        let both = read(json!({ "fs": { "docs": "ro", "./docs": "rw" } }));
        assert_eq!(both, read(json!({ "fs": { "docs": "rw" } })));
    }
}
