//! Components from elsewhere: addresses and registries that are honest, lie, die or stall; and signatures.

use crate::plugins::{ECHO, add, guest, has, plugin, put, with_manifest};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use support::Home;
use support::home::Run;

/// SHA-256 by the system's own program, not by what is tested.
fn sha256(home: &Home, bytes: &[u8]) -> String {
    let file = put(home, "digest-of", bytes);
    let out = std::process::Command::new("sha256sum").arg(file).output().expect("sha256sum");
    String::from_utf8_lossy(&out.stdout).split_whitespace().next().expect("a digest").to_owned()
}

/// What a server answers to a request: its path, and its credentials if there are any.
type Answer = dyn Fn(&str, Option<&str>) -> (&'static str, Vec<(String, String)>, Vec<u8>) + Send + Sync;

struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(
        answer: impl Fn(u16, &str, Option<&str>) -> (&'static str, Vec<(String, String)>, Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, answer) = (asked.clone(), Arc::new(move |p: &str, a: Option<&str>| answer(port, p, a)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (noted, answer) = (noted.clone(), answer.clone());
                std::thread::spawn(move || talk(stream, &noted, &*answer));
            }
        });
        Self { port, asked }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the list").clone()
    }
}

fn talk(stream: TcpStream, noted: &Mutex<Vec<String>>, answer: &Answer) {
    let mut lines = BufReader::new(stream.try_clone().expect("the stream")).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut leave = None;
    for line in lines.map_while(Result::ok).take_while(|l| !l.is_empty()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("authorization: ") {
            leave = Some(line[line.len() - value.len()..].to_owned());
        }
    }
    noted.lock().expect("the list").push(format!("{path} {}", leave.as_deref().unwrap_or("-")));
    let (status, headers, body) = answer(&path, leave.as_deref());
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    if !headers.iter().any(|(n, _)| n == "content-length") {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    headers.iter().for_each(|(n, v)| head.push_str(&format!("{n}: {v}\r\n")));
    let mut stream = stream;
    let _ = stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(&body));
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

fn from(home: &Home, source: &str, more: &[&str]) -> Run {
    add(home, Path::new(source), more)
}

#[test]
fn an_address_is_held_to_its_digest() {
    let home = Home::new();
    let bytes = guest(ECHO);
    let digest = format!("sha256:{}", sha256(&home, &bytes));
    let server = Server::start(move |_, path, _| match path {
        "/echo.wasm" => ("200 OK", vec![], bytes.clone()),
        "/short.wasm" => ("200 OK", vec![("content-length".into(), "999999".into())], bytes.clone()),
        "/large.wasm" => ("200 OK", vec![("content-length".into(), "999999999".into())], vec![]),
        "/moved.wasm" => ("302 Found", vec![("location".into(), "/echo.wasm".into())], vec![]),
        _ => ("404 Not Found", vec![], vec![]),
    });
    let url = |name: &str| format!("http://{}/{name}", server.host());
    has(&from(&home, &url("echo.wasm"), &[]).exits(2), &["no digest", "--digest"]);
    let other = format!("sha256:{}", "0".repeat(64));
    for (name, digest, words) in [
        ("echo.wasm", &other, ["not what was asked for", &*digest]),
        ("echo.wasm", &"md5:12".to_owned(), ["is no digest", "sha256:"]),
        ("none.wasm", &digest, ["could not be fetched", "404"]),
        ("short.wasm", &digest, ["could not be fetched", "short.wasm"]),
        ("large.wasm", &digest, ["could not be fetched", "larger"]),
        ("moved.wasm", &digest, ["could not be fetched", "302"]),
    ] {
        has(&from(&home, &url(name), &["--digest", digest, "--yes"]).exits(2), &words);
    }
    assert!(!home.data_dir().join("plugins.lock").exists());
    let _ = from(&home, &url("echo.wasm"), &["--digest", &digest]).exits(0);
    let _ = plugin(&home, &["call", ECHO, ECHO, "{}", "--yes"]).exits(0);
    let lock = std::fs::read_to_string(home.data_dir().join("plugins.lock")).expect("the lock");
    assert!(lock.contains(&url("echo.wasm")) && lock.contains(&digest["sha256:".len()..]), "{lock}");
    has(&from(&home, "http://192.0.2.1/x.wasm", &["--digest", &digest]).exits(2), &["only https"]);
}

/// A registry with one component, which wants to know who asks.
fn registry(layer: Vec<u8>, layer_digest: String, kind: &'static str) -> Server {
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": "sha256:00", "size": 2 },
        "layers": [{ "mediaType": "application/wasm", "digest": layer_digest, "size": layer.len() }],
    });
    Server::start(move |port, path, leave| {
        let challenge = match kind {
            "basic" => "Basic realm=\"r\"".to_owned(),
            _ => {
                format!("Bearer realm=\"http://127.0.0.1:{port}/token\",service=\"s\",scope=\"repository:o/echo:pull\"")
            }
        };
        let wanted = match kind {
            "anonymous" => None,
            // `user:canary-pass` in base64.
            "basic" => Some("Basic dXNlcjpjYW5hcnktcGFzcw=="),
            _ => Some("Bearer the-token"),
        };
        if path.starts_with("/token") {
            let may = kind != "login" || leave == Some("Basic dXNlcjpjYW5hcnktcGFzcw==");
            let scoped = path.contains("scope=repository") && path.contains("service=s");
            return match may && scoped {
                true if kind == "token" => {
                    ("200 OK", vec![], br#"{"token":"the-token","access_token":"the-token"}"#.to_vec())
                }
                true => ("200 OK", vec![], br#"{"token":"the-token"}"#.to_vec()),
                false => ("401 Unauthorized", vec![], vec![]),
            };
        }
        if wanted.is_some() && leave != wanted {
            return ("401 Unauthorized", vec![("www-authenticate".into(), challenge)], vec![]);
        }
        match path {
            "/v2/o/echo/manifests/1.0" | "/v2/o/echo/manifests/latest" => {
                ("200 OK", vec![], manifest.to_string().into_bytes())
            }
            "/v2/o/echo/manifests/loose" => {
                let kind = "application/vnd.oci.image.manifest.v1+json";
                let only = json!({ "mediaType": kind, "digest": "latest", "size": 2 });
                ("200 OK", vec![], json!({ "schemaVersion": 2, "manifests": [only] }).to_string().into_bytes())
            }
            p if p.starts_with("/v2/o/echo/blobs/sha256:") => ("200 OK", vec![], layer.clone()),
            _ => ("404 Not Found", vec![], vec![]),
        }
    })
}

#[test]
fn a_registry_is_asked_as_it_wants_to_be() {
    for (kind, login) in [("anonymous", false), ("token", false), ("login", true), ("basic", true)] {
        let home = Home::new();
        let digest = format!("sha256:{}", sha256(&home, &guest(ECHO)));
        let server = registry(guest(ECHO), digest.clone(), kind);
        let source = format!("{}/o/echo:1.0", server.host());
        if login {
            has(&from(&home, &source, &[]).exits(2), &["who asks", "auth add"]);
            let auth = json!({ "auths": { server.host(): { "auth": "dXNlcjpjYW5hcnktcGFzcw==" } } });
            std::fs::create_dir_all(home.path("home/.docker")).expect("a folder");
            std::fs::write(home.path("home/.docker/config.json"), auth.to_string()).expect("a login");
        }
        let run = from(&home, &source, &[]).exits(0);
        assert!(!format!("{run:?}").contains("canary-pass"));
        let _ = plugin(&home, &["call", ECHO, ECHO, "{}", "--yes"]).exits(0);
        assert!(plugin(&home, &["update"]).exits(0).stdout.contains("as it was"), "{kind}");
        assert!(server.asked().iter().any(|a| a.contains("/manifests/1.0")), "{kind}");
        let lock = std::fs::read_to_string(home.data_dir().join("plugins.lock")).expect("the lock");
        assert!(lock.contains(&format!("oci://{source}")) && lock.contains(&digest["sha256:".len()..]), "{lock}");
    }
}

/// A repository that was cloned has folders of any name, and they are not beside what comes from a registry.
#[test]
fn no_folder_here_speaks_for_a_registry() {
    let home = Home::new();
    let digest = format!("sha256:{}", sha256(&home, &guest(ECHO)));
    let server = registry(guest(ECHO), digest, "anonymous");
    let policy = "version: \"1.0\"\npermissions: {storage: {allow: [{uri: fs:///, access: [read, write]}]}}";
    home.file(&format!("{}/o/policy.yaml", server.host()), policy);
    let run = from(&home, &format!("{}/o/echo:1.0", server.host()), &["--yes"]).exits(0);
    assert!(run.stdout.contains("may touch nothing") && !run.stderr.contains("policy"), "{run:?}");
}

/// Attack 22: a registry that lies, and one that goes back to an older version.
#[test]
fn a_registry_is_not_believed() {
    let home = Home::new();
    let server = registry(guest(ECHO), format!("sha256:{}", "0".repeat(64)), "anonymous");
    let source = format!("{}/o/echo:1.0", server.host());
    has(&from(&home, &source, &["--yes"]).exits(2), &["not what was asked for"]);
    has(&from(&home, &format!("{}/o/other:1.0", server.host()), &[]).exits(2), &["nothing of this name"]);
    assert!(!home.data_dir().join("plugins.lock").exists());
    let sound = registry(guest(ECHO), format!("sha256:{}", sha256(&home, &guest(ECHO))), "anonymous");
    let loose = format!("{}/o/echo:loose", sound.host());
    has(&from(&home, &loose, &["--yes"]).exits(2), &["index", "no digest of SHA-256", "try again"]);
    assert!(!home.data_dir().join("plugins.lock").exists());
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    has(&from(&home, &format!("{gone}/o/echo:1.0"), &[]).exits(2), &["could not be fetched"]);
}

#[test]
fn a_publisher_is_known_by_the_key_of_the_first_time() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &with_manifest(&json!({ "version": "1.0.0" })));
    let path = file.to_str().expect("a path").to_owned();
    let key = |name: &str| home.path(name).display().to_string();
    let sign = |name: &str| plugin(&home, &["sign", &path, "--key", &key(name), "--new-key"]);
    has(&plugin(&home, &["sign", &path, "--key", &key("none")]).exits(2), &["cannot be used", "--new-key"]);
    let mine = sign("mine").exits(0).stdout;
    let publisher = mine.split_whitespace().last().expect("a key").to_owned();
    assert!(publisher.starts_with("ed25519:") && publisher.len() == 72, "{mine}");
    assert!(plugin(&home, &["inspect", &path]).exits(0).stdout.contains(&publisher));
    let _ = add(&home, &file, &[]).exits(0);
    put(&home, "echo.wasm", &with_manifest(&json!({ "version": "1.1.0" })));
    has(&plugin(&home, &["update", "--yes"]).exits(2), &["not signed", &publisher]);
    let _ = sign("other").exits(0);
    has(&plugin(&home, &["update", "--yes"]).exits(2), &["is signed by ed25519:", &publisher]);
    let _ = sign("mine").exits(0);
    let _ = plugin(&home, &["update"]).exits(0);
    assert!(plugin(&home, &["inspect", ECHO]).stdout.contains("1.1.0"));
    // One byte of a signed file, and it is nobody's.
    let mut bytes = std::fs::read(&file).expect("the file");
    let at = bytes.windows(5).rposition(|w| w == b"1.1.0").expect("the version");
    bytes[at] = b'9';
    put(&home, "echo.wasm", &bytes);
    has(&plugin(&home, &["update", "--yes"]).exits(2), &["signature", "not the one that was signed"]);
    has(&plugin(&home, &["inspect", &path]).exits(2), &["signature", "not the one that was signed"]);
}
