//! What a component says of itself and asks for: the custom section `airlock:manifest`, JSON.

use crate::error::RuntimeError;
use model::grant::{AllowList, Grant, LimitsAsked, Mode, Programs, Requests, is_name};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

/// Name of the custom section.
pub const SECTION: &str = "airlock:manifest";
const SIZE_MAX: usize = 64 << 10;

/// A component without one asks for nothing. What this version does not know is refused: it might be a right that is meant to
/// be narrowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    #[serde(deserialize_with = "model::grant::place::modes")]
    pub fs: BTreeMap<String, Mode>,
    pub http: Requests,
    pub process: Programs,
    pub env: AllowList,
    pub secrets: AllowList,
    pub limits: LimitsAsked,
}

impl Manifest {
    /// # Errors
    /// [`RuntimeError::Manifest`] with the place in the text.
    pub fn parse(name: &str, json: &[u8]) -> Result<Self, RuntimeError> {
        let bad = |why: String| RuntimeError::Manifest { name: name.into(), why };
        if json.len() > SIZE_MAX {
            return Err(bad(format!("it has {} bytes, more than {SIZE_MAX}", json.len())));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(|e| bad(e.to_string()))?;
        manifest.fits().map_err(bad)?;
        Ok(manifest)
    }

    fn fits(&self) -> Result<(), String> {
        if let Some(path) = self.fs.keys().find(|path| climbs(path)) {
            return Err(format!("the folder `{path}` leaves the workspace with `..`"));
        }
        if let Some(path) = self.fs.keys().find(|path| path.chars().any(char::is_control)) {
            return Err(format!("the folder {path:?} has control characters in its name"));
        }
        let Some(name) = self.names().find(|name| !is_name(name)) else { return Ok(()) };
        let name: String = name.chars().take(128).collect();
        Err(format!(
            "{name:?} cannot be named in a list: write at most 128 characters, none of them `;`, `,` or a control character"
        ))
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.process.programs.iter().chain(&self.env.allow).chain(&self.secrets.allow)
    }

    /// What it asks for.
    #[must_use]
    pub fn grant(&self) -> Grant {
        Grant {
            fs: self.fs.clone(),
            http: self.http.clone(),
            except: BTreeSet::new(),
            process: self.process.clone(),
            env: self.env.clone(),
            secrets: self.secrets.clone(),
            limits: self.limits.clone(),
        }
    }
}

/// Whether a folder of a manifest or grant leads out of the workspace by its text, or names nothing.
#[must_use]
pub fn climbs(path: &str) -> bool {
    path.is_empty() || Path::new(path).components().any(|c| c == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests() {
        let full =
            r#"{"description":"d","version":"1","fs":{".":"rw"},"process":{"programs":["*"]},"limits":{"wall_ms":5}}"#;
        for (json, want) in [
            ("{}", Ok(Grant::default())),
            (
                full,
                Ok(Grant {
                    fs: BTreeMap::from([(".".into(), Mode::ReadWrite)]),
                    process: Programs { programs: ["*".into()].into() },
                    limits: LimitsAsked { wall_ms: Some(5), ..LimitsAsked::default() },
                    ..Grant::default()
                }),
            ),
            (
                r#"{"http":{"hosts":["api.example.com"]}}"#,
                Ok(Grant { http: Requests::to(["api.example.com"]).unwrap(), ..Grant::default() }),
            ),
            (r#"{"http":{"hosts":["0x7f.1"]}}"#, Err("0x7f.1")),
            (r#"{"fs":{"../x":"ro"}}"#, Err("`../x` leaves the workspace")),
            (r#"{"fs":{"a":"wx"}}"#, Err("wx")),
            (r#"{"fs":{"a\nb":"ro"}}"#, Err("control characters")),
            (r#"{"process":{"programs":["git; may touch nothing else"]}}"#, Err("git; may touch")),
            (r#"{"env":{"allow":["A,B"]}}"#, Err("A,B")),
            (r#"{"secrets":{"allow":["a\nb"]}}"#, Err("cannot be named")),
            (&format!(r#"{{"env":{{"allow":["{}"]}}}}"#, "x".repeat(129)), Err("at most 128")),
            (r#"{"network":true}"#, Err("network")),
            ("[", Err("airlock:manifest")),
        ] {
            match (Manifest::parse("x.wasm", json.as_bytes()), want) {
                (Ok(m), Ok(grant)) => assert_eq!(m.grant(), grant, "{json}"),
                (Err(e), Err(part)) => assert!(e.to_string().contains(part), "{json}: {e}"),
                (got, want) => panic!("{json}: {got:?}, not {want:?}"),
            }
        }
    }
}
