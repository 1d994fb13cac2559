//! A catalogue of models as data: a JSON file beside the adapter, with the source and the date of what it says.

use airlock::provider::{ModelInfo, Price};
use serde_json::{Map, Value};

/// Reads `{"source": …, "date": …, "models": [{"id", "name", "context", "output", "price": {…}, "tools", "reasoning", "images", …}]}`. What else
/// a model has goes into its metadata. A row without an id is none.
#[must_use]
pub fn read(json: &str) -> Vec<ModelInfo> {
    let file: Value = serde_json::from_str(json).unwrap_or_default();
    file["models"].as_array().into_iter().flatten().filter_map(model).collect()
}

/// How much a model can be told to think, as options by name; `None` for a model without variants.
#[must_use]
pub fn variants(json: &str, model: &str) -> Option<Map<String, Value>> {
    let mut file: Value = serde_json::from_str(json).unwrap_or_default();
    let rows = file["models"].as_array_mut()?;
    let row = rows.iter_mut().find(|row| row["id"] == model)?;
    if let Value::Object(variants) = row["variants"].take() { Some(variants) } else { None }
}

const FIELDS: [&str; 8] = ["id", "name", "context", "output", "price", "tools", "reasoning", "images"];

fn model(row: &Value) -> Option<ModelInfo> {
    let id = row["id"].as_str()?;
    let count = |key: &str| row[key].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let can = |key: &str| row[key].as_bool().unwrap_or(false);
    Some(ModelInfo {
        id: id.into(),
        name: row["name"].as_str().unwrap_or(id).into(),
        context: count("context"),
        output: count("output"),
        price: price(&row["price"]),
        tools: can("tools"),
        reasoning: can("reasoning"),
        images: can("images"),
        metadata: metadata(row),
    })
}

fn price(given: &Value) -> Option<Price> {
    let text = |key: &str| given[key].as_str().map(str::to_owned);
    let input = text("input")?;
    Some(Price {
        output: text("output")?,
        cache_read: text("cache_read").unwrap_or_else(|| input.clone()),
        cache_write: text("cache_write").unwrap_or_else(|| input.clone()),
        input,
    })
}

fn metadata(row: &Value) -> Option<String> {
    let mut rest = row.as_object()?.clone();
    rest.retain(|key, _| !FIELDS.contains(&key.as_str()));
    (!rest.is_empty()).then(|| Value::Object(rest).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_models() {
        let json = r#"{"source":"s","models":[
            {"id":"a","name":"A","context":9,"output":4,"price":{"input":"1","output":"2","cache_read":"0.1","cache_write":"1.25"},
             "tools":true,"reasoning":true,"images":true,"variants":{"low":{"x":1}}},
            {"id":"b","price":{"input":"1","output":"2"}},
            {"name":"no id"}]}"#;
        let models = read(json);
        assert_eq!(models.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((models[0].context, models[0].output, models[0].name.as_str()), (9, 4, "A"));
        assert_eq!(models[0].metadata.as_deref(), Some(r#"{"variants":{"low":{"x":1}}}"#));
        let price = models[1].price.clone().unwrap_or_default();
        assert_eq!(
            (price.cache_read.as_str(), price.cache_write.as_str()),
            ("1", "1"),
            "what is not said is billed as input"
        );
        assert_eq!(models[1].metadata, None);
        assert!(read("no").is_empty());
    }
}
