//! Sessions from elsewhere: our own exports, and those of hosts with the same shapes (agent-core, section 1). Read as a stream, a
//! message at a time; what is missing is filled in, what is not known is left out and said.

mod adapt;

use adapt::{adapt_info, adapt_message};
use model::message::WithParts;
use model::session::Session;
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("it is not JSON of an export: {0}")]
    NoExport(String),
    #[error("it has no `{0}`: an export is {{\"info\": …, \"messages\": […]}}")]
    Lacks(&'static str),
    #[error("message {number} cannot be read: {why}")]
    BadMessage { number: usize, why: String },
    #[error("its `info` cannot be read: {0}")]
    BadInfo(String),
    #[error("{0}")]
    Sink(String),
}

/// What a session that says less than ours is filled up with.
#[derive(Clone, Debug)]
pub struct Defaults {
    pub directory: PathBuf,
    pub agent: String,
    pub version: String,
    /// Milliseconds since the Unix epoch.
    pub now: u64,
}

/// What the first look at a file tells.
#[derive(Debug)]
pub struct Outline {
    pub session: Session,
    pub messages: usize,
    /// All ids in it: of the session, its messages and their parts.
    pub ids: Vec<String>,
    /// Kinds of parts that are left out, each with how many.
    pub left_out: BTreeMap<String, usize>,
}

/// Reads all of it once, and keeps next to nothing: whether it can be imported, and as what.
///
/// # Errors
/// The first thing that is wrong.
pub fn outline(reader: impl Read, defaults: &Defaults) -> Result<Outline, ImportError> {
    let mut ids = vec![];
    let mut left_out = BTreeMap::new();
    let mut count = 0;
    let mut info = None;
    // The session is not known yet where it stands behind its messages: what they are filled with does not matter here.
    let stand_in = adapt_info(Value::Null, defaults)?;
    let mut each = |value: Value| {
        count += 1;
        let message = adapt_message(value, &stand_in, &mut left_out);
        let message = message.map_err(|why| ImportError::BadMessage { number: count, why })?;
        ids.push(message.info.id().to_string());
        ids.extend(message.parts.iter().map(|p| p.id.to_string()));
        Ok(())
    };
    read(reader, Some(&mut info), &mut each)?;
    let session = adapt_info(info.ok_or(ImportError::Lacks("info"))?, defaults)?;
    ids.push(session.id.to_string());
    Ok(Outline { session, messages: count, ids, left_out })
}

/// Reads it again and hands over each message, as one of `session`.
///
/// # Errors
/// As [`outline`]; [`ImportError::Sink`] is what `each` fails with.
pub fn messages(
    reader: impl Read,
    session: &Session,
    each: &mut dyn FnMut(WithParts) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut number = 0;
    let mut told = |value: Value| {
        number += 1;
        let message = adapt_message(value, session, &mut BTreeMap::new());
        each(message.map_err(|why| ImportError::BadMessage { number, why })?)
    };
    read(reader, None, &mut told)
}

type Each<'a> = &'a mut dyn FnMut(Value) -> Result<(), ImportError>;

fn read(reader: impl Read, info: Option<&mut Option<Value>>, each: Each<'_>) -> Result<(), ImportError> {
    let mut failure = None;
    let mut found = false;
    let mut from = serde_json::Deserializer::from_reader(std::io::BufReader::new(reader));
    let done = Export { info, each, failure: &mut failure, found: &mut found }
        .deserialize(&mut from)
        .and_then(|()| from.end());
    match (failure, done) {
        (Some(failure), _) => Err(failure),
        (None, Err(e)) => Err(ImportError::NoExport(e.to_string())),
        (None, Ok(())) if !found => Err(ImportError::Lacks("messages")),
        (None, Ok(())) => Ok(()),
    }
}

struct Export<'a> {
    info: Option<&'a mut Option<Value>>,
    each: Each<'a>,
    failure: &'a mut Option<ImportError>,
    found: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Export<'_> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Export<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `info` and `messages`")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { mut info, each, failure, found } = self;
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), &mut info) {
                ("info", Some(info)) => **info = Some(map.next_value()?),
                ("messages", _) => {
                    *found = true;
                    map.next_value_seed(Messages { each: &mut *each, failure: &mut *failure })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Messages<'a> {
    each: Each<'a>,
    failure: &'a mut Option<ImportError>,
}

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();
    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(message) = seq.next_element::<Value>()? {
            if let Err(failure) = (self.each)(message) {
                *self.failure = Some(failure);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

fn parsed<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
