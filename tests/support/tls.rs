//! A server with a certificate that no machine trusts: it stands in front of a mock model.

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// The root that signed it, as PEM. Root, certificate and key are made for these tests and good for nothing else.
pub const ROOT: &str = include_str!("tls/ca.pem");

/// Speaks TLS on a free port and hands everything on to the mock model. Returns the address to speak to.
#[must_use]
pub fn in_front_of(plain: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let address = format!("https://{}/v1", listener.local_addr().expect("a bound address"));
    let behind = plain.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let config = Arc::new(config());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, behind) = (config.clone(), behind.clone());
            // A client that does not trust the certificate leaves, and that is no fault of the server's.
            std::thread::spawn(move || drop(serve(stream, config, &behind)));
        }
    });
    address
}

pub(crate) fn config() -> ServerConfig {
    let chain = vec![CertificateDer::from(&include_bytes!("tls/server.der")[..])];
    let key = PrivateKeyDer::try_from(&include_bytes!("tls/server.key.der")[..]).expect("a key");
    ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate and its key")
}

fn serve(mut stream: TcpStream, config: Arc<ServerConfig>, behind: &str) -> std::io::Result<()> {
    let mut session = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut tls = Stream::new(&mut session, &mut stream);
    let mut behind = TcpStream::connect(behind)?;
    loop {
        let request = request(&mut tls)?;
        behind.write_all(&request)?;
        tls.write_all(&answer(&mut behind)?)?;
    }
}

/// Head and body of one request.
fn request(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = until(from, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    bytes.append(&mut body);
    Ok(bytes)
}

/// The mock model answers in chunks: the last one is empty.
fn answer(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    until(from, b"\r\n0\r\n\r\n")
}

fn until(from: &mut impl Read, end: &[u8]) -> std::io::Result<Vec<u8>> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(end) {
        from.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    Ok(bytes)
}
