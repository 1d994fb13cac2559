//! Where an answer sends on to.

use crate::Reply;

/// `scheme://host[:port]` as written; `None` for what cannot be fetched.
pub fn origin(url: &str) -> Option<&str> {
    let scheme =
        ["https://", "http://"].into_iter().find(|s| url.get(..s.len()).is_some_and(|b| b.eq_ignore_ascii_case(s)))?;
    let end = url[scheme.len()..].find(['/', '?', '#']).map_or(url.len(), |at| scheme.len() + at);
    (end > scheme.len()).then(|| &url[..end])
}

/// The address that a redirect names, made whole.
pub fn next(url: &str, reply: &Reply) -> Option<String> {
    let sends_on = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
    let location = reply.header("location").filter(|_| sends_on)?;
    join(url, location.split('#').next().unwrap_or_default().trim())
}

/// A reference against the address that it stands in (RFC 3986, section 5.2); dots are the host's to resolve. `None` where it is of
/// another kind: `mailto:`, `javascript:`, `data:`.
pub fn join(base: &str, reference: &str) -> Option<String> {
    let origin_of_base = origin(base)?;
    if origin(reference).is_some() {
        return Some(reference.to_owned());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        let scheme = origin_of_base.split("//").next()?;
        return Some(format!("{scheme}//{rest}"));
    }
    let is_other = reference.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':'));
    if is_other {
        return None;
    }
    let path = &base[origin_of_base.len()..];
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Some(match reference.chars().next() {
        None => base.to_owned(),
        Some('/') => format!("{origin_of_base}{reference}"),
        Some('?' | '#') => format!("{origin_of_base}{path}{reference}"),
        Some(_) => {
            let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
            format!("{origin_of_base}{folder}{reference}")
        }
    })
}
