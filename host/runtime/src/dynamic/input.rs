//! JSON to values, along a type.

use super::misfit::Misfit;
use super::shape::{Int, Shape};
use serde_json::{Map, Value};
use wasmtime::component::Val;

/// Values and bytes of text in the arguments of one call.
const SIZE: usize = 8 << 20;

type Fitted<T> = Result<T, Misfit>;

/// A call's arguments in the order of the parameters.
///
/// # Errors
/// The first thing that does not fit.
pub fn arguments(parameters: &[(String, Shape)], input: &Value) -> Fitted<Vec<Val>> {
    let empty = Map::new();
    let given = match input {
        Value::Null => &empty,
        Value::Object(given) => given,
        other => return Err(wrong("an object with the arguments by name", other)),
    };
    let fields = Reader { left: SIZE }.fields(parameters, given)?;
    Ok(fields.into_iter().map(|(_, val)| val).collect())
}

/// One value.
///
/// # Errors
/// The first thing that does not fit.
#[cfg(test)]
pub fn value(shape: &Shape, json: &Value) -> Fitted<Val> {
    Reader { left: SIZE }.value(shape, json)
}

struct Reader {
    left: usize,
}

impl Reader {
    fn spend(&mut self, cost: usize) -> Fitted<()> {
        self.left = self.left.checked_sub(cost).ok_or_else(|| Misfit::new("the arguments are too large"))?;
        Ok(())
    }

    fn value(&mut self, shape: &Shape, json: &Value) -> Fitted<Val> {
        self.spend(1)?;
        Ok(match shape {
            Shape::Bool => Val::Bool(json.as_bool().ok_or_else(|| wrong("true or false", json))?),
            Shape::Int(int) => integer(*int, json)?,
            Shape::Float32 => Val::Float32(single(json)?),
            Shape::Float64 => Val::Float64(float(json)?),
            Shape::Char => Val::Char(character(json)?),
            Shape::Text => Val::String(self.text(json)?.to_owned()),
            Shape::List(item) => Val::List(self.list(item, json)?),
            Shape::Array(item, len) => Val::FixedLengthList(self.array(item, *len, json)?),
            Shape::Map(key, value) => Val::Map(self.map(key, value, json)?),
            Shape::Record(fields) => Val::Record(self.fields(fields, object(json)?)?),
            Shape::Tuple(items) => Val::Tuple(self.tuple(items, json)?),
            Shape::Variant(cases) => self.variant(cases, json)?,
            Shape::Enum(names) => Val::Enum(one_of(names, self.text(json)?)?),
            Shape::Option(inner) => Val::Option(self.option(inner, json)?),
            Shape::Result(ok, err) => Val::Result(self.result(ok.as_deref(), err.as_deref(), json)?),
            Shape::Flags(names) => Val::Flags(self.flags(names, json)?),
        })
    }

