//! Markdown with front matter: fields in YAML between two lines of `---`, then a text.
//!
//! The files may come from anybody; see [`runtime::yaml`].

use serde_json::{Map, Value};

const FENCE: &str = "---";
/// The fence is the first line of the file.
const FENCE_LINES: usize = 1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// In the order written.
    pub fields: Map<String, Value>,
    pub body: String,
}

/// Parts fields and text. A file that does not begin with a fence is all text.
///
/// # Errors
/// What is wrong with the fields, with the line of the file.
pub fn read(text: &str) -> Result<FrontMatter, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let Some((fields, body)) = parts(&text) else { return Ok(FrontMatter { fields: Map::new(), body: text }) };
    let fields = match runtime::yaml::read(fields, FENCE_LINES)? {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        _ => return Err("the front matter is no table of fields".into()),
    };
    Ok(FrontMatter { fields, body: body.to_owned() })
}

fn parts(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix(FENCE)?.strip_prefix('\n')?;
    if let Some(body) = rest.strip_prefix("---\n") {
        return Some(("", body));
    }
    let end = rest.find("\n---\n").map(|at| (at + 1, at + 5));
    let (fields, body) = end.or_else(|| rest.ends_with("\n---").then(|| (rest.len() - 3, rest.len())))?;
    Some((&rest[..fields], &rest[body..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_and_text_are_parted() {
        let check = |text: &str, fields: Value, body: &str| {
            let read = read(text).unwrap();
            assert_eq!((Value::Object(read.fields), read.body.as_str()), (fields, body), "{text:?}");
        };
        check("just text\n", json!({}), "just text\n");
        check("---\nname: a\n---\nbody\n", json!({"name": "a"}), "body\n");
        check("\u{feff}---\r\nname: a\r\n---\r\nbody", json!({"name": "a"}), "body");
        check("---\nname: a\n---", json!({"name": "a"}), "");
        check("---\n---\nbody", json!({}), "body");
        check("---\nno end\n", json!({}), "---\nno end\n");
        check("--- \nx", json!({}), "--- \nx");
        let rich = "---\ntext: >\n  two\n  lines\nlist: [a, 'true', 2]\nnone:\nyes: true\nn: 0.5\nby:\n  \"git *\": allow\n  rm: deny\n---\n";
        let want = json!({
            "text": "two lines\n", "list": ["a", "true", 2], "none": null, "yes": true, "n": 0.5,
            "by": {"git *": "allow", "rm": "deny"}
        });
        check(rich, want, "");
        let order: Vec<String> = read(rich).unwrap().fields.keys().cloned().collect();
        assert_eq!(order, ["text", "list", "none", "yes", "n", "by"]);
    }

    #[test]
    fn what_cannot_be_read_names_its_line() {
        let deep = format!("---\nx: {}1{}\n---\n", "[".repeat(99), "]".repeat(99));
        for (text, word) in [
            ("---\nname: a\nuse: when: then\n---\n", "line 3"),
            ("---\na: &x [1]\nb: *x\n---\n", "aliases"),
            (deep.as_str(), "too deep"),
            ("---\n[a]: b\n---\n", "name of a field"),
            ("---\n- a\n---\n", "no table"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(word), "{text:?}: {why}");
        }
    }
}
