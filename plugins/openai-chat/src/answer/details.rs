//! OpenRouter's `reasoning_details`: a list that comes in pieces and has to go back whole, in order, signatures and all.

use serde_json::{Map, Value};

/// Bytes of details of one answer. More cannot be kept with a message.
const MOST: usize = 4 << 20;

#[derive(Debug, Default)]
pub struct Details {
    items: Vec<Map<String, Value>>,
    bytes: usize,
}

impl Details {
    /// `json`: the list of one delta.
    pub fn add(&mut self, json: &str) {
        self.bytes = self.bytes.saturating_add(json.len());
        if self.bytes > MOST {
            return;
        }
        for item in serde_json::from_str::<Vec<Value>>(json).unwrap_or_default() {
            if let Value::Object(item) = item {
                self.merge(item);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The list as JSON text. `None` when there is nothing, or too much to be kept whole.
    pub fn take(&mut self) -> Option<String> {
        let items = std::mem::take(&mut self.items);
        let whole = self.bytes <= MOST && !items.is_empty();
        whole.then(|| Value::Array(items.into_iter().map(Value::Object).collect()).to_string())
    }

    fn merge(&mut self, item: Map<String, Value>) {
        match self.items.last_mut() {
            Some(last) if is_piece_of(last, &item) => append(last, item),
            _ => self.items.push(item),
        }
    }
}

fn is_piece_of(last: &Map<String, Value>, item: &Map<String, Value>) -> bool {
    let same = |key: &str| last.get(key) == item.get(key);
    // An encrypted block comes whole.
    same("type") && same("index") && item.get("type") != Some(&Value::from("reasoning.encrypted"))
}

fn append(last: &mut Map<String, Value>, item: Map<String, Value>) {
    for (key, value) in item {
        match (last.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if key == "text" || key == "summary" => {
                text.push_str(&more)
            }
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}