    fn text<'a>(&mut self, json: &'a Value) -> Fitted<&'a str> {
        let text = json.as_str().ok_or_else(|| wrong("text", json))?;
        self.spend(text.len())?;
        Ok(text)
    }

    fn list(&mut self, item: &Shape, json: &Value) -> Fitted<Vec<Val>> {
        let items = json.as_array().ok_or_else(|| wrong("a list", json))?;
        items.iter().enumerate().map(|(i, v)| self.value(item, v).map_err(|m| m.at(i))).collect()
    }

    fn array(&mut self, item: &Shape, len: usize, json: &Value) -> Fitted<Vec<Val>> {
        has_length(json, len)?;
        self.list(item, json)
    }

    fn tuple(&mut self, items: &[Shape], json: &Value) -> Fitted<Vec<Val>> {
        let given = has_length(json, items.len())?;
        let one = |(i, (shape, v))| self.value(shape, v).map_err(|m: Misfit| m.at(i));
        items.iter().zip(given).enumerate().map(one).collect()
    }

    fn map(&mut self, key: &Shape, value: &Shape, json: &Value) -> Fitted<Vec<(Val, Val)>> {
        let pairs = json.as_array().ok_or_else(|| wrong("a list of {key, value}", json))?;
        let mut one = |pair: &Value| {
            let pair = object(pair)?;
            let null = &Value::Null;
            let part = |name: &str| pair.get(name).unwrap_or(null);
            let key = self.value(key, part("key")).map_err(|m| m.in_field("key"))?;
            Ok((key, self.value(value, part("value")).map_err(|m| m.in_field("value"))?))
        };
        pairs.iter().enumerate().map(|(i, p)| one(p).map_err(|m: Misfit| m.at(i))).collect()
    }

    /// A key of an optional field may be missing.
    fn fields(&mut self, fields: &[(String, Shape)], given: &Map<String, Value>) -> Fitted<Vec<(String, Val)>> {
        if let Some(unknown) = given.keys().find(|k| fields.iter().all(|(name, _)| name != *k)) {
            let known = fields.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "there are none".into() } else { format!("there are: {known}") };
            return Err(Misfit::new(format!("nothing of this name is known; {known}")).in_field(unknown));
        }
        let mut one = |name: &String, shape: &Shape| match given.get(name) {
            Some(json) => self.value(shape, json),
            None if shape.is_option() => Ok(Val::Option(None)),
            None => Err(Misfit::new("it is missing")),
        };
        fields.iter().map(|(name, s)| Ok((name.clone(), one(name, s).map_err(|m| m.in_field(name))?))).collect()
    }

    fn variant(&mut self, cases: &[(String, Option<Shape>)], json: &Value) -> Fitted<Val> {
        let given = object(json)?;
        let tag = given.get("tag").and_then(Value::as_str);
        let tag = tag.ok_or_else(|| Misfit::new("it needs a `tag` that names the case"))?;
        let Some((name, shape)) = cases.iter().find(|(name, _)| name == tag) else {
            return Err(unknown(tag, cases.iter().map(|(name, _)| name.as_str())).in_field("tag"));
        };
        let val = match (shape, given.get("val").unwrap_or(&Value::Null)) {
            (Some(shape), val) => Some(Box::new(self.value(shape, val).map_err(|m| m.in_field("val"))?)),
            (None, Value::Null) => None,
            (None, _) => return Err(Misfit::new(format!("the case `{name}` has no value")).in_field("val")),
        };
        Ok(Val::Variant(name.clone(), val))
    }

    fn option(&mut self, inner: &Shape, json: &Value) -> Fitted<Option<Box<Val>>> {
        let json = match json {
            Value::Null => return Ok(None),
            json if inner.is_option() => json.get("some").ok_or_else(|| wrong("null or {some}", json))?,
            json => json,
        };
        self.value(inner, json).map(|val| Some(Box::new(val)))
    }

    #[expect(clippy::type_complexity, reason = "the engine's own type of a result")]
    fn result(
        &mut self,
        ok: Option<&Shape>,
        err: Option<&Shape>,
        json: &Value,
    ) -> Fitted<Result<Option<Box<Val>>, Option<Box<Val>>>> {
        let given = object(json)?;
        match (given.get("ok"), given.get("err")) {
            (Some(json), None) => Ok(Ok(self.side("ok", ok, json)?)),
            (None, Some(json)) => Ok(Err(self.side("err", err, json)?)),
            _ => Err(Misfit::new("it needs either `ok` or `err`")),
        }
    }

    fn side(&mut self, name: &str, shape: Option<&Shape>, json: &Value) -> Fitted<Option<Box<Val>>> {
        match shape {
            Some(shape) => self.value(shape, json).map(|v| Some(Box::new(v))).map_err(|m| m.in_field(name)),
            None if json.is_null() => Ok(None),
            None => Err(wrong("null", json).in_field(name)),
        }
    }

    /// An array of names, or an object of booleans.
    fn flags(&mut self, names: &[String], json: &Value) -> Fitted<Vec<String>> {
        let mut set = Vec::new();
        match json {
            Value::Array(given) => {
                for (i, name) in given.iter().enumerate() {
                    set.push(self.text(name).and_then(|n| one_of(names, n)).map_err(|m| m.at(i))?);
                }
            }
            Value::Object(given) => {
                for (name, on) in given {
                    let name = one_of(names, name)?;
                    let on = on.as_bool().ok_or_else(|| wrong("true or false", on).in_field(&name))?;
                    set.extend(on.then_some(name));
                }
            }
            other => return Err(wrong("a list of names or an object of booleans", other)),
        }
        // In the order of the type, each once.
        Ok(names.iter().filter(|n| set.contains(n)).cloned().collect())
    }
}

