//! Components from elsewhere: an address with a digest, or a registry. What comes back counts only if it is what was named, and is
//! bounded in size and time, whoever sends it.

use super::{InstallError, sha256};
use crate::anatomy::SIZE_MAX;
use crate::http::{HttpOptions, fetcher};
use http::HeaderMap;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Until the head of an answer, and between two pieces of it; shorter where the config is less patient.
const SILENCE: Duration = Duration::from_secs(30);
/// For all of it.
const WHOLE: Duration = Duration::from_secs(600);
/// Bytes a second that have to come once the first silence is over: a server that drips is one that stalls.
const PACE: u64 = 1 << 10;

/// Told how many bytes have come, and of how many.
pub type Progress<'a> = &'a (dyn Fn(u64, Option<u64>) + Send + Sync);

/// A component at an address.
///
/// # Errors
/// [`InstallError::Fetch`]: an address that is not safe to fetch from, a server that fails, or content that has another digest.
pub async fn from_url(
    url: &str,
    digest: &str,
    options: &HttpOptions,
    progress: Progress<'_>,
) -> Result<Vec<u8>, InstallError> {
    let failed = |why: String| InstallError::Fetch { from: url.into(), why };
    let wanted =
        sha256_of(digest).ok_or_else(|| failed(format!("`{digest}` is no digest: write sha256: and 64 hex digits")))?;
    let line = Line::to(url, options).map_err(failed)?;
    let answer = line.get(url, HeaderMap::new()).await.map_err(failed)?;
    if !answer.status().is_success() {
        return Err(failed(format!("the server answers {}", answer.status())));
    }
    let bytes = line.body(answer, SIZE_MAX, progress).await.map_err(failed)?;
    same(&bytes, wanted).map_err(failed)?;
    Ok(bytes)
}

/// The hex digits of `sha256:…`.
pub(super) fn sha256_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    (hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))).then_some(hex)
}

/// # Errors
/// Where the bytes are others.
pub(super) fn same(bytes: &[u8], wanted: &str) -> Result<(), String> {
    let got = sha256(bytes);
    if got == wanted {
        return Ok(());
    }
    Err(format!(
        "it is not what was asked for: its digest is sha256:{got}, and not sha256:{wanted}. Nothing of it was used"
    ))
}

/// A way to one server: in clear to this machine alone, everywhere else with TLS, redirects included.
pub(super) struct Line {
    client: reqwest::Client,
    pub local: bool,
    head: Duration,
    idle: Duration,
}

impl Line {
    /// # Errors
    /// An address that is none, or in clear to another machine.
    pub fn to(url: &str, options: &HttpOptions) -> Result<Self, String> {
        let parsed = reqwest::Url::parse(url).map_err(|e| format!("it is no address: {e}"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("an address must not hold a name or password: it is kept in the lock".into());
        }
        let local = parsed.scheme() == "http" && is_here(&parsed);
        if parsed.scheme() != "https" && !local {
            return Err("only https is fetched from; http from this machine alone".into());
        }
        let (head, idle) = (options.first_byte.min(SILENCE), options.idle.min(SILENCE));
        Ok(Self { client: fetcher(local, options)?, local, head, idle })
    }

    /// Whether credentials may go there too.
    pub fn may_ask(&self, url: &reqwest::Url) -> bool {
        url.scheme() == "https" || self.local && url.scheme() == "http" && is_here(url)
    }

    pub async fn get(&self, url: &str, headers: HeaderMap) -> Result<reqwest::Response, String> {
        let sent = timeout(self.head, self.client.get(url).headers(headers).send()).await;
        sent.map_err(|_| silent(self.head))?.map_err(|e| crate::http::because(&e))
    }

    /// The body, bounded in size and time.
    pub async fn body(
        &self,
        mut answer: reqwest::Response,
        most: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<u8>, String> {
        let too_large = || format!("it is larger than {most} bytes");
        let total = answer.content_length();
        if total.is_some_and(|n| n > most as u64) {
            return Err(too_large());
        }
        let (begun, mut bytes) = (Instant::now(), Vec::new());
        loop {
            let until = self.due(bytes.len() as u64).min(WHOLE);
            let next = timeout_at((begun + until).min(Instant::now() + self.idle), answer.chunk()).await;
            let next =
                next.map_err(|_| if begun.elapsed() < until { silent(self.idle) } else { slow(&bytes, until) })?;
            let Some(piece) = next.map_err(|e| crate::http::because(&e))? else { return Ok(bytes) };
            if bytes.len() + piece.len() > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
            progress(bytes.len() as u64, total);
        }
    }

    /// How long that many bytes may have taken.
    fn due(&self, bytes: u64) -> Duration {
        self.idle + Duration::from_millis(bytes * 1000 / PACE)
    }
}

fn is_here(url: &reqwest::Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"))
}

fn silent(waited: Duration) -> String {
    format!("the server said nothing for {} s", waited.as_secs_f32())
}

fn slow(bytes: &[u8], waited: Duration) -> String {
    format!("the server is too slow: {} bytes in {} s", bytes.len(), waited.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_fetched_from() {
        for (url, fits) in [
            ("https://example.com/x.wasm", true),
            ("http://127.0.0.1:8080/x.wasm", true),
            ("http://localhost/x.wasm", true),
            ("http://[::1]:1/x.wasm", true),
            ("http://example.com/x.wasm", false),
            ("http://127.0.0.1.example.com/x", false),
            ("https://user:pass@example.com/x", false),
            ("http://127.0.0.1@example.com/x", false),
            ("file:///etc/passwd", false),
            ("ftp://example.com/x", false),
            ("x.wasm", false),
        ] {
            assert_eq!(Line::to(url, &HttpOptions::default()).is_ok(), fits, "{url}");
        }
    }

    #[test]
    fn a_digest_is_written_one_way() {
        let hex = "ab".repeat(32);
        for (text, fits) in [
            (format!("sha256:{hex}"), true),
            (format!("sha256:{}", hex.to_uppercase()), false),
            (format!("sha512:{hex}"), false),
            (hex.clone(), false),
            (format!("sha256:{}", &hex[1..]), false),
            (format!("sha256:{}g", &hex[1..]), false),
        ] {
            assert_eq!(sha256_of(&text).is_some(), fits, "{text}");
        }
        assert!(same(b"abc", &sha256(b"abc")).is_ok() && same(b"abd", &sha256(b"abc")).is_err());
    }
}
