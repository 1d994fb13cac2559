//! A model behind HTTP/2 and nothing else: whoever does not offer it gets no connection.

use crate::tls;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// It answers requests in order, whatever connection they come by.
#[derive(Clone)]
pub struct Http2 {
    pub base_url: String,
    connections: Arc<AtomicUsize>,
    answers: Arc<Mutex<VecDeque<String>>>,
}

impl Http2 {
    /// Each answer is a whole event stream of the chat completions protocol.
    #[must_use]
    pub fn start(answers: &[&str]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let this = Self {
            base_url: format!("https://{}/v1", listener.local_addr().expect("a bound address")),
            connections: Arc::default(),
            answers: Arc::new(Mutex::new(answers.iter().map(|a| (*a).to_owned()).collect())),
        };
        let server = this.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an executor");
            runtime.block_on(server.serve(listener));
        });
        this
    }

    /// Connections that were made and agreed on the protocol.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn serve(self, listener: std::net::TcpListener) {
        listener.set_nonblocking(true).expect("a socket");
        let listener = TcpListener::from_std(listener).expect("a socket");
        let mut config = tls::config();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            let (this, acceptor) = (self.clone(), acceptor.clone());
            tokio::spawn(async move { this.talk(stream, acceptor).await });
        }
    }

    /// `None`: the client left.
    async fn talk(self, stream: TcpStream, acceptor: TlsAcceptor) -> Option<()> {
        let secured = acceptor.accept(stream).await.ok()?;
        let mut connection = h2::server::handshake(secured).await.ok()?;
        self.connections.fetch_add(1, Ordering::SeqCst);
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let answer = self.answers.lock().expect("answers").pop_front()?;
            let head = http::Response::builder().header("content-type", "text/event-stream").body(()).ok()?;
            respond.send_response(head, false).ok()?.send_data(Bytes::from(answer), true).ok()?;
        }
        Some(())
    }
}
