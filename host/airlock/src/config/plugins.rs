//! `[plugins]`: components that a config brings along, and what those that are there may do where it counts.

use super::ConfigError;
use super::file::{FileConfig, beside};
use super::grants;
use super::read::Node;
use model::grant::Grant;
use runtime::{PluginUse, Use};
use std::path::{Path, PathBuf};

const PLUGIN: &[&str] = &["source", "grant"];

/// What one file says of one component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginEntry {
    /// The file of a component; without one an installed one is meant.
    pub source: Option<PathBuf>,
    /// As a grant file has it. Of a file: what it asks for, where nothing is said.
    pub grant: Option<Grant>,
}

pub fn read(node: &Node<'_>, config: &Path, home: Option<&Path>) -> Result<PluginEntry, ConfigError> {
    let table = node.table()?;
    table.only(PLUGIN)?;
    let entry = PluginEntry {
        source: table.read("source", Node::text)?.map(|file| beside(&file, config, home)),
        grant: table.read("grant", |n| grants::rights(&n.table()?))?,
    };
    if entry == PluginEntry::default() {
        let hint = "Write source = \"./x.wasm\", or grant = { fs = { \"docs\" = \"ro\" } } for an installed one.";
        return Err(node.bad("it says neither which file it is nor what it may do", hint));
    }
    Ok(entry)
}

/// In the words of the runtime: of the person's file, or one that they trust.
pub fn in_full(file: &FileConfig) -> Vec<PluginUse> {
    uses(file, |entry| match (&entry.source, &entry.grant) {
        (Some(path), grant) => Some(Use::File { path: path.clone(), grant: grant.clone() }),
        (None, Some(grant)) => Some(Use::Granted(grant.clone())),
        (None, None) => None,
    })
}

/// Of a file that nobody trusts: it may take rights from what is there.
pub fn narrowing(file: &FileConfig) -> Vec<PluginUse> {
    uses(file, |entry| entry.grant.clone().filter(|_| entry.source.is_none()).map(Use::Narrowed))
}

/// What each could do, in sentences.
pub fn in_words(file: &FileConfig) -> Vec<String> {
    let words = |said: PluginUse| match said.how {
        Use::File { path, grant } => {
            let may = runtime::granted_to_file(&path, grant.as_ref());
            let may = may.map_or_else(|why| format!("cannot be used: {why}"), |grant| grant.words());
            format!("the plugin {} ({}) {may}", said.name, path.display())
        }
        Use::Granted(grant) | Use::Narrowed(grant) => {
            format!("the plugin {}, where it is installed, {}, as far as it asks for that", said.name, grant.words())
        }
    };
    in_full(file).into_iter().map(words).collect()
}

fn uses(file: &FileConfig, how: impl Fn(&PluginEntry) -> Option<Use>) -> Vec<PluginUse> {
    let one = |(name, entry): (&String, &PluginEntry)| Some(PluginUse { name: name.clone(), how: how(entry)? });
    file.plugins.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(text: &str) -> Result<FileConfig, String> {
        FileConfig::parse(Path::new("/w/airlock.toml"), text, Some(Path::new("/h"))).map_err(|e| e.to_string())
    }

    #[test]
    fn a_file_is_brought_along_or_an_installed_one_bounded() {
        let grant = |value: serde_json::Value| serde_json::from_value::<Grant>(value).unwrap();
        let docs = grant(json!({ "fs": { "docs": "ro" }, "limits": { "memory": 67_108_864 } }));
        let text = "[plugins.a]\nsource = \"./tools/a.wasm\"\n[plugins.b]\nsource = \"~/b.wasm\"\n\
                    grant = { fs = { docs = \"ro\" }, limits = { memory = \"64MiB\" } }\n\
                    [plugins.c.grant.fs]\ndocs = \"ro\"\n[plugins.c.grant.limits]\nmemory = \"64MiB\"\n";
        let file = config(text).unwrap();
        let of = |name: &str, how| PluginUse { name: name.into(), how };
        let named = |path: &str, grant| Use::File { path: path.into(), grant };
        assert_eq!(
            in_full(&file),
            [
                of("a", named("/w/tools/a.wasm", None)),
                of("b", named("/h/b.wasm", Some(docs.clone()))),
                of("c", Use::Granted(docs.clone())),
            ]
        );
        assert_eq!(narrowing(&file), [of("c", Use::Narrowed(docs))]);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, words) in [
            ("[plugins.a]\n", ["line 1", "neither"]),
            ("[plugins.a]\nsource = 1\n", ["line 2", "text"]),
            ("[plugins.a]\nsourc = \"x\"\n", ["line 2", "sourc"]),
            ("[plugins.a]\ngrant = { fs = { \"../x\" = \"ro\" } }\n", ["line 2", "leaves the workspace"]),
            ("[plugins.a]\ngrant = { description = \"x\" }\n", ["line 2", "description"]),
            ("[plugins.a]\ngrant = { root = true }\n", ["line 2", "root"]),
        ] {
            let error = config(text).unwrap_err();
            assert!(words.iter().all(|w| error.contains(w)), "{text}: {error}");
        }
    }
}
