//! Which requests a component could ever send: a set of patterns, each one scheme, host, port, method and path.
//!
//! Each of the five is a tree (two patterns of it either exclude each other or one holds the other), so the meet of two patterns is a
//! pattern, and the set without those that another one holds is the one form of a grant.

use crate::target::{Scheme, Target};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Patterns of one grant.
const PATTERNS: usize = 256;

/// The requests of a grant. Written as `hosts = ["api.example.com"]` and, for methods and paths, tables `rule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Requests(BTreeSet<Pattern>);

/// One kind of request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    scheme: Scheme,
    host: HostPattern,
    /// `None` = any.
    port: Option<u16>,
    /// `None` = any.
    method: Option<String>,
    /// Without the slash at its end; empty = any.
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostPattern {
    Any,
    /// Every name below this one, not the name itself.
    Below(String),
    Is(String),
}

/// As it stands in a manifest or a file of grants.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    hosts: Vec<String>,
    rule: Vec<WrittenRule>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    host: String,
    /// None = any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    methods: Vec<String>,
    /// Beginnings of paths, by whole segments; none = any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
}

/// Why a text is no pattern of requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    #[error(
        "`{0}` is no host: write `api.example.com`, `*.example.com`, `host:port` or `scheme://host:port`, the host in its plain form"
    )]
    Host(String),
    #[error("`{0}` is no method such as `GET`")]
    Method(String),
    #[error("`{0}` is no beginning of a path such as `/v1`")]
    Path(String),
    #[error("it holds more than {PATTERNS} hosts with their methods and paths")]
    Many,
}

impl Requests {
    /// To these hosts with any method and path; see the module for the forms.
    ///
    /// # Errors
    /// The first that is no host.
    pub fn to<S: AsRef<str>>(hosts: impl IntoIterator<Item = S>) -> Result<Self, BadPattern> {
        let hosts = hosts.into_iter().map(|h| h.as_ref().to_owned()).collect();
        Self::try_from(Written { hosts, rule: Vec::new() })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        self.0.iter().flat_map(|a| other.0.iter().filter_map(move |b| a.meet(b))).collect()
    }

    /// What one of them allows.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).cloned().collect()
    }

    /// What is allowed here and not there, in patterns.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|p| !other.0.iter().any(|o| p.within(o))).cloned().collect())
    }

    /// Whether a request is allowed.
    #[must_use]
    pub fn allow(&self, method: &str, target: &Target) -> bool {
        self.0.iter().any(|p| p.matches(method, target))
    }

    /// Whether the host is allowed by its own name, not by a pattern for many.
    #[must_use]
    pub fn name(&self, method: &str, target: &Target) -> bool {
        let named = |p: &&Pattern| matches!(p.host, HostPattern::Is(_)) && p.port.is_some();
        self.0.iter().filter(named).any(|p| p.matches(method, target))
    }

    /// Each pattern in words: `GET https://api.example.com/v1`.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

/// Those that another one holds add nothing.
impl FromIterator<Pattern> for Requests {
    fn from_iter<I: IntoIterator<Item = Pattern>>(patterns: I) -> Self {
        let all: BTreeSet<Pattern> = patterns.into_iter().collect();
        let widest = |p: &&Pattern| !all.iter().any(|o| o != *p && p.within(o));
        Self(all.iter().filter(widest).cloned().collect())
    }
}

impl Pattern {
    fn meet(&self, other: &Self) -> Option<Self> {
        Some(Self {
            scheme: (self.scheme == other.scheme).then_some(self.scheme)?,
            host: self.host.meet(&other.host)?,
            port: narrower(self.port, other.port)?,
            method: narrower(self.method.clone(), other.method.clone())?,
            path: deeper(&self.path, &other.path)?.to_owned(),
        })
    }

    fn within(&self, other: &Self) -> bool {
        self.meet(other).as_ref() == Some(self)
    }

    fn matches(&self, method: &str, target: &Target) -> bool {
        self.scheme == target.scheme
            && self.host.matches(target)
            && self.port.is_none_or(|p| p == target.port)
            && self.method.as_deref().is_none_or(|m| m == method)
            && self.leads_to(&target.path)
    }

    /// What a server may decode into other segments is below no beginning but the root.
    fn leads_to(&self, path: &str) -> bool {
        let coded = || ["%2e", "%2f", "%5c", "//"].iter().any(|c| path.to_ascii_lowercase().contains(c));
        self.path.is_empty() || (below(&self.path, path) && !coded())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{method} ")?;
        }
        write!(f, "{}{}", self.origin(), self.path)
    }
}

impl Pattern {
    fn origin(&self) -> String {
        let port = match self.port {
            None => ":*".to_owned(),
            Some(port) if port == self.scheme.port() => String::new(),
            Some(port) => format!(":{port}"),
        };
        format!("{}://{}{port}", self.scheme.as_str(), self.host)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Is(name) => f.write_str(name),
        }
    }
}

impl HostPattern {
    fn meet(&self, other: &Self) -> Option<Self> {
        let smaller = match (self, other) {
            (Self::Any, x) | (x, Self::Any) => x,
            (Self::Is(a), Self::Is(b)) => return (a == b).then(|| self.clone()),
            (Self::Below(a), Self::Below(b)) if a == b => self,
            (Self::Below(a), x @ (Self::Below(b) | Self::Is(b))) if is_below(a, b) => x,
            (x @ (Self::Below(b) | Self::Is(b)), Self::Below(a)) if is_below(a, b) => x,
            (Self::Below(_) | Self::Is(_), _) => return None,
        };
        Some(smaller.clone())
    }

