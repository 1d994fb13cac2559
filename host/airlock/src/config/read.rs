//! A table of a config file that is read key by key. What nobody asked for is an error with its line and the nearest known key.

use super::error::{ConfigError, Place};
use serde_spanned::Spanned;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The text of a file, to turn offsets into lines.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    #[must_use]
    pub fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or(self.text);
        Place { file: self.file.into(), line: before.matches('\n').count() + 1 }
    }
}

/// A value with where it stands and what it is called (`providers.local.base_url`).
#[derive(Clone)]
pub struct Node<'a> {
    pub source: Source<'a>,
    pub name: String,
    value: &'a Spanned<DeValue<'a>>,
}

type Read<T> = Result<T, ConfigError>;

impl<'a> Node<'a> {
    pub fn place(&self) -> Place {
        self.source.place(&self.value.span())
    }

    pub fn value(&self) -> &'a DeValue<'a> {
        self.value.get_ref()
    }

    pub fn wrong(&self, wanted: &'static str) -> ConfigError {
        let found = self.value().type_str().to_owned();
        ConfigError::WrongType { place: self.place(), key: self.name.clone(), wanted, found }
    }

    pub fn bad(&self, why: impl Into<String>, hint: impl Into<String>) -> ConfigError {
        ConfigError::BadValue { place: self.place(), key: self.name.clone(), why: why.into(), hint: hint.into() }
    }

    pub fn text(&self) -> Read<String> {
        self.value().as_str().map(str::to_owned).ok_or_else(|| self.wrong("a text in quotes"))
    }

    pub fn flag(&self) -> Read<bool> {
        self.value().as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub fn count(&self) -> Read<u32> {
        let number = self.value().as_integer().ok_or_else(|| self.wrong("a whole number"))?;
        u32::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .map_err(|_| self.bad(format!("{} does not fit", number.as_str()), "Use a number from 0 to 4294967295."))
    }

    /// The number as written, whole or broken.
    pub fn number(&self) -> Read<&'a str> {
        match self.value() {
            DeValue::Integer(n) => Ok(n.as_str()),
            DeValue::Float(n) => Ok(n.as_str()),
            _ => Err(self.wrong("a number")),
        }
    }

    pub fn items(&self) -> Read<Vec<Node<'a>>> {
        let list = self.value().as_array().ok_or_else(|| self.wrong("a list in brackets"))?;
        let item = |(i, value)| Node { source: self.source, name: format!("{}[{i}]", self.name), value };
        Ok(list.iter().enumerate().map(item).collect())
    }

    pub fn texts(&self) -> Read<Vec<String>> {
        self.items()?.iter().map(Node::text).collect()
    }

    pub fn table(&self) -> Read<Table<'a>> {
        let table = self.value().as_table().ok_or_else(|| self.wrong("a table"))?;
        Ok(Table { source: self.source, name: self.name.clone(), table, span: self.value.span() })
    }
}

/// A table of a file.
#[derive(Clone)]
pub struct Table<'a> {
    source: Source<'a>,
    name: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
}

impl<'a> Table<'a> {
    pub fn root(source: Source<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self { source, name: String::new(), table: table.get_ref(), span: 0..0 }
    }

    /// Fails at the first key that is none of these.
    pub fn only(&self, known: &[&str]) -> Read<()> {
        match self.table.keys().find(|k| !known.contains(&k.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => Err(self.unknown(key.get_ref(), &key.span(), known)),
        }
    }

    fn unknown(&self, key: &str, span: &Range<usize>, known: &[&str]) -> ConfigError {
        ConfigError::UnknownKey {
            place: self.source.place(span),
            key: self.path(key),
            nearest: nearest(key, known.iter().copied()),
            known: known.iter().map(|k| (*k).to_owned()).collect(),
        }
    }

    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.table.iter().find(|(k, _)| k.get_ref() == key).map(|(_, value)| self.node(key, value))
    }

    pub fn read<T>(&self, key: &str, how: impl FnOnce(&Node<'a>) -> Read<T>) -> Read<Option<T>> {
        self.get(key).map(|n| how(&n)).transpose()
    }

    pub fn need<T>(&self, key: &str, hint: &str, how: impl FnOnce(&Node<'a>) -> Read<T>) -> Read<T> {
        let missing = || ConfigError::Missing {
            place: self.source.place(&self.span),
            key: self.path(key),
            hint: hint.to_owned(),
        };
        self.read(key, how)?.ok_or_else(missing)
    }

    /// In the order written.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.table.iter().map(|(k, value)| (k.get_ref().as_ref(), self.node(k.get_ref(), value)))
    }

    fn node(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        Node { source: self.source, name: self.path(key), value }
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

/// The word that was probably meant; none where all are far away.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    known
        .map(|k| (strsim::jaro_winkler(word, k), k))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_owned())
}

/// Parses a file and hands its root to `how`.
pub fn parse<T>(source: Source<'_>, how: impl FnOnce(&Table<'_>) -> Read<T>) -> Read<T> {
    let root = DeTable::parse(source.text).map_err(|e| ConfigError::Syntax {
        place: source.place(&e.span().unwrap_or(0..0)),
        why: e.message().to_owned(),
    })?;
    how(&Table::root(source, &root))
}
