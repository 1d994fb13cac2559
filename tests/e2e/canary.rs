//! A secret of a tool through a whole run: the server that it is for has it, and nobody else does.

use crate::plugins::{FETCHER, guest, put};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use support::home::model_config;
use support::{Home, ModelServer, Reply};

const CANARY: &str = "tok/canary+0815=4711";

/// Sends back what it was asked with, as it is and in hex.
fn echo() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let place = listener.local_addr().expect("a bound address").to_string();
    let (told, heard) = sync_channel(8);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("the same socket"));
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
            let hex: String = head.bytes().map(|b| format!("{b:02x}")).collect();
            let _ = told.send(head.clone());
            let body = format!("{head}{hex}");
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nx-echo: {CANARY}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    (place, heard)
}

/// All that lies below a folder, as bytes.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.flat_map(|p| if p.is_dir() { all_bytes(&p) } else { std::fs::read(&p).unwrap_or_default() }).collect()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

#[test]
fn a_secret_is_seen_by_its_server_alone() {
    let hex: String = CANARY.bytes().map(|b| format!("{b:02x}")).collect();
    let (place, heard) = echo();
    let order = format!("GET http {place} /|authorization: Bearer {{{{secret:token}}}}");
    let elsewhere = format!("GET http {place} /?t=%7B%7Bsecret:token%7D%7D");
    let server = ModelServer::start([
        Reply::calls(&[("c1", FETCHER, json!({ "do": order })), ("c2", FETCHER, json!({ "do": elsewhere }))]),
        Reply::text("done"),
    ])
    .secrets(&[CANARY, &hex]);
    let home = Home::new();
    let secret = format!("[secrets.token]\nenv = \"TOKEN_OF_TEST\"\nhosts = [\"http://{place}\"]\n");
    home.config(&format!("{}\n{secret}", model_config(&server.base_url())));
    let file = put(&home, "fetcher.wasm", &guest(FETCHER));
    let _ = home.airlock(&["plugin", "add", file.to_str().expect("a path"), "--yes"]).exits(0);
    let allowed = format!("net:http://{place}/*");
    let args = ["run", "--format", "json", "--allow", FETCHER, "--allow", &allowed, "Send it."];
    let mut command = home.command(&args);
    command.env("TOKEN_OF_TEST", CANARY).env("RUST_LOG", "trace").env("AIRLOCK_LOG", "trace");
    let run = support::home::finish(command, b"").exits(0);
    let head = heard.try_recv().expect("one request");
    assert!(head.contains(&format!("authorization: Bearer {CANARY}")), "{head}");
    assert!(heard.try_recv().is_err(), "the second was not sent");
    let requests = server.finish();
    let told = |call: &str| requests[1].result(call).unwrap_or_default();
    assert!(told("c1").contains("authorization: Bearer ***"), "{}", told("c1"));
    assert!(told("c2").contains("in the value of a header only"), "{}", told("c2"));
    for form in [CANARY, hex.as_str()] {
        assert!(!holds(run.stdout.as_bytes(), form) && !holds(run.stderr.as_bytes(), form), "{form} was printed");
        assert!(!holds(&all_bytes(&home.data_dir()), form), "{form} is in the ledger or beside it");
    }
}

/// Requests of a call without a session can be looked at as well.
#[test]
fn what_a_call_sends_is_listed() {
    let (place, heard) = echo();
    let home = Home::new();
    let file = put(&home, "fetcher.wasm", &guest(FETCHER));
    let _ = home.airlock(&["plugin", "add", file.to_str().expect("a path"), "--yes"]).exits(0);
    let input = json!({ "do": format!("GET http {place} /") }).to_string();
    let allowed = format!("net:http://{place}/*");
    let call = ["plugin", "call", FETCHER, FETCHER, &input, "--allow", FETCHER, "--allow", &allowed];
    let _ = home.airlock(&call).exits(0);
    assert!(heard.try_recv().is_ok(), "it was sent");
    let listed = |more: &[&str]| {
        let all = [&["session", "egress", "--calls", "--format", "json"], more].concat();
        home.airlock(&all).exits(0).lines()
    };
    let all = listed(&[]);
    assert_eq!((all.len(), &all[0]["tool"], &all[0]["status"]), (1, &json!(FETCHER), &json!(200)), "{all:?}");
    assert_eq!(all[0]["host"], json!(format!("http://{place}")));
    let component = all[0]["component"].as_str().expect("a digest");
    assert_eq!((listed(&["--of", FETCHER]).len(), listed(&["--of", &component[..12]]).len()), (1, 1));
    assert!(listed(&["--of", "other"]).is_empty());
    let _ = home.airlock(&["session", "egress"]).exits(2);
}