    fn matches(&self, target: &Target) -> bool {
        match self {
            Self::Any => true,
            Self::Below(name) => target.ip().is_none() && is_below(name, &target.host),
            Self::Is(name) => *name == target.host,
        }
    }
}

/// Whether one name lies below another: `a.x` below `x`.
fn is_below(upper: &str, name: &str) -> bool {
    name.strip_suffix(upper).is_some_and(|rest| rest.ends_with('.'))
}

/// The meet of two that may be *any*; `None` where they exclude each other.
fn narrower<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<Option<T>> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(Some(a)),
        (a, b) => Some(a.or(b)),
    }
}

fn below(beginning: &str, path: &str) -> bool {
    path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn deeper<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    if below(a, b) { Some(b) } else { below(b, a).then_some(a) }
}

impl TryFrom<Written> for Requests {
    type Error = BadPattern;

    fn try_from(written: Written) -> Result<Self, BadPattern> {
        let mut all = Vec::new();
        let plain = |host| WrittenRule { host, methods: Vec::new(), paths: Vec::new() };
        for rule in written.hosts.into_iter().map(plain).chain(written.rule) {
            all.extend(rule.patterns()?);
            if all.len() > PATTERNS {
                return Err(BadPattern::Many);
            }
        }
        Ok(all.into_iter().collect())
    }
}

impl From<Requests> for Written {
    fn from(requests: Requests) -> Self {
        let mut written = Self::default();
        for pattern in requests.0 {
            let host = pattern.origin();
            if pattern.method.is_none() && pattern.path.is_empty() {
                written.hosts.push(host);
                continue;
            }
            let paths = Some(pattern.path).filter(|p| !p.is_empty());
            let (methods, paths) = (pattern.method.into_iter().collect(), paths.into_iter().collect());
            written.rule.push(WrittenRule { host, methods, paths });
        }
        written
    }
}

impl WrittenRule {
    fn patterns(&self) -> Result<Vec<Pattern>, BadPattern> {
        let (scheme, host, port) = origin(&self.host).ok_or_else(|| BadPattern::Host(self.host.clone()))?;
        let methods: Vec<_> = self.methods.iter().map(|m| method(m).map(Some)).collect::<Result<_, _>>()?;
        let paths: Vec<_> = self.paths.iter().map(|p| beginning(p)).collect::<Result<_, _>>()?;
        let methods = if methods.is_empty() { vec![None] } else { methods };
        let paths = if paths.is_empty() { vec![String::new()] } else { paths };
        let one = |method: &Option<String>, path: &String| Pattern {
            scheme,
            host: host.clone(),
            port,
            method: method.clone(),
            path: path.clone(),
        };
        Ok(methods.iter().flat_map(|m| paths.iter().map(move |p| one(m, p))).collect())
    }
}

/// `[scheme://]host[:port]`; without a scheme it is https.
fn origin(text: &str) -> Option<(Scheme, HostPattern, Option<u16>)> {
    let (scheme, rest) = match text.split_once("://") {
        Some(("https", rest)) => (Scheme::Https, rest),
        Some(("http", rest)) => (Scheme::Http, rest),
        Some(_) => return None,
        None => (Scheme::Https, text),
    };
    let (host, any_port) = rest.strip_suffix(":*").map_or((rest, false), |host| (host, true));
    let (wildcard, name) = match host.strip_prefix('*') {
        None => ("", host),
        Some(after) => ("*", after),
    };
    // A port behind a bare `*`, or the name behind `*.`.
    let (wildcard, name) = match (wildcard, name.strip_prefix('.')) {
        ("*", Some(name)) => ("*.", name),
        ("*", None) if name.is_empty() || name.starts_with(':') => ("*", name),
        ("*", None) => return None,
        _ => ("", name),
    };
    if name.contains(['/', '?', '#']) {
        return None;
    }
    let probe = if wildcard == "*" { format!("x{name}") } else { name.to_owned() };
    let known = Target::parse(&format!("{}://{probe}", scheme.as_str())).ok()?;
    let is_address = known.ip().is_some();
    let host = match wildcard {
        "*" => HostPattern::Any,
        "*." if is_address => return None,
        "*." => HostPattern::Below(known.host),
        _ => HostPattern::Is(known.host),
    };
    Some((scheme, host, (!any_port).then_some(known.port)))
}

/// RFC 9110, section 9.1: methods are tokens, and letters count.
fn method(text: &str) -> Result<String, BadPattern> {
    let fits = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    if fits { Ok(text.to_owned()) } else { Err(BadPattern::Method(text.to_owned())) }
}

fn beginning(text: &str) -> Result<String, BadPattern> {
    let bad = || BadPattern::Path(text.to_owned());
    let known = Target::parse(&format!("https://x{text}")).map_err(|_| bad())?;
    let plain = text.starts_with('/') && known.path == text && known.query.is_none() && !text.contains(['#', '%', '*']);
    let doubled = text.contains("//");
    if plain && !doubled { Ok(text.trim_end_matches('/').to_owned()) } else { Err(bad()) }
}

#[cfg(test)]
mod tests;
