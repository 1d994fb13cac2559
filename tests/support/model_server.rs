//! The mock model: one thread a connection, HTTP/1.1 with keep-alive and chunked bodies, scripted answers in order. A request
//! that breaks a law is answered with 400 and kept; [`ModelServer::finish`] fails the test for it.

use crate::law::{self, Terms};
use crate::reply::{End, Reply};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub at: Instant,
}

impl Received {
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.body["messages"].as_array().cloned().unwrap_or_default()
    }

    /// Contents of the tool results that it carries, by call id.
    #[must_use]
    pub fn result(&self, call: &str) -> Option<String> {
        let found = self.messages().into_iter().find(|m| m["tool_call_id"] == call)?;
        found["content"].as_str().map(str::to_owned)
    }
}

type Chooser = dyn Fn(&[Value]) -> Reply + Send;

#[derive(Default)]
struct State {
    script: VecDeque<Reply>,
    /// Once the script is at its end.
    last: Option<Reply>,
    /// In place of a script.
    by: Option<Box<Chooser>>,
    received: Vec<Received>,
    violations: Vec<String>,
    terms: Terms,
    /// Off for tests that continue another conversation on purpose.
    prefix_law: bool,
}

pub struct ModelServer {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl ModelServer {
    /// Answers with `script` in order; beyond it with a short text and a normal stop.
    #[must_use]
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let port = listener.local_addr().expect("a bound address").port();
        let script = script.into_iter().collect();
        let state = Arc::new(Mutex::new(State { script, prefix_law: true, ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { state, port }
    }

    /// Values that no request body may hold.
    #[must_use]
    pub fn secrets(self, secrets: &[&str]) -> Self {
        self.lock().terms.secrets = secrets.iter().map(|s| (*s).to_owned()).collect();
        self
    }

    /// Requests of several conversations come to this server.
    #[must_use]
    pub fn many_conversations(self) -> Self {
        self.lock().prefix_law = false;
        self
    }

    /// What is answered once the script is at its end.
    #[must_use]
    pub fn forever(self, reply: Reply) -> Self {
        self.lock().last = Some(reply);
        self
    }

    /// Answers by what the messages of a request are, in place of a script: a resumed run is answered where it stands.
    #[must_use]
    pub fn by(self, choose: impl Fn(&[Value]) -> Reply + Send + 'static) -> Self {
        self.lock().by = Some(Box::new(choose));
        self
    }

    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.lock().received.clone()
    }

    /// Requests so far; fails for any that broke a law.
    pub fn finish(&self) -> Vec<Received> {
        let state = self.lock();
        assert!(state.violations.is_empty(), "requests broke the law: {:#?}", state.violations);
        state.received.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let reply = answer(request, state);
        if write_reply(stream, &reply).is_err() || reply.end != End::Proper {
            if reply.end == End::Hang {
                // Holds the connection open until the client leaves.
                let _ = reader.read(&mut [0]);
            }
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.and_then(|(_, v)| v.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Received { path, headers, body, at: Instant::now() })
}

fn answer(request: Received, state: &Mutex<State>) -> Reply {
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if request.path.ends_with("/models") {
        return Reply::http(200, "application/json", json!({"data": [{"id": "mock"}]}).to_string());
    }
    let wire = Wire::of(&request.path);
    let before = state.received.last().map(|r| &r.body).filter(|_| state.prefix_law);
    let broken = law::broken_in(wire, &request.body, before, &state.terms);
    let chosen = state.by.as_ref().map(|by| by(&request.messages()));
    state.received.push(request);
    if let Some(why) = broken {
        let body = json!({"error": {"message": why, "type": "invalid_request_error"}});
        state.violations.push(why);
        return Reply::http(400, "application/json", body.to_string());
    }
    chosen
        .or_else(|| state.script.pop_front())
        .or_else(|| state.last.clone())
        .unwrap_or_else(|| wire.turn(Some("Understood."), &[]))
}

fn write_reply(mut stream: &TcpStream, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    for chunk in &reply.chunks {
        std::thread::sleep(chunk.after);
        if chunk.bytes.is_empty() {
            continue;
        }
        let mut framed = format!("{:x}\r\n", chunk.bytes.len()).into_bytes();
        framed.extend_from_slice(&chunk.bytes);
        framed.extend_from_slice(b"\r\n");
        stream.write_all(&framed)?;
    }
    if reply.end == End::Proper { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}
