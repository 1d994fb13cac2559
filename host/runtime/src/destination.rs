//! Where requests of a provider may go: below the base URL of its configuration, and nowhere else.

use reqwest::Url;
use std::net::IpAddr;

/// How the base URL is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The host answers with the request's own body.
    Echo,
    /// Without encryption: this machine only.
    Local,
    Tls,
}

/// A base URL that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    text: String,
    base: Url,
    pub scheme: Scheme,
}

impl Destination {
    /// # Errors
    /// Why nothing can be sent there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_end_matches('/');
        let base = Url::parse(text).map_err(|e| format!("{e}; it looks like `https://host/v1`"))?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err("it holds a user name or password; keys belong into the configuration's `key`".into());
        }
        let scheme = match base.scheme() {
            "echo" => Scheme::Echo,
            "https" => Scheme::Tls,
            "http" if is_local(&base) => Scheme::Local,
            "http" => {
                return Err("`http` is only for this machine, since it sends everything in clear; use `https`".into());
            }
            other => return Err(format!("the scheme `{other}` is not known; use `https`, or `http` on this machine")),
        };
        Ok(Self { text: text.to_owned(), base, scheme })
    }

    /// Without a slash at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, for messages.
    #[must_use]
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or(&self.text)
    }

    /// The URL, if it lies below the base URL.
    ///
    /// # Errors
    /// Why nothing is sent there.
    pub fn admit(&self, url: &str) -> Result<Url, String> {
        let parsed = Url::parse(url).map_err(|e| format!("`{url}` is not a URL ({e})"))?;
        let same_place = parsed.scheme() == self.base.scheme()
            && parsed.host() == self.base.host()
            && parsed.port_or_known_default() == self.base.port_or_known_default()
            && parsed.username().is_empty()
            && parsed.password().is_none();
        if same_place && below(self.base.path(), parsed.path()) {
            return Ok(parsed);
        }
        Err(format!("`{url}` does not lie below the base URL `{}`", self.text))
    }
}

/// The parser has resolved dots already; encoded ones are a server's to misread.
fn below(base: &str, path: &str) -> bool {
    let rest = path.strip_prefix(base.trim_end_matches('/'));
    let dotted = path.to_ascii_lowercase().contains("%2e") || path.contains('\\');
    rest.is_some_and(|r| r.is_empty() || r.starts_with('/')) && !dotted
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        for (text, want) in [
            ("https://api.example.com/v1/", Ok(Scheme::Tls)),
            ("http://127.0.0.1:8080/v1", Ok(Scheme::Local)),
            ("http://[::1]:8080", Ok(Scheme::Local)),
            ("http://localhost:11434", Ok(Scheme::Local)),
            ("echo:offline", Ok(Scheme::Echo)),
            ("http://api.example.com", Err("only for this machine")),
            ("http://localhost.example.com", Err("only for this machine")),
            ("https://u:p@api.example.com", Err("user name or password")),
            ("ftp://x", Err("`ftp` is not known")),
            ("api.example.com", Err("looks like")),
        ] {
            match (Destination::parse(text), want) {
                (Ok(d), Ok(scheme)) => assert_eq!(d.scheme, scheme, "{text}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (got, want) => panic!("{text}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn only_below_the_base_url() {
        let base = Destination::parse("https://api.example.com/v1").unwrap();
        for (url, want) in [
            ("https://api.example.com/v1/chat", true),
            ("https://api.example.com:443/v1", true),
            ("https://API.example.com/v1/chat?x=1", true),
            ("https://api.example.com/v1beta/chat", false),
            ("https://api.example.com/v1/../admin", false),
            ("https://api.example.com/v1/%2e%2e/admin", false),
            ("https://api.example.com:8443/v1/chat", false),
            ("http://api.example.com/v1/chat", false),
            ("https://api.example.com.evil.org/v1/chat", false),
            ("https://a@api.example.com/v1/chat", false),
            ("https://evil.org/v1@api.example.com/v1/chat", false),
            ("echo:x", false),
        ] {
            assert_eq!(base.admit(url).is_ok(), want, "{url}");
        }
        let echo = Destination::parse("echo:offline").unwrap();
        assert!(echo.admit("echo:offline").is_ok() && echo.admit("https://api.example.com").is_err());
    }
}
