//! Components from a registry of containers, as the OCI distribution specification 1.1 has it: a manifest under a name and tag, and in
//! it one layer of WebAssembly by its digest. A registry is not believed: what it sends has the digest that was asked for.

use super::InstallError;
use super::fetch::{Line, Progress, same, sha256_of};
use crate::anatomy::SIZE_MAX;
use crate::http::HttpOptions;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;
use std::fmt;
use std::sync::{Mutex, PoisonError};

const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json";
/// What a layer that is a component is called: the CNCF's artifact layout, and two older ones.
const LAYERS: [&str; 3] = [
    "application/wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];
const MANIFEST_MAX: usize = 4 << 20;
const TOKEN_MAX: usize = 64 << 10;

/// `host[:port]/name[:tag][@sha256:…]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub host: String,
    pub name: String,
    pub tag: Option<String>,
    pub digest: Option<String>,
}

impl Reference {
    /// `None` where a text is no reference to a registry. The host has a dot or a port, or is `localhost`: anything else is a path.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("oci://").unwrap_or(text);
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(sha256_of(digest).map(|_| digest.to_owned())?)),
            None => (text, None),
        };
        let (host, path) = rest.split_once('/')?;
        let (name, tag) = match path.split_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (path, None),
        };
        let is_host = host.contains('.') && !host.starts_with('.') || host.contains(':') || host == "localhost";
        let host_fits = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b));
        let part_fits = |p: &str| {
            !p.is_empty()
                && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
                && !p.starts_with('.')
        };
        let tag_fits = |t: &str| {
            (1..=128).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        let fits = is_host && host_fits && name.split('/').all(part_fits) && tag.is_none_or(tag_fits);
        fits.then(|| Self { host: host.into(), name: name.into(), tag: tag.map(str::to_owned), digest })
    }

    /// The last part of the name: what the component is called when nobody says so.
    #[must_use]
    pub fn last(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    fn is_local(&self) -> bool {
        let host = self.host.rsplit_once(':').map_or(self.host.as_str(), |(h, _)| h);
        matches!(host, "127.0.0.1" | "localhost" | "[::1]")
    }

    fn wanted(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.host, self.name)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// A name and a password, or a token in its place. It has no text form.
#[derive(Clone)]
pub struct Login {
    pub name: String,
    pub password: String,
}

impl Login {
    fn header(&self) -> Option<HeaderValue> {
        let coded = STANDARD.encode(format!("{}:{}", self.name, self.password));
        sensitive(&format!("Basic {coded}"))
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The component that a reference names.
///
/// # Errors
/// [`InstallError::Fetch`].
pub async fn from_registry(
    reference: &Reference,
    login: Option<Login>,
    options: &HttpOptions,
    progress: Progress<'_>,
) -> Result<Vec<u8>, InstallError> {
    let failed = |why: String| InstallError::Fetch { from: reference.to_string(), why };
    let scheme = if reference.is_local() { "http" } else { "https" };
    let base = format!("{scheme}://{}/v2/{}", reference.host, reference.name);
    let line = Line::to(&base, options).map_err(failed)?;
    let registry = Registry { line, base, login, leave: Mutex::default() };
    registry.component(reference, progress).await.map_err(failed)
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Part>,
    #[serde(default)]
    manifests: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    media_type: String,
    digest: String,
    size: u64,
}

/// What a service for tokens answers. Some name the token once, some both ways: `access_token` is there for OAuth 2.0.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

struct Registry {
    line: Line,
    base: String,
    login: Option<Login>,
    /// What the registry gave leave by, once it was asked.
    leave: Mutex<Option<HeaderValue>>,
}

impl Registry {
    async fn component(&self, reference: &Reference, progress: Progress<'_>) -> Result<Vec<u8>, String> {
        let mut manifest = self.manifest(reference.wanted()).await?;
        if let [only] = &manifest.manifests[..] {
            // Anything else would be taken for a tag, whose content nobody vouches for.
            let wanted = sha256_of(&only.digest).ok_or("what its index names has no digest of SHA-256")?;
            manifest = self.manifest(&format!("sha256:{wanted}")).await?;
        }
        let mut layers = manifest.layers.into_iter().filter(|l| LAYERS.contains(&l.media_type.as_str()));
        let (Some(layer), None) = (layers.next(), layers.next()) else {
            return Err(format!("it does not hold one component (a layer of the type `{}`)", LAYERS[0]));
        };
        let wanted = sha256_of(&layer.digest).ok_or("its component has no digest of SHA-256")?;
        let most = usize::try_from(layer.size).unwrap_or(usize::MAX).min(SIZE_MAX);
        let answer = self.get(&format!("{}/blobs/{}", self.base, layer.digest), "*/*").await?;
        let bytes = self.line.body(answer, most, progress).await?;
        if bytes.len() as u64 != layer.size {
            return Err(format!("its component has {} bytes, and its manifest says {}", bytes.len(), layer.size));
        }
        same(&bytes, wanted)?;
        Ok(bytes)
    }

    /// By tag as the registry has it now; by digest exactly that.
    async fn manifest(&self, wanted: &str) -> Result<Manifest, String> {
        let answer = self.get(&format!("{}/manifests/{wanted}", self.base), MANIFESTS).await?;
        let bytes = self.line.body(answer, MANIFEST_MAX, &|_, _| ()).await?;
        if wanted.contains(':') {
            same(&bytes, sha256_of(wanted).ok_or("its manifest has no digest of SHA-256")?)?;
        }
        serde_json::from_slice(&bytes).map_err(|e| format!("its manifest cannot be read: {e}"))
    }

    /// Asks; where the registry wants to know who asks, tells it, and asks once more.
    async fn get(&self, url: &str, accept: &'static str) -> Result<reqwest::Response, String> {
        let first = self.line.get(url, self.headers(accept)).await?;
        if first.status() != http::StatusCode::UNAUTHORIZED {
            return well(first);
        }
        let asked = first.headers().get(WWW_AUTHENTICATE).and_then(|h| h.to_str().ok()).unwrap_or_default().to_owned();
        let leave = self.ask_leave(&asked).await?;
        *self.leave.lock().unwrap_or_else(PoisonError::into_inner) = Some(leave);
        well(self.line.get(url, self.headers(accept)).await?)
    }

    fn headers(&self, accept: &'static str) -> HeaderMap {
        let leave = self.leave.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let leave = leave.map(|value| (AUTHORIZATION, value));
        [(ACCEPT, HeaderValue::from_static(accept))].into_iter().chain(leave).collect()
    }

    async fn ask_leave(&self, challenge: &str) -> Result<HeaderValue, String> {
        let refused =
            || "the registry wants to know who asks: keep `NAME:PASSWORD` with `airlock auth add HOST`".to_owned();
        let (kind, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if kind.eq_ignore_ascii_case("basic") {
            return self.login.as_ref().and_then(Login::header).ok_or_else(refused);
        }
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(refused());
        }
        let realm = parameter(rest, "realm").ok_or("the registry does not say where to ask for leave")?;
        let mut url = reqwest::Url::parse(realm).map_err(|_| "the registry names no address to ask for leave")?;
        if !self.line.may_ask(&url) {
            return Err(format!("the registry wants leave to be asked for in clear, at {realm}"));
        }
        for name in ["service", "scope"] {
            if let Some(value) = parameter(rest, name) {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        let login = self.login.as_ref().and_then(Login::header).map(|value| (AUTHORIZATION, value));
        let answer = self.line.get(url.as_str(), login.into_iter().collect()).await?;
        if !answer.status().is_success() {
            return Err(refused());
        }
        let bytes = self.line.body(answer, TOKEN_MAX, &|_, _| ()).await?;
        let token = token_of(&bytes).ok_or("the registry gave no token")?;
        sensitive(&format!("Bearer {token}")).ok_or_else(|| "the registry gave a token that is none".into())
    }
}

fn token_of(answer: &[u8]) -> Option<String> {
    let Token { token, access_token } = serde_json::from_slice(answer).ok()?;
    token.or(access_token).filter(|t| !t.is_empty())
}

fn well(answer: reqwest::Response) -> Result<reqwest::Response, String> {
    match answer.status() {
        status if status.is_success() => Ok(answer),
        http::StatusCode::UNAUTHORIZED | http::StatusCode::FORBIDDEN => {
            Err("the registry refuses: check the name and password that are kept for it".into())
        }
        http::StatusCode::NOT_FOUND => Err("the registry has nothing of this name".into()),
        status => Err(format!("the registry answers {status}")),
    }
}

/// RFC 9110, section 11.2: `name="value"`, separated by commas.
fn parameter<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some((key, after)) = rest.split_once("=\"") {
        let (value, next) = after.split_once('"')?;
        if key.trim_matches([',', ' ']).eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let with = format!("ghcr.io/o/t:1.0@{digest}");
        let of = |h: &str, n: &str, t: Option<&str>, d: Option<&str>| {
            Some((h.to_owned(), n.to_owned(), t.map(str::to_owned), d.map(str::to_owned)))
        };
        for (text, want) in [
            ("ghcr.io/org/tool:1.0", of("ghcr.io", "org/tool", Some("1.0"), None)),
            ("oci://localhost:5000/tool", of("localhost:5000", "tool", None, None)),
            ("127.0.0.1:5000/a/b-c:v1", of("127.0.0.1:5000", "a/b-c", Some("v1"), None)),
            (&*with, of("ghcr.io", "o/t", Some("1.0"), Some(&digest))),
            ("plugins/tool.wasm", None),
            ("./tool:1", None),
            ("../x.y/tool", None),
            ("ghcr.io/Org/tool", None),
            ("ghcr.io/org/../tool", None),
            ("ghcr.io/org//tool", None),
            ("ghcr.io/tool:a b", None),
            ("ghcr.io/tool@sha256:12", None),
            ("user@ghcr.io/tool", None),
            ("ghcr.io", None),
        ] {
            let got = Reference::parse(text).map(|r| (r.host, r.name, r.tag, r.digest));
            assert_eq!(got, want, "{text}");
        }
        assert_eq!(Reference::parse(&with).unwrap().to_string(), format!("oci://{with}"));
    }

    #[test]
    fn a_token_is_named_one_way_or_both() {
        for (answer, want) in [
            (r#"{"token":"a"}"#, Some("a")),
            (r#"{"access_token":"b"}"#, Some("b")),
            (r#"{"token":"a","access_token":"a","expires_in":300}"#, Some("a")),
            (r#"{"token":null,"access_token":"b"}"#, Some("b")),
            (r#"{"token":""}"#, None),
            ("{}", None),
            ("no", None),
        ] {
            assert_eq!(token_of(answer.as_bytes()).as_deref(), want, "{answer}");
        }
    }

    #[test]
    fn a_challenge_is_read() {
        let text = r#"realm="https://auth.x/token",service="reg.x", scope="repository:o/t:pull,push""#;
        for (name, want) in [
            ("realm", Some("https://auth.x/token")),
            ("service", Some("reg.x")),
            ("scope", Some("repository:o/t:pull,push")),
            ("error", None),
        ] {
            assert_eq!(parameter(text, name), want);
        }
    }
}
