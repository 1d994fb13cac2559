//! How a provider is reached: own roots of trust, proxies, bounds on waiting.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::sync_channel;
use support::home::{finish, model_config};
use support::http2::Http2;
use support::reply::End;
use support::{Home, ModelServer, Reply, tls};

#[test]
fn a_server_with_a_certificate_of_the_house_is_trusted_once_its_root_is_named() {
    let server = ModelServer::start([Reply::text("Hello over TLS.")]);
    let address = tls::in_front_of(&server.base_url());
    let home = Home::with_model(&address);
    let refused = home.run(&["Hello"]).exits(1);
    assert!(refused.stderr.contains("No trusted connection"), "{}", refused.stderr);
    assert_eq!(refused.of("retry").len(), 0, "trust does not come by itself");
    assert!(server.requests().is_empty());
    let root = home.config_dir().join("root.pem");
    std::fs::write(&root, tls::ROOT).expect("the root");
    home.config(&format!("{}\n[http]\nca_file = {:?}\n", model_config(&address), root.display().to_string()));
    assert_eq!(home.run(&["Hello"]).exits(0).result()["text"], "Hello over TLS.");
}

/// Both steps of a run go over one connection.
#[test]
fn a_server_that_speaks_http_2_alone_is_spoken_to() {
    let call =
        r#"{"index":0,"id":"c1","type":"function","function":{"name":"glob","arguments":"{\"pattern\":\"*\"}"}}"#;
    let calls = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let says = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello over HTTP/2.\"}}]}\n\n\
                data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Http2::start(&[&calls, says]);
    let home = Home::new();
    let root = home.config_dir().join("root.pem");
    std::fs::write(&root, tls::ROOT).expect("the root");
    let base = model_config(&server.base_url);
    home.config(&format!("{base}\n[http]\nca_file = {:?}\n", root.display().to_string()));
    let run = home.run(&["Hello"]).exits(0);
    assert_eq!(run.result()["text"], "Hello over HTTP/2.");
    assert_eq!(run.of("tool_use").len(), 1);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_root_that_is_none_is_named() {
    let home = Home::new();
    let file = home.config_dir().join("root.pem");
    let base = model_config("https://127.0.0.1:9/v1");
    home.config(&format!("{base}\n[http]\nca_file = {:?}\n", file.display().to_string()));
    let missing = home.run(&["Hello"]).exits(2);
    assert!(missing.stderr.contains("root.pem"), "{}", missing.stderr);
    std::fs::write(&file, "no certificate").expect("a file");
    let none = home.run(&["Hello"]).exits(2);
    assert!(none.stderr.contains("ca_file"), "{}", none.stderr);
}

/// What a proxy is told first; it refuses everybody.
fn proxy() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let address = format!("http://{}", listener.local_addr().expect("a bound address"));
    let (told, heard) = sync_channel(64);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("the same socket"));
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
            let _ = told.send(head);
            let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (address, heard)
}

#[test]
fn a_proxy_of_the_environment_is_used_and_sees_no_key() {
    let (address, heard) = proxy();
    let home = Home::with_model("https://model.invalid/v1");
    let _ = finish(home.command(&["auth", "add", "mock"]), b"sk-canary-0815-4711").exits(0);
    let mut command = home.command(&["run", "--format", "json", "Hello"]);
    command.env("HTTPS_PROXY", &address);
    let run = finish(command, b"").exits(1);
    assert!(run.stderr.contains("https://model.invalid/v1"), "{}", run.stderr);
    let head = heard.try_recv().expect("the proxy was asked");
    assert!(head.starts_with("CONNECT model.invalid:443 ") && !head.contains("sk-canary"), "{head}");
}

#[test]
fn this_machine_is_reached_without_a_proxy() {
    let (address, heard) = proxy();
    let server = ModelServer::start([Reply::text("direct")]);
    let home = Home::with_model(&server.base_url());
    let mut command = home.command(&["run", "--format", "json", "Hello"]);
    command.env("HTTP_PROXY", &address).env("ALL_PROXY", &address).env("http_proxy", &address);
    assert_eq!(finish(command, b"").exits(0).result()["text"], "direct");
    assert!(heard.try_recv().is_err());
}

#[test]
fn a_server_that_falls_silent_is_asked_again() {
    let server = ModelServer::start([
        Reply::sse("").ends(End::Hang),
        Reply::sse("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n").ends(End::Hang),
        Reply::text("whole"),
    ]);
    let home = Home::new();
    home.config(&format!("{}\n[http]\nfirst_byte = \"2s\"\nidle = \"300ms\"\n", model_config(&server.base_url())));
    let run = home.run(&["Hello"]).exits(0);
    assert_eq!(run.result()["text"], "whole");
    let retries = run.of("retry");
    assert_eq!(retries.len(), 2, "{retries:#?}");
    assert!(retries.iter().all(|r| r["error"]["kind"] == "transport"), "{retries:#?}");
}
