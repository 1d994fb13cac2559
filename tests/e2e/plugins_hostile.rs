//! Installation, and whoever wants to break it: bombs for the compiler, registries that lie, die, stall or go round in circles, locks
//! and signatures that were tampered with. Each ends in one sentence, soon, and nothing is installed.

use crate::plugins::{ECHO, add, guest, has, plugin, put, with_manifest};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::Home;
use support::home::finish;

const READ: [&str; 6] = ["call", "read", "read", r#"{"filePath":"here.txt"}"#, "--format", "json"];

/// Nothing was installed, and the program serves its next call.
fn unharmed(home: &Home) {
    assert!(!home.data_dir().join("plugins.lock").exists(), "nothing was installed");
    home.file("here.txt", "here");
    assert!(plugin(home, &READ).exits(0).stdout.contains("here"));
}

/// Tables of a million places with something in the last one: ten bytes become megabytes when they are compiled.
fn tables(modules: usize) -> Vec<u8> {
    let last = (1 << 20) - 1;
    let elements: String = (0..50).map(|i| format!("(elem (table {i}) (i32.const {}) func 0)", last - 1)).collect();
    let module = format!("(core module {} {elements} (func))", format!("(table {last} funcref)").repeat(50));
    wat::parse_str(format!("(component {})", module.repeat(modules))).expect("a text")
}

/// 50,000 functions of 50,000 variables each: minutes for a compiler. Written by hand, for as text it would fill a disk.
fn variables() -> Vec<u8> {
    const MANY: u32 = 50_000;
    let leb = |n: u32| [(n & 0x7f) as u8 | 0x80, (n >> 7 & 0x7f) as u8 | 0x80, (n >> 14) as u8];
    let section = |id: u8, content: &[u8]| [&[id][..], &leb(content.len() as u32), content].concat();
    let body = [&[6, 1][..], &leb(MANY), &[0x7e, 0x0b]].concat();
    let module = [
        &b"\0asm\x01\0\0\0"[..],
        &section(1, &[1, 0x60, 0, 0]),
        &section(3, &[&leb(MANY)[..], &vec![0; MANY as usize]].concat()),
        &section(10, &[&leb(MANY)[..], &body.repeat(MANY as usize)].concat()),
    ];
    [&b"\0asm\x0d\0\x01\0"[..], &section(1, &module.concat())].concat()
}

/// Attack 24: what compiling may take is bounded, the child alone dies, and the limit is named.
#[test]
fn a_compile_bomb_kills_its_child_alone() {
    let home = Home::new();
    for (bytes, most, words) in [
        (tables(1), 900, ["more than 64 MiB of compiled code", "smaller build"]),
        (tables(3), 3000, ["more than 1088 MiB of memory", "smaller build"]),
    ] {
        assert!(bytes.len() < most, "{}", bytes.len());
        let run = add(&home, &put(&home, "bomb.wasm", &bytes), &["--yes"]).exits(2);
        has(&run, &words);
        assert!(run.peak_kib < 400 << 10, "the host itself held {} KiB", run.peak_kib);
        unharmed(&home);
    }
    // Here with a second; the limit of its size is 36, of all threads together.
    let run = finish(home.command(&["__compile", "acting", "1140850688", "1"]), &variables());
    assert_eq!((run.code, run.stdout.len()), (-libc::SIGXCPU, 0), "{}", run.stderr);
}

/// Every request for one path, with the stream to answer on.
fn serve(answer: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                while let Some(path) = asked(&stream) {
                    if answer(&path, &mut stream).is_err() {
                        return;
                    }
                }
            });
        }
    });
    host
}

/// The path of the next request; `None` where the other side has gone.
fn asked(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    lines.map_while(Result::ok).find(String::is_empty)?;
    Some(path)
}

fn send(stream: &mut TcpStream, length: usize, body: &[u8]) -> std::io::Result<()> {
    stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes())?;
    stream.write_all(body)
}

/// A byte now and then, as long as somebody listens: no silence is ever long.
fn drip(stream: &mut TcpStream) -> std::io::Result<()> {
    send(stream, 50_000, b"{")?;
    loop {
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(b" ")?;
    }
}

fn silent() -> std::io::Result<()> {
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    let home = Home::new();
    let file = put(&home, "digest-of", bytes);
    let out = std::process::Command::new("sha256sum").arg(file).output().expect("sha256sum");
    let hex = String::from_utf8_lossy(&out.stdout).split_whitespace().next().expect("a digest").to_owned();
    format!("sha256:{hex}")
}

fn manifest(layers: &[Value]) -> Value {
    json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": layers })
}

fn layer(kind: &str, digest: &str, size: u64) -> Value {
    json!({ "mediaType": kind, "digest": digest, "size": size })
}

