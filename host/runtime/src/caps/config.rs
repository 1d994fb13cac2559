//! `wasi:config/store`: settings of a component by key. What it was granted of the environment it can read here as well; of a secret
//! that it was granted it gets the placeholder, which becomes the value where a request leaves the host, and nowhere else.

use crate::state::CallState;
use model::grant::Grant;
use wasmtime::component::{ComponentType, Lift, Linker, Lower};

/// Names that toolchains import it by. A version that is no release matches by its whole name only.
const VERSIONS: [&str; 2] = ["wasi:config/store@0.2.0-draft", "wasi:config/store@0.2.0-rc.1"];

/// The interface's own error. Nothing fails here.
#[derive(Clone, Debug, ComponentType, Lift, Lower)]
#[component(variant)]
enum StoreError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

type Got = (Result<Option<String>, StoreError>,);
type All = (Result<Vec<(String, String)>, StoreError>,);

pub fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    for name in VERSIONS {
        let mut store = linker.instance(name)?;
        store.func_wrap(
            "get",
            |mut state: wasmtime::StoreContextMut<'_, CallState>, (key,): (String,)| -> wasmtime::Result<Got> {
                let state = state.data_mut().counted();
                Ok((Ok(setting(&state.grant, &key, |name| variable(state, name))),))
            },
        )?;
        store.func_wrap(
            "get-all",
            |mut state: wasmtime::StoreContextMut<'_, CallState>, (): ()| -> wasmtime::Result<All> {
                let state = state.data_mut().counted();
                Ok((Ok(settings(&state.grant, |name| variable(state, name))),))
            },
        )?;
    }
    Ok(())
}

fn variable(state: &CallState, name: &str) -> Option<String> {
    state.sandbox.environment.get(name).map(str::to_owned)
}

fn setting(grant: &Grant, key: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if grant.secrets.allow.contains(key) {
        return Some(format!("{{{{secret:{key}}}}}"));
    }
    grant.env.allow.contains(key).then(|| variable(key)).flatten()
}

fn settings(grant: &Grant, variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let keys = grant.env.allow.union(&grant.secrets.allow);
    keys.filter_map(|key| Some((key.clone(), setting(grant, key, &variable)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::grant::AllowList;

    #[test]
    fn only_what_was_granted_is_there() {
        let list = |names: &[&str]| AllowList { allow: names.iter().map(|n| (*n).to_owned()).collect() };
        let grant = Grant { env: list(&["UNITS", "UNSET", "KEY"]), secrets: list(&["KEY"]), ..Grant::default() };
        let environment = |name: &str| (name != "UNSET").then(|| format!("value of {name}"));
        for (key, want) in
            [("UNITS", Some("value of UNITS")), ("UNSET", None), ("HOME", None), ("KEY", Some("{{secret:KEY}}"))]
        {
            assert_eq!(setting(&grant, key, environment).as_deref(), want, "{key}");
        }
        let all = settings(&grant, environment);
        assert_eq!(all.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>(), ["KEY", "UNITS"]);
    }
}
