//! A server on this machine that says what it is told to, and keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// What the server does with a connection.
#[derive(Clone, Copy)]
pub enum Step {
    Send(&'static [u8]),
    Wait(Duration),
    /// The same bytes again and again, this long apart, until the other side has gone.
    Drip(&'static [u8], Duration),
    /// Reads another request on the same connection.
    NextRequest,
    /// Closes in the middle of whatever was promised.
    Reset,
    /// Waits until the other side has gone.
    UntilGone,
}

pub struct Server {
    pub base: String,
    requests: Receiver<String>,
    gone: Receiver<()>,
}

impl Server {
    /// Serves connections, one after another, with one script each.
    pub fn new(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (asked, requests) = sync_channel(1024);
        let (left, gone) = sync_channel(16);
        std::thread::spawn(move || {
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                asked.send(request(&stream)).unwrap();
                if serve(stream, &script, &asked) {
                    left.send(()).unwrap();
                }
            }
        });
        Self { base, requests, gone }
    }

    /// Head and body of the next request.
    pub fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    /// Whether the client of a connection that waited for that has gone.
    pub fn was_left(&self, within: Duration) -> bool {
        self.gone.recv_timeout(within).is_ok()
    }
}

fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    let length =
        head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn serve(mut stream: TcpStream, script: &[Step], asked: &SyncSender<String>) -> bool {
    for step in script {
        match step {
            // Whoever has heard enough may leave.
            Step::Send(bytes) => {
                if stream.write_all(bytes).is_err() {
                    return true;
                }
            }
            Step::Drip(bytes, pause) => {
                while stream.write_all(bytes).is_ok() {
                    std::thread::sleep(*pause);
                }
                return true;
            }
            Step::NextRequest => asked.send(request(&stream)).unwrap(),
            Step::Wait(time) => std::thread::sleep(*time),
            Step::Reset => {
                stream.shutdown(Shutdown::Both).unwrap();
                return false;
            }
            Step::UntilGone => return matches!(stream.read(&mut [0]), Ok(0) | Err(_)),
        }
    }
    false
}