/// What a registry can say that is not so, and how else it can fail: one sentence each, after a bounded wait.
#[test]
fn a_registry_lies_dies_or_stalls() {
    let home = Home::new();
    home.config("[http]\nfirst_byte = \"1s\"\nidle = \"1s\"\n");
    let bytes = guest(ECHO);
    let (size, digest, other) = (bytes.len() as u64, sha256(&bytes), format!("sha256:{}", "0".repeat(64)));
    let wasm = "application/wasm";
    let sound = layer(wasm, &digest, size);
    let index = |digest: &str| json!({ "manifests": [layer("application/vnd.oci.image.manifest.v1+json", digest, 9)] });
    let manifests = [
        ("digest", manifest(&[layer(wasm, &other, size)]), "not what was asked for"),
        ("longer", manifest(&[layer(wasm, &digest, size + 1)]), "and its manifest says"),
        ("shorter", manifest(&[layer(wasm, &digest, size - 1)]), "larger than"),
        ("endless", manifest(&[layer(wasm, &digest, u64::MAX)]), "and its manifest says"),
        ("kind", manifest(&[layer("application/vnd.oci.image.layer.v1.tar+gzip", &digest, size)]), "one component"),
        ("two", manifest(&[sound.clone(), sound.clone()]), "one component"),
        ("none", manifest(&[]), "one component"),
        ("algorithm", manifest(&[layer(wasm, "md5:00", size)]), "no digest of SHA-256"),
        ("path", manifest(&[layer(wasm, "sha256:../../x", size)]), "no digest of SHA-256"),
        (
            "negative",
            manifest(&[json!({ "mediaType": wasm, "digest": digest, "size": -1 })]),
            "manifest cannot be read",
        ),
        ("index", index(&other), "not what was asked for"),
        ("circle", index("circle"), "no digest of SHA-256"),
        ("text", json!("hello"), "manifest cannot be read"),
    ];
    let said: Vec<(String, Vec<u8>)> =
        manifests.iter().map(|(tag, value, _)| ((*tag).to_owned(), value.to_string().into_bytes())).collect();
    let sound = manifest(&[sound]).to_string().into_bytes();
    let host = serve(move |path, stream| {
        let tag = path.rsplit('/').next().unwrap_or_default();
        match tag {
            _ if path.contains("/blobs/") && path.contains("/dies/") => {
                send(stream, bytes.len(), &bytes[..bytes.len() / 2]).and(Err(std::io::ErrorKind::Other.into()))
            }
            _ if path.contains("/blobs/") && path.contains("/drips/") => drip(stream),
            _ if path.contains("/blobs/") && path.contains("/silent/") => silent(),
            _ if path.contains("/blobs/") => send(stream, bytes.len(), &bytes),
            "1" => send(stream, sound.len(), &sound),
            "huge" => send(stream, 5 << 20, &vec![b' '; 5 << 20]),
            "html" => send(stream, 6, b"<html>"),
            "cut" => send(stream, sound.len(), &sound[..40]).and(Err(std::io::ErrorKind::Other.into())),
            "drip" => drip(stream),
            "quiet" => silent(),
            "moved" => stream.write_all(b"HTTP/1.1 302 Found\r\nlocation: 1\r\ncontent-length: 0\r\n\r\n"),
            "broken" => stream.write_all(b"HTTP/9.9 what\r\n\r\n"),
            // Whatever was asked for by digest, this is what it is.
            _ if tag.starts_with("sha256:") => send(stream, 2, b"{}"),
            _ => {
                let body = said.iter().find(|(name, _)| name == tag).map_or(&b"{}"[..], |(_, body)| body);
                send(stream, body.len(), body)
            }
        }
    });
    let lies = manifests.iter().map(|(tag, _, word)| (format!("o/{ECHO}:{tag}"), *word));
    let faults = [
        ("o/echo:huge", "larger than"),
        ("o/echo:html", "manifest cannot be read"),
        ("o/echo:cut", "could not be fetched"),
        ("o/echo:drip", "too slow"),
        ("o/echo:quiet", "said nothing for 1 s"),
        ("o/echo:moved", "answers 302"),
        ("o/echo:broken", "could not be fetched"),
        ("o/dies/echo:1", "could not be fetched"),
        ("o/drips/echo:1", "too slow"),
        ("o/silent/echo:1", "said nothing for 1 s"),
        (&*format!("o/echo@{other}"), "not what was asked for"),
    ]
    .map(|(name, word)| (name.to_owned(), word));
    for (name, word) in lies.chain(faults) {
        let run = add(&home, Path::new(&format!("{host}/{name}")), &["--yes"]).exits(2);
        has(&run, &["could not be fetched", &host, word]);
        assert!(!home.data_dir().join("plugins.lock").exists(), "{name}");
    }
    let _ = add(&home, Path::new(&format!("{host}/o/echo:1")), &[]).exits(0);
}

