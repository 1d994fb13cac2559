//! Descriptions from the custom section `package-docs`: a byte of version, then JSON (the format is wit-parser's).

use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of the section that are looked at, and of a description that is kept.
const SIZE: usize = 1 << 20;
const DESCRIPTION: usize = 4 << 10;
/// Version 0 wrote descriptions as plain texts, version 1 as objects.
const KNOWN: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Docs {
    worlds: BTreeMap<String, World>,
    interfaces: BTreeMap<String, Interface>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct World {
    func_exports: BTreeMap<String, Function>,
    funcs: BTreeMap<String, Function>,
    interface_exports: BTreeMap<String, Interface>,
    interfaces: BTreeMap<String, Interface>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Interface {
    funcs: BTreeMap<String, Function>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Function {
    Plain(Option<String>),
    Rich { docs: Option<String> },
}

impl Function {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Plain(docs) | Self::Rich { docs } => docs.as_deref(),
        }
    }
}

impl Docs {
    /// Name of the custom section.
    pub const SECTION: &str = "package-docs";

    /// What cannot be read describes nothing: a component is not refused for its comments.
    #[must_use]
    pub fn parse(section: &[u8]) -> Self {
        match section.split_first() {
            Some((0..=KNOWN, json)) if json.len() <= SIZE => serde_json::from_slice(json).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// What the author says of a function, by the name of the interface's export (`local:pkg/time@1.0.0`) and its own.
    #[must_use]
    pub fn of(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let text = match interface {
            None => self
                .worlds
                .values()
                .find_map(|w| w.func_exports.get(function).or_else(|| w.funcs.get(function)).and_then(Function::text)),
            Some(interface) => {
                let name = short(interface);
                let inline = self.worlds.values().flat_map(|w| [&w.interface_exports, &w.interfaces]);
                let all = std::iter::once(&self.interfaces).chain(inline);
                all.filter_map(|i| i.get(name)?.funcs.get(function)?.text()).next()
            }
        };
        text.map(str::trim).filter(|t| !t.is_empty()).map(bounded)
    }
}

/// `time` of `local:pkg/time@1.0.0`.
fn short(interface: &str) -> &str {
    let name = interface.rsplit_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

fn bounded(text: &str) -> String {
    let mut text = text.to_owned();
    if text.len() > DESCRIPTION {
        text.truncate(text.floor_char_boundary(DESCRIPTION));
        text.push('…');
    }
    text
}
