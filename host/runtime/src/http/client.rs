//! How connections are made.

use super::because;
use crate::destination::{Destination, Scheme};
use model::target::Target;
use std::net::SocketAddr;
use std::time::Duration;

/// Addresses that one download may lead over.
const REDIRECTS: usize = 5;

/// Bounds on waiting, and whom to trust. The same for all providers.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Until a connection stands, TLS included.
    pub connect: Duration,
    /// Until the head of an answer is there.
    pub first_byte: Duration,
    /// Between two reads of an answer.
    pub idle: Duration,
    /// Further roots of trust, as PEM, beside those of the machine.
    pub ca: Option<Vec<u8>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        let silence = Duration::from_secs(120);
        Self { connect: Duration::from_secs(10), first_byte: silence, idle: silence, ca: None }
    }
}

/// The pool of connections to one destination; none for `echo:`, which needs no network.
///
/// # Errors
/// When the roots of trust cannot be loaded.
pub fn client(to: &Destination, options: &HttpOptions) -> Result<Option<reqwest::Client>, String> {
    let built = match to.scheme {
        Scheme::Echo => return Ok(None),
        // Neither proxies nor roots of trust have a part in talking to this machine in clear.
        Scheme::Local => builder(options).no_proxy().tls_certs_only([]),
        // Without this machine's own certificates nothing would be trusted at all, so they stay.
        Scheme::Tls => builder(options).https_only(true).tls_certs_merge(roots(options)?),
    };
    built.build().map(Some).map_err(|e| because(&e))
}

/// For components: to this machine in clear and nowhere else, or with TLS, redirects included. Credentials do not follow a redirect
/// to another host.
///
/// # Errors
/// As [`client`].
pub fn fetcher(local: bool, options: &HttpOptions) -> Result<reqwest::Client, String> {
    let built = if local {
        builder(options).no_proxy().tls_certs_only([])
    } else {
        let redirects = reqwest::redirect::Policy::limited(REDIRECTS);
        builder(options).https_only(true).redirect(redirects).tls_certs_merge(roots(options)?)
    };
    built.build().map_err(|e| because(&e))
}

/// A client for one request to one place, which it reaches at these addresses and no others: neither names nor proxies nor earlier
/// connections lead it elsewhere. It follows nothing, keeps nothing and unpacks nothing.
///
/// # Errors
/// When the roots of trust cannot be loaded.
pub fn pinned(to: &Target, addresses: &[SocketAddr], options: &HttpOptions) -> Result<reqwest::Client, String> {
    let builder = match to.scheme {
        model::target::Scheme::Http => builder(options).tls_certs_only([]),
        model::target::Scheme::Https => builder(options).https_only(true).tls_certs_merge(roots(options)?),
    };
    let built = builder
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .referer(false)
        .pool_max_idle_per_host(0)
        .http1_max_headers(HEADERS)
        .http2_max_header_list_size(HEADER_BYTES)
        .resolve_to_addrs(&to.host, addresses);
    built.build().map_err(|e| because(&e))
}

/// Header fields of one answer to a component, and their bytes.
const HEADERS: usize = 128;
const HEADER_BYTES: u32 = 64 << 10;

fn roots(options: &HttpOptions) -> Result<Vec<reqwest::Certificate>, String> {
    let Some(pem) = &options.ca else { return Ok(Vec::new()) };
    let found = reqwest::Certificate::from_pem_bundle(pem)
        .map_err(|e| format!("the certificates of `http.ca_file` cannot be read: {}", because(&e)))?;
    if found.is_empty() {
        return Err("`http.ca_file` holds no certificate (PEM: `-----BEGIN CERTIFICATE-----`)".into());
    }
    Ok(found)
}

fn builder(options: &HttpOptions) -> reqwest::ClientBuilder {
    install_crypto();
    reqwest::Client::builder()
        .connect_timeout(options.connect)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("airlock/", env!("CARGO_PKG_VERSION")))
}

/// Once for the process. A provider that is installed already is as good.
fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