/// Redirects are followed between servers that prove who they are, five of them.
#[test]
fn an_address_goes_round_in_circles_or_out_of_the_open() {
    let home = Home::new();
    let bytes = guest(ECHO);
    let digest = sha256(&bytes);
    let plain = serve(move |_, stream| send(stream, bytes.len(), &bytes));
    let times = Arc::new(AtomicUsize::new(0));
    let (noted, clear) = (times.clone(), format!("http://{plain}/echo.wasm"));
    let behind = serve(move |path, stream| {
        noted.fetch_add(1, Ordering::Relaxed);
        let to = if path.contains("clear") { &*clear } else { "/v1/again.wasm" };
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
        stream.write_all(head.as_bytes())
    });
    let tls = support::tls::in_front_of(&format!("http://{behind}/v1"));
    std::fs::write(home.config_dir().join("root.pem"), support::tls::ROOT).expect("a root");
    home.config("[http]\nca_file = \"root.pem\"\n");
    for (path, most) in [("again.wasm", 6), ("clear.wasm", 1)] {
        times.store(0, Ordering::Relaxed);
        let run = add(&home, Path::new(&format!("{tls}/{path}")), &["--digest", &digest, "--yes"]).exits(2);
        has(&run, &["could not be fetched", path]);
        let asked = times.load(Ordering::Relaxed);
        assert!((1..=most).contains(&asked), "{path}: {asked} requests");
    }
    unharmed(&home);
}

/// Attack 22: a tag that leads back to an older version, or to one that somebody else made.
#[test]
fn a_registry_goes_back_in_time() {
    let home = Home::new();
    let version = |v: &str| with_manifest(&json!({ "version": v }));
    let versions = [version("1.1.0"), version("1.0.0"), version("1.2.0")];
    let turn = Arc::new(AtomicUsize::new(0));
    let now = turn.clone();
    let digests = versions.clone().map(|v| sha256(&v));
    let host = serve(move |path, stream| {
        let n = now.load(Ordering::Relaxed);
        let said = manifest(&[layer("application/wasm", &digests[n], versions[n].len() as u64)]).to_string();
        let body = if path.contains("/blobs/") { &versions[n][..] } else { said.as_bytes() };
        send(stream, body.len(), body)
    });
    let _ = add(&home, Path::new(&format!("{host}/o/echo:latest")), &[]).exits(0);
    turn.store(1, Ordering::Relaxed);
    has(&plugin(&home, &["update", "--yes"]).exits(2), &["1.0.0", "older than 1.1.0"]);
    assert!(plugin(&home, &["list"]).exits(0).stdout.contains("1.1.0"));
    turn.store(2, Ordering::Relaxed);
    let _ = plugin(&home, &["update"]).exits(0);
    assert!(plugin(&home, &["list"]).exits(0).stdout.contains("1.2.0"));
}

/// A lock that was cut, comes from another version or was edited by hand gives nobody a right, and is not written over.
#[test]
fn a_lock_that_was_tampered_with() {
    let home = Home::new();
    let file = put(&home, "echo.wasm", &with_manifest(&json!({ "version": "1.0.0", "fs": { "docs": "ro" } })));
    let _ = add(&home, &file, &["--yes"]).exits(0);
    let lock = home.data_dir().join("plugins.lock");
    let sound = std::fs::read_to_string(&lock).expect("the lock");
    let granted = sound.rsplit_once("docs = \"ro\"").expect("the grant");
    for (text, word) in [
        (sound[..sound.len() / 2].to_owned(), "cannot be read"),
        (String::new(), "cannot be read"),
        (sound.replace("version = 1\n", "version = 99\n"), "version 99"),
        (sound.replace("name = \"echo\"", "name = \"read me\""), "name of a plugin"),
        (sound.replace("docs = \"ro\"", "docs = \"all\""), "cannot be read"),
        (sound.replace("size = ", "size = -"), "cannot be read"),
        // More than it asked for, in the part that was agreed to.
        (format!("{}docs = \"rw\"{}", granted.0, granted.1), "`echo` is given more than it asks for"),
        (format!("{}\"/\" = \"rw\"{}", granted.0, granted.1), "`echo` is given more than it asks for"),
        ("x".repeat(9 << 20), "larger than 8 MiB"),
    ] {
        std::fs::write(&lock, &text).expect("the lock");
        for args in [&["list"][..], &["call", ECHO, ECHO, "{}", "--yes"], &["remove", ECHO], &["add", "echo.wasm"]] {
            let run = plugin(&home, args).exits(2);
            has(&run, &["plugins.lock", word, "Mend it, or remove it"]);
        }
        assert_eq!(std::fs::read_to_string(&lock).expect("the lock"), text, "it is left as it is");
    }
    std::fs::write(&lock, sound).expect("the lock");
    let _ = plugin(&home, &["call", ECHO, ECHO, "{}", "--yes"]).exits(0);
}
