//! Secrets of tools: a guest writes `{{secret:NAME}}` in the value of a header, and the host puts the value in once it knows where the
//! request goes. Each is bound to hosts by the person who declared it, and to a component by its grant.

use crate::secret::{Secret, Secrets, has_placeholder, placeholders};
use crate::veil::{SHORTEST, Veiled};
use model::grant::{AllowList, Requests};
use model::target::{Scheme, Target};
use std::collections::BTreeMap;

/// A declared secret.
#[derive(Clone, Debug)]
pub struct ToolSecret {
    pub value: Secret,
    /// The requests that may carry it.
    pub to: Requests,
}

/// Where secrets lie. Asked when a call needs one, so that a value is no older than the call.
pub trait SecretSource: Send + Sync {
    /// Names of all that are declared.
    fn names(&self) -> Vec<String>;

    /// `None` where it is not declared or has no value.
    fn find(&self, name: &str) -> Option<ToolSecret>;
}

/// Nothing is declared.
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<ToolSecret> {
        None
    }
}

/// Whether a component may use this secret by name, and it has a value.
pub fn is_set(grant: &AllowList, source: &dyn SecretSource, name: &str) -> bool {
    may_name(grant, name) && source.find(name).is_some()
}

fn may_name(grant: &AllowList, name: &str) -> bool {
    grant.allow.contains(name) || grant.allow.contains("*")
}

/// The secrets of one call. What comes back to it holds none of their values.
pub struct Purse {
    bound: BTreeMap<String, Requests>,
    secrets: Secrets,
}

impl Purse {
    pub fn of(grant: &AllowList, source: &dyn SecretSource) -> Self {
        let names = if grant.allow.is_empty() { Vec::new() } else { source.names() };
        let (mut bound, mut values) = (BTreeMap::new(), BTreeMap::new());
        for name in names.into_iter().filter(|n| may_name(grant, n)) {
            // One that would not be found in an answer is not sent.
            if let Some(ToolSecret { value, to }) = source.find(&name).filter(|s| s.value.can_be_veiled()) {
                bound.insert(name.clone(), to);
                values.insert(name, value);
            }
        }
        Self { bound, secrets: Secrets::new(values) }
    }

    pub fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// The value of a header with secrets in place of their names, and which they were.
    ///
    /// # Errors
    /// Why one of them does not go there.
    pub fn fill(&self, text: &str, method: &str, target: &Target) -> Result<(String, Vec<String>), String> {
        if !has_placeholder(text) {
            return Ok((text.to_owned(), Vec::new()));
        }
        let names = placeholders(text).ok_or("a placeholder for a secret is not closed")?;
        names.iter().try_for_each(|name| self.may_go(name, method, target))?;
        let (filled, _) = self.secrets.fill(text).map_err(|e| e.to_string())?;
        Ok((filled, names.into_iter().map(str::to_owned).collect()))
    }

    fn may_go(&self, name: &str, method: &str, target: &Target) -> Result<(), String> {
        let unknown = || {
            format!(
                "the secret `{name}` is not granted to this component, or has no value of {SHORTEST} characters or more: declare it under [secrets.{name}]"
            )
        };
        let to = self.bound.get(name).ok_or_else(unknown)?;
        let local = target.is_localhost() || target.ip().is_some_and(|ip| ip.is_loopback());
        if target.scheme == Scheme::Http && !local {
            return Err(format!("the secret `{name}` is not sent without TLS"));
        }
        if to.allow(method, target) {
            return Ok(());
        }
        let places = to.in_words().join(", ");
        Err(format!("the secret `{name}` is bound to {places}, not to {method} {}", target.origin()))
    }

    pub fn blank(&self, text: String) -> String {
        self.secrets.blank(text)
    }

    pub fn veiled(&self) -> Veiled {
        self.secrets.veiled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two;

    impl SecretSource for Two {
        fn names(&self) -> Vec<String> {
            vec!["a".into(), "b".into(), "c".into()]
        }

        fn find(&self, name: &str) -> Option<ToolSecret> {
            let to = Requests::to([if name == "a" { "api.example.com" } else { "http://127.0.0.1:9" }]).unwrap();
            let value = if name == "c" { "short".to_owned() } else { format!("value-of-{name}") };
            Some(ToolSecret { value: Secret::new(value), to })
        }
    }

    /// Attack 20: another component's secret, another audience, another way to write it.
    #[test]
    fn a_secret_goes_where_it_is_bound_to() {
        let purse =
            |names: &[&str]| Purse::of(&AllowList { allow: names.iter().map(|n| (*n).to_owned()).collect() }, &Two);
        for (granted, text, url, want) in [
            (&["a"][..], "Bearer {{secret:a}}", "https://api.example.com/x", Ok("Bearer value-of-a")),
            (&["*"], "{{secret:b}}", "http://127.0.0.1:9/", Ok("value-of-b")),
            (&["a"], "plain", "https://evil.org/", Ok("plain")),
            (&["a"], "{{secret:a}}", "https://evil.org/", Err("bound to https://api.example.com")),
            (&["a"], "{{secret:a}}", "https://api.example.com:8443/", Err("bound to")),
            (&["a"], "{{secret:a}}", "http://api.example.com/", Err("without TLS")),
            (&["a"], "{{secret:b}}", "http://127.0.0.1:9/", Err("not granted")),
            (&[], "{{secret:a}}", "https://api.example.com/", Err("not granted")),
            (&["c"], "{{secret:c}}", "http://127.0.0.1:9/", Err("6 characters or more")),
            (&["a"], "{{secret:a", "https://api.example.com/", Err("not closed")),
            (&["a"], "{{secret:a}}{{secret:b}}", "https://api.example.com/", Err("`b` is not granted")),
        ] {
            let filled = purse(granted).fill(text, "GET", &Target::parse(url).unwrap());
            match (filled, want) {
                (Ok((filled, _)), Ok(want)) => assert_eq!(filled, want),
                (Err(why), Err(part)) => {
                    assert!(why.contains(part) && !why.contains("value-of"), "{text} {url}: {why}")
                }
                (got, want) => panic!("{text} {url}: {got:?}, not {want:?}"),
            }
        }
        assert!(is_set(&AllowList { allow: ["a".to_owned()].into() }, &Two, "a"));
        assert!(!is_set(&AllowList::default(), &Two, "a"));
    }
}
