//! The variables of one owner. The environment of the process is read once, where it starts, and belongs to the person who started it:
//! nothing below reads it again, so that nobody else's work sees what stands in it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Variables that are text. Keys stand among them: they are not part of its text form.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// As [`Self::get`]; an empty one counts as unset.
    #[must_use]
    pub fn said(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment({} variables)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_and_never_printed() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment: Environment = [pair("KEY", "sk-1"), pair("EMPTY", "")].into_iter().collect();
        for (name, got, said) in [("KEY", Some("sk-1"), Some("sk-1")), ("EMPTY", Some(""), None), ("PATH", None, None)]
        {
            assert_eq!((environment.get(name), environment.said(name)), (got, said), "{name}");
        }
        assert!(!format!("{environment:?}").contains("sk-1"));
    }
}