fn has_length(json: &Value, len: usize) -> Fitted<&[Value]> {
    let given = json.as_array().ok_or_else(|| wrong("a list", json))?;
    if given.len() == len {
        return Ok(given);
    }
    Err(Misfit::new(format!("it must have {len} places, not {}", given.len())))
}

fn object(json: &Value) -> Fitted<&Map<String, Value>> {
    json.as_object().ok_or_else(|| wrong("an object", json))
}

fn one_of(names: &[String], given: &str) -> Fitted<String> {
    names.iter().find(|n| *n == given).cloned().ok_or_else(|| unknown(given, names.iter().map(String::as_str)))
}

fn unknown<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Misfit {
    let given = given.get(..40).unwrap_or(given);
    Misfit::new(format!("`{given}` is none of {}", known.take(40).collect::<Vec<_>>().join(", ")))
}

fn wrong(wanted: &str, given: &Value) -> Misfit {
    let mut shown = given.to_string();
    if shown.len() > 60 {
        shown.truncate(shown.floor_char_boundary(60));
        shown.push('…');
    }
    Misfit::new(format!("it must be {wanted}, not {shown}"))
}

fn integer(int: Int, json: &Value) -> Fitted<Val> {
    let bad = || wrong(&format!("a whole number from {} to {}", int.least(), int.greatest()), json);
    let n = whole(int, json).filter(|n| (int.least()..=int.greatest()).contains(n)).ok_or_else(bad)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    Ok(match int {
        Int::S8 => Val::S8(n as i8),
        Int::U8 => Val::U8(n as u8),
        Int::S16 => Val::S16(n as i16),
        Int::U16 => Val::U16(n as u16),
        Int::S32 => Val::S32(n as i32),
        Int::U32 => Val::U32(n as u32),
        Int::S64 => Val::S64(n as i64),
        Int::U64 => Val::U64(n as u64),
    })
}

/// Wide integers may be written as text. `3.0` is a whole number for many writers of JSON.
fn whole(int: Int, json: &Value) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match json {
        Value::Number(n) => {
            let exact = n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            let rounded = || n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < EXACT).map(|f| f as i128);
            exact.or_else(rounded)
        }
        Value::String(text) if int.is_wide() => text.parse().ok(),
        _ => None,
    }
}

fn float(json: &Value) -> Fitted<f64> {
    let named = |text: &str| match text {
        "NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    json.as_f64().or_else(|| json.as_str().and_then(named)).ok_or_else(|| wrong("a number", json))
}

fn single(json: &Value) -> Fitted<f32> {
    let wide = float(json)?;
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what a narrow float does")]
    let narrow = wide as f32;
    if narrow.is_infinite() && wide.is_finite() {
        return Err(wrong("a number of 32 bits", json));
    }
    Ok(narrow)
}

fn character(json: &Value) -> Fitted<char> {
    let bad = || wrong("exactly one character", json);
    let mut chars = json.as_str().ok_or_else(bad)?.chars();
    chars.next().filter(|_| chars.next().is_none()).ok_or_else(bad)
}
