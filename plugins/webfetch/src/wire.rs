//! Requests over `wasi:http`.

use crate::{LARGEST, Lost, Reply, Web, place};
use std::time::{Duration, Instant};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{ErrorCode, Fields, IncomingResponse, OutgoingRequest, RequestOptions, Scheme};
use wasip2::io::streams::StreamError;

const PIECE: u64 = 64 << 10;

pub struct Wire;

impl Web for Wire {
    fn get(&mut self, url: &str, agent: &str, accept: &str, within: Duration) -> Result<Reply, Lost> {
        let until = Instant::now() + within;
        let headers = [("user-agent", agent), ("accept", accept), ("accept-language", "en-US,en;q=0.9")];
        let request = request(url, &headers).ok_or_else(|| Lost::Other("it cannot be put as a request".into()))?;
        let waiting = handle(request, Some(patience(within))).map_err(lost)?;
        waiting.subscribe().block();
        let given = waiting.get().and_then(Result::ok).ok_or_else(|| Lost::Other("there was no answer".into()))?;
        read(&given.map_err(lost)?, until)
    }
}

fn request(url: &str, headers: &[(&str, &str)]) -> Option<OutgoingRequest> {
    let origin = place::origin(url)?;
    let (scheme, authority) = origin.split_once("://")?;
    let rest = &url[origin.len()..];
    let path = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value.as_bytes()).ok()?;
    }
    let request = OutgoingRequest::new(fields);
    let scheme = if scheme.eq_ignore_ascii_case("http") { Scheme::Http } else { Scheme::Https };
    request.set_scheme(Some(&scheme)).ok()?;
    request.set_authority(Some(authority)).ok()?;
    request.set_path_with_query(Some(&path)).ok()?;
    Some(request)
}

fn patience(within: Duration) -> RequestOptions {
    let nanoseconds = Some(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
    let options = RequestOptions::new();
    // A host that knows no such bound has bounds of its own.
    let _ = options.set_connect_timeout(nanoseconds);
    let _ = options.set_first_byte_timeout(nanoseconds);
    let _ = options.set_between_bytes_timeout(nanoseconds);
    options
}

fn read(response: &IncomingResponse, until: Instant) -> Result<Reply, Lost> {
    let text = |v: Vec<u8>| String::from_utf8_lossy(&v).into_owned();
    let headers = response.headers().entries().into_iter().map(|(n, v)| (n.to_ascii_lowercase(), text(v))).collect();
    let mut reply = Reply { status: response.status(), headers, ..Reply::default() };
    let none = |()| Lost::Other("the answer has no body".into());
    let body = response.consume().map_err(none)?;
    let stream = body.stream().map_err(none)?;
    let stated = reply.header("content-length").and_then(|l| l.parse::<usize>().ok());
    reply.cut = stated.is_some_and(|l| l > LARGEST);
    while !reply.cut {
        match stream.blocking_read(PIECE) {
            Ok(piece) => reply.body.extend_from_slice(&piece),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(_)) => return Err(Lost::Other("the answer broke off".into())),
        }
        if Instant::now() > until {
            return Err(Lost::TimedOut);
        }
        reply.cut = reply.body.len() > LARGEST;
    }
    Ok(reply)
}

fn lost(code: ErrorCode) -> Lost {
    match code {
        ErrorCode::HttpResponseTimeout | ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout => {
            Lost::TimedOut
        }
        ErrorCode::DnsError(_) | ErrorCode::DnsTimeout => Lost::Other("its host was not found".into()),
        ErrorCode::ConnectionRefused => Lost::Other("there was no connection to its host".into()),
        ErrorCode::TlsCertificateError => Lost::Other("the certificate of its host is not trusted".into()),
        other => Lost::Other(format!("{other:?}")),
    }
}
