//! Values to JSON.

use serde_json::{Map, Value, json};
use wasmtime::component::Val;

/// More than may be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

type Written<T> = Result<T, TooLarge>;

/// A value in JSON of about `limit` bytes at most. The depth is that of the type, which was bounded when it was read.
///
/// # Errors
/// [`TooLarge`].
pub fn json(val: &Val, limit: usize) -> Written<Value> {
    Writer { left: limit }.value(val)
}

/// As a model reads it: text without quotes, all else as JSON.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

struct Writer {
    left: usize,
}

impl Writer {
    fn spend(&mut self, bytes: usize) -> Written<()> {
        self.left = self.left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }

    fn value(&mut self, val: &Val) -> Written<Value> {
        self.spend(2)?;
        Ok(match val {
            Val::Bool(x) => json!(x),
            Val::S8(x) => json!(x),
            Val::U8(x) => json!(x),
            Val::S16(x) => json!(x),
            Val::U16(x) => json!(x),
            Val::S32(x) => json!(x),
            Val::U32(x) => json!(x),
            Val::S64(x) => json!(x),
            Val::U64(x) => json!(x),
            // By its shortest text: 0.1 of 32 bits is 0.10000000149011612 of 64.
            Val::Float32(x) => float(x.to_string().parse().unwrap_or(f64::from(*x))),
            Val::Float64(x) => float(*x),
            Val::Char(x) => self.string(x.encode_utf8(&mut [0; 4]))?,
            Val::String(x) | Val::Enum(x) => self.string(x)?,
            Val::List(items) | Val::Tuple(items) | Val::FixedLengthList(items) => {
                Value::Array(items.iter().map(|v| self.value(v)).collect::<Written<_>>()?)
            }
            Val::Map(pairs) => {
                let mut pair = |(k, v): &(Val, Val)| Ok(json!({"key": self.value(k)?, "value": self.value(v)?}));
                Value::Array(pairs.iter().map(&mut pair).collect::<Written<_>>()?)
            }
            Val::Record(fields) => {
                let mut field = |(name, v): &(String, Val)| {
                    self.spend(name.len())?;
                    Ok((name.clone(), self.value(v)?))
                };
                Value::Object(fields.iter().map(&mut field).collect::<Written<Map<_, _>>>()?)
            }
            Val::Variant(tag, None) => json!({"tag": self.string(tag)?}),
            Val::Variant(tag, Some(val)) => json!({"tag": self.string(tag)?, "val": self.value(val)?}),
            Val::Option(None) => Value::Null,
            Val::Option(Some(inner)) => match &**inner {
                inner @ Val::Option(_) => json!({"some": self.value(inner)?}),
                inner => self.value(inner)?,
            },
            Val::Result(Ok(side)) => json!({"ok": self.side(side.as_deref())?}),
            Val::Result(Err(side)) => json!({"err": self.side(side.as_deref())?}),
            Val::Flags(names) => Value::Array(names.iter().map(|n| self.string(n)).collect::<Written<_>>()?),
            // No function with such a type is offered as a tool.
            Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => Value::Null,
        })
    }

    fn side(&mut self, val: Option<&Val>) -> Written<Value> {
        val.map_or(Ok(Value::Null), |val| self.value(val))
    }

    fn string(&mut self, text: &str) -> Written<Value> {
        self.spend(text.len())?;
        Ok(Value::from(text))
    }
}

/// JSON has no word for these.
fn float(x: f64) -> Value {
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    json!(x)
}
