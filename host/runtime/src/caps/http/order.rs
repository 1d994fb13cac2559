//! What a guest wants sent, read once: method, place, headers. Pure.

use super::super::secrets::Purse;
use crate::secret::has_placeholder;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use model::target::{Scheme, Target};

/// Header fields of one request.
const FIELDS: usize = 100;

/// Set by the host alone: they say where the message goes, where it ends, who stands in between, or how it is packed.
const HOSTS: [HeaderName; 13] = [
    header::HOST,
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("alt-used"),
];

#[must_use]
pub fn is_forbidden(name: &HeaderName) -> bool {
    HOSTS.contains(name)
}

/// A request whose parts hold together.
#[derive(Debug)]
pub struct Order {
    pub method: String,
    pub target: Target,
    headers: HeaderMap,
}

impl Order {
    /// # Errors
    /// What is wrong with it.
    pub fn read(parts: &http::request::Parts) -> Result<Self, String> {
        let method = method(parts.method.as_str())?;
        let target = target(&parts.uri)?;
        if let Some(name) = parts.headers.keys().find(|n| is_forbidden(n)) {
            return Err(format!("the header `{name}` is set by the host alone"));
        }
        if parts.headers.len() > FIELDS {
            return Err(format!("it has more than {FIELDS} header fields"));
        }
        if parts.headers.get_all(header::CONTENT_LENGTH).iter().count() > 1 {
            return Err("it states its length more than once".into());
        }
        Ok(Self { method, target, headers: parts.headers.clone() })
    }

    /// The headers with secrets in place of their names, and which they were. The length is counted by the host, and the answer is
    /// asked for unpacked: a secret that comes back packed could not be found.
    ///
    /// # Errors
    /// Why a secret does not go there.
    pub fn headers(&self, purse: &Purse) -> Result<(HeaderMap, Vec<String>), String> {
        let (mut headers, mut secrets) = (HeaderMap::new(), Vec::new());
        for (name, value) in self.headers.iter().filter(|(n, _)| **n != header::CONTENT_LENGTH) {
            let Ok(text) = value.to_str() else {
                headers.append(name, value.clone());
                continue;
            };
            let (filled, used) = purse.fill(text, &self.method, &self.target)?;
            let broken = |_| format!("the value of the header `{name}` holds characters that no header can hold");
            let mut filled = HeaderValue::from_str(&filled).map_err(broken)?;
            filled.set_sensitive(!used.is_empty());
            headers.append(name, filled);
            secrets.extend(used);
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        secrets.sort_unstable();
        secrets.dedup();
        Ok((headers, secrets))
    }
}

/// CONNECT opens a way to elsewhere, TRACE shows what was put in.
fn method(text: &str) -> Result<String, String> {
    let plain = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    if plain && !matches!(text, "CONNECT" | "TRACE") {
        Ok(text.to_owned())
    } else {
        Err(format!("`{}` is no method for a component", text.escape_debug()))
    }
}

/// Put together from its parts and read as a whole: a path that is an address itself leads nowhere.
fn target(uri: &http::Uri) -> Result<Target, String> {
    let scheme = uri.scheme_str().unwrap_or(Scheme::Https.as_str());
    let authority = uri.authority().map_or("", |a| a.as_str());
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    if !path.starts_with('/') {
        return Err(format!("its path is `{}`, which does not begin with a slash", path.escape_debug()));
    }
    let text = format!("{scheme}://{authority}{path}");
    let known = Target::parse(&text).map_err(|e| e.to_string())?;
    let coded = text.to_ascii_lowercase().replace("%7b", "{").replace("%7d", "}").replace("%3a", ":");
    if has_placeholder(&coded) {
        return Err("a secret may stand in the value of a header only, not in the URL".into());
    }
    Ok(known)
}
