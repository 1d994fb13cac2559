//! Where a request goes: a URL that was read once, in one spelling. What is matched, asked for, connected to and written down is
//! this, never the text that it was made from.

use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// Bytes of a URL.
pub const LONGEST: usize = 8 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A place and what is asked for there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub scheme: Scheme,
    /// In lower case, names in their ASCII form, IPv6 in brackets.
    pub host: String,
    pub port: u16,
    /// Begins with `/`; dots are resolved.
    pub path: String,
    pub query: Option<String>,
}

/// Why a text names no place that a request could go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    #[error("the URL is longer than {LONGEST} bytes")]
    Long,
    #[error("`{0}` begins with neither https:// nor http://")]
    Scheme(String),
    #[error("the URL holds white space, control characters or a backslash")]
    Characters,
    #[error("the URL holds a user name or a password")]
    User,
    #[error("`{0}` is no host that is written as it should be")]
    Host(String),
    #[error("it is no URL: {0}")]
    Syntax(String),
}

impl Target {
    /// Reads a URL. One that another program could read otherwise (user names, odd forms of addresses, dots behind a name, encoded
    /// hosts) is refused, not mended.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, BadTarget> {
        if text.len() > LONGEST {
            return Err(BadTarget::Long);
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(BadTarget::Characters);
        }
        let (scheme, rest) = scheme(text)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // The parser would look for the host behind further slashes.
        if authority.is_empty() {
            return Err(BadTarget::Host(String::new()));
        }
        if authority.contains('@') {
            return Err(BadTarget::User);
        }
        let url = Url::parse(text).map_err(|e| BadTarget::Syntax(e.to_string()))?;
        let odd = || BadTarget::Host(authority.to_owned());
        let host = host(&url, authority).ok_or_else(odd)?;
        let port = url.port_or_known_default().filter(|p| *p != 0).ok_or_else(odd)?;
        Ok(Self { scheme, host, port, path: url.path().to_owned(), query: url.query().map(str::to_owned) })
    }

    /// The address, where the host is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.trim_matches(['[', ']']).parse().ok()
    }

    /// Whether the host is a name for this machine by rule (RFC 6761), whatever a name server says.
    #[must_use]
    pub fn is_localhost(&self) -> bool {
        self.host == "localhost" || self.host.ends_with(".localhost")
    }

    /// `scheme://host`, with the port where it is not the scheme's own.
    #[must_use]
    pub fn origin(&self) -> String {
        let own = self.port == self.scheme.port();
        let port = if own { String::new() } else { format!(":{}", self.port) };
        format!("{}://{}{port}", self.scheme.as_str(), self.host)
    }

    /// Whether an allowing rule's pattern means this URL. In a text alone the `*` of `https://*.example.com/*` could stand for
    /// `evil.org/x`: here it stays inside the host.
    #[must_use]
    pub fn fits(&self, pattern: &str) -> bool {
        if pattern == "*" {
            return true;
        }
        let Some((origin, path)) = split(pattern) else { return false };
        // `https://*`, the whole of the pattern, means every host.
        let path = path.unwrap_or(if origin.ends_with('*') { "*" } else { "/" });
        let whole = format!("{}:{}", self.origin_without_port(), self.port);
        let hosts = crate::wildcard::matches(origin, &self.origin()) || crate::wildcard::matches(origin, &whole);
        hosts && crate::wildcard::matches(path, &self.beyond())
    }

    /// Whether a rule's pattern names the host of this URL letter by letter.
    #[must_use]
    pub fn is_named_by(&self, pattern: &str) -> bool {
        let Some((origin, _)) = split(pattern) else { return false };
        Self::parse(origin).is_ok_and(|named| named.origin() == self.origin())
    }

    fn origin_without_port(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), self.host)
    }

    /// Path and query.
    #[must_use]
    pub fn beyond(&self) -> String {
        self.query.as_ref().map_or_else(|| self.path.clone(), |q| format!("{}?{q}", self.path))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.beyond())
    }
}

/// Origin and path of a pattern.
fn split(pattern: &str) -> Option<(&str, Option<&str>)> {
    let (scheme, rest) = pattern.split_once("://")?;
    let plain = scheme == "*" || scheme.bytes().all(|b| b.is_ascii_lowercase());
    if !plain {
        return None;
    }
    Some(match rest.find('/') {
        Some(at) => (&pattern[..scheme.len() + 3 + at], Some(&rest[at..])),
        None => (pattern, None),
    })
}

fn scheme(text: &str) -> Result<(Scheme, &str), BadTarget> {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|t| t.eq_ignore_ascii_case(with));
    if begins("https://") {
        return Ok((Scheme::Https, &text[8..]));
    }
    if begins("http://") {
        return Ok((Scheme::Http, &text[7..]));
    }
    Err(BadTarget::Scheme(text.chars().take(80).collect()))
}

/// The host in its one spelling; `None` where the text has another that only some programs read the same way.
fn host(url: &Url, authority: &str) -> Option<String> {
    let written = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    };
    // Encoded letters, and zones of IPv6 addresses.
    if written.contains('%') {
        return None;
    }
    match url.host()? {
        Host::Domain(name) => is_name(name).then(|| name.to_owned()),
        Host::Ipv4(ip) => (ip.to_string() == written).then(|| written.to_owned()),
        Host::Ipv6(ip) => Some(format!("[{ip}]")),
    }
}

/// RFC 1035, section 2.3.4, with the underscore that exists in practice. A dot at the end is another spelling of the same name.
fn is_name(name: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests;
