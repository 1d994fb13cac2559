//! YAML from anybody, as JSON: without aliases (a few lines of them can stand for gigabytes), to a bounded depth.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Lists and tables inside each other.
const MAX_DEPTH: usize = 16;

enum Open {
    List(Vec<Value>),
    Table(Map<String, Value>, Option<String>),
}

/// One document, without recursion. `skipped`: lines of the file that stand before the text.
///
/// # Errors
/// What is wrong, with the line of the file.
pub fn read(text: &str, skipped: usize) -> Result<Value, String> {
    let mut open: Vec<Open> = Vec::new();
    let mut done = Value::Null;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| format!("line {}: {}", e.marker().line() + skipped, e.info()))?;
        let at = |why: &str| format!("line {}: {why}", span.start.line() + skipped);
        let value = match event {
            Event::Alias(_) => return Err(at("aliases cannot be used here")),
            Event::MappingStart(..) | Event::SequenceStart(..) if open.len() >= MAX_DEPTH => {
                return Err(at("lists and tables lie too deep in each other"));
            }
            Event::MappingStart(..) => {
                open.push(Open::Table(Map::new(), None));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Table(fields, _)) => Value::Object(fields),
                None => continue,
            },
            Event::Scalar(text, style, ..) => {
                if let Some(Open::Table(fields, key @ None)) = open.last_mut() {
                    // YAML 1.2.2, section 3.2.1.1: names are unique. The later one would silently undo the earlier.
                    if fields.contains_key(&*text) {
                        return Err(at(&format!("the field `{text}` stands there twice")));
                    }
                    *key = Some(text.into_owned());
                    continue;
                }
                scalar(&text, style)
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                continue;
            }
        };
        match open.last_mut() {
            None => done = value,
            Some(Open::List(items)) => items.push(value),
            Some(Open::Table(fields, key)) => {
                let key = key.take().ok_or_else(|| at("a name of a field is a list or a table"))?;
                fields.insert(key, value);
            }
        }
    }
    Ok(done)
}

/// Only what stands without quotes can be something else than text (YAML 1.2, core schema).
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let whole = text.parse::<i64>().ok().map(Value::from);
            let broken = || text.parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::from);
            whole.or_else(broken).unwrap_or_else(|| Value::from(text))
        }
    }
}
