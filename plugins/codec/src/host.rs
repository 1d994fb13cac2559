//! Whose server an address is.

/// The host of a URL, in lower case.
#[must_use]
pub fn of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or("");
    let host = authority.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("");
    host.to_ascii_lowercase()
}

/// The host is this one, or one below it.
#[must_use]
pub fn is_in(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
