//! The environment of a program, built from nothing: what is not named here does not reach it.

use model::environment::Environment;
use std::collections::BTreeMap;
use std::path::Path;

/// Harmless variables of the host that programs need to find themselves and the person's toolchains. None of them may hold a
/// secret.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
];
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The minimal environment, then what the command adds.
pub(super) fn build(
    owners: &Environment,
    temp: &Path,
    shell: &Path,
    added: &[(String, String)],
) -> BTreeMap<String, String> {
    let passed = owners.iter().filter(|(name, _)| passes(name));
    let mut env: BTreeMap<String, String> = passed.map(|(name, value)| (name.into(), value.into())).collect();
    env.entry("PATH".into()).or_insert_with(|| FALLBACK_PATH.into());
    env.insert("TERM".into(), "dumb".into());
    env.insert("TMPDIR".into(), temp.display().to_string());
    env.insert("SHELL".into(), shell.display().to_string());
    env.extend(added.iter().filter(|(name, value)| is_settable(name, value)).cloned());
    env
}

fn passes(name: &str) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_")
}

/// What the system can carry: a name without `=`, nothing with NUL.
fn is_settable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn nothing_of_the_host_passes_but_what_is_named() {
        let host =
            pairs(&[("PATH", "/b"), ("OPENAI_API_KEY", "k"), ("LC_ALL", "C"), ("HOME", "/h"), ("BASH_ENV", "/x")]);
        let added = pairs(&[("A", "1"), ("bad=name", "x"), ("PATH", "/mine"), ("nul", "a\0b")]);
        let env = build(&host.into_iter().collect(), Path::new("/t"), Path::new("/bin/sh"), &added);
        let expected = pairs(&[
            ("A", "1"),
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("PATH", "/mine"),
            ("SHELL", "/bin/sh"),
            ("TERM", "dumb"),
            ("TMPDIR", "/t"),
        ]);
        assert_eq!(env, expected.into_iter().collect());
    }
}
