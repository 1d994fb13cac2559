use super::*;
use crate::caps::http::resolve::addresses;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A name server of a few names; each answer is given once, the next lookup gets the next.
struct Names(Mutex<BTreeMap<&'static str, Vec<Vec<&'static str>>>>);

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().unwrap();
        let answers = names.get_mut(name).ok_or_else(|| std::io::Error::other("no such name"))?;
        Ok(answers.remove(0).iter().map(|ip| ip.parse().unwrap()).collect())
    }
}

fn names(table: &[(&'static str, &[&[&'static str]])]) -> Names {
    Names(Mutex::new(table.iter().map(|(n, a)| (*n, a.iter().map(|ips| ips.to_vec()).collect())).collect()))
}

/// Attacks 15 and 16: a name that is allowed leads to a special address, at once, among others or the second time.
#[tokio::test]
async fn only_vetted_addresses_are_connected_to() {
    for (answers, want) in [
        (&["93.184.216.34"][..], true),
        (&["93.184.216.34", "2606:4700::1"], true),
        (&["127.0.0.1"], false),
        (&["::1"], false),
        (&["::ffff:127.0.0.1"], false),
        (&["0.0.0.0"], false),
        (&["169.254.77.77"], false),
        (&["fd00:ec2::254"], false),
        (&["64:ff9b::7f00:1"], false),
        (&["100.64.0.1"], false),
        (&["10.0.0.7"], false),
        (&["224.0.0.1"], false),
        (&["93.184.216.34", "10.0.0.7"], false),
        (&["2606:4700::1", "fe80::1"], false),
        (&[], false),
    ] {
        let found = addresses(&names(&[("a.example.com", &[answers])]), &url("https://a.example.com:8443/x")).await;
        let want =
            want.then(|| answers.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 8443)).collect::<Vec<_>>());
        assert_eq!(found.as_ref().ok(), want.as_ref(), "{answers:?}: {found:?}");
    }
    let turning = names(&[("a.example.com", &[&["93.184.216.34"], &["127.0.0.1"]])]);
    assert!(addresses(&turning, &url("https://a.example.com/")).await.is_ok());
    let again = addresses(&turning, &url("https://a.example.com/")).await.unwrap_err();
    assert!(matches!(again.code, Error::DestinationIpProhibited) && again.why.contains("127.0.0.1"), "{again:?}");
    assert!(addresses(&turning, &url("https://b.example.com/")).await.is_err(), "an unknown name");
}

fn url(text: &str) -> Target {
    Target::parse(text).unwrap()
}

fn order(method: &str, uri: http::Uri, headers: &[(&str, &str)]) -> Result<String, String> {
    let mut request = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    Order::read(&parts).map(|o| format!("{} {}", o.method, o.target))
}

/// As the host's side of the interface puts it together, from what the guest set.
fn uri(authority: &str, path: &str) -> Option<http::Uri> {
    http::Uri::builder().scheme("https").authority(authority).path_and_query(path).build().ok()
}

/// Attack 14, on the parts of a request; what the types refuse already is refused as well.
#[test]
fn an_order_has_one_meaning() {
    let check = |authority: &str, path: &str, want: Option<&str>| {
        let got = uri(authority, path).and_then(|u| order("GET", u, &[]).ok());
        assert_eq!(got.as_deref(), want, "{authority} {path}");
    };
    check("a.example.com", "/x?y", Some("GET https://a.example.com/x?y"));
    check("A.Example.COM:443", "/a/../x", Some("GET https://a.example.com/x"));
    for (authority, path) in [
        ("a.example.com", "http://evil.org/"),
        ("a.example.com", "//evil.org"),
        ("a@evil.org", "/"),
        ("a.example.com.", "/"),
        ("[fe80::1%25lo]", "/"),
        ("2130706433", "/"),
        ("0x7f.0.0.1", "/"),
        ("0177.0.0.1", "/"),
        ("", "/"),
        ("a.example.com", "/{{secret:k}}"),
        ("a.example.com", "/?x=%7b%7Bsecret%3ak%7d%7d"),
        ("a.example.com", "*"),
    ] {
        let got = uri(authority, path).and_then(|u| order("GET", u, &[]).ok());
        let elsewhere = got.as_ref().is_some_and(|g| !g.starts_with("GET https://a.example.com/"));
        assert!(!elsewhere && (got.is_none() || path.starts_with("//")), "{authority} {path}: {got:?}");
    }
}

/// Attack 18: what frames a message, names another host or speaks to a proxy.
#[test]
fn the_frame_of_a_message_is_the_hosts() {
    let to = || uri("a.example.com", "/").unwrap();
    for name in [
        "Host",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "HTTP2-Settings",
    ] {
        assert!(order("GET", to(), &[(name, "x")]).is_err_and(|e| e.contains("host alone")), "{name}");
        assert!(order::is_forbidden(&name.parse().unwrap()), "{name}");
    }
    assert!(order("POST", to(), &[("content-length", "3"), ("content-length", "4")]).is_err());
    assert!(order("GET", to(), &[("accept", "text/html"), ("x-mine", "1")]).is_ok());
    for method in ["CONNECT", "TRACE", "get"] {
        assert!(order(method, to(), &[]).is_err(), "{method}");
    }
    let many: Vec<_> = (0..101).map(|_| ("x-mine", "1")).collect();
    assert!(order("GET", to(), &many).is_err());
}
