//! Sends what its input says and tells all that came back: `{"do":"METHOD scheme authority path|header: value|…"}`, where a last
//! field `=text` is the body.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};

fn request(order: &str) -> Result<OutgoingRequest, String> {
    let mut fields = order.split('|');
    let line: Vec<&str> = fields.next().unwrap_or_default().split(' ').collect();
    let [method, scheme, authority, path] = line[..] else { return Err(format!("no order: {order}")) };
    let headers = Fields::new();
    for field in fields.clone().filter(|f| !f.starts_with('=')) {
        let (name, value) = field.split_once(": ").ok_or("no header")?;
        headers.append(name, value.as_bytes()).map_err(|e| format!("header {name}: {e:?}"))?;
    }
    let request = OutgoingRequest::new(headers);
    let method = if method == "GET" { Method::Get } else { Method::Other(method.into()) };
    request.set_method(&method).map_err(|()| "method")?;
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(Some(authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some(path)).map_err(|()| "path")?;
    if let Some(text) = fields.next_back().and_then(|f| f.strip_prefix('=')) {
        let body = request.body().map_err(|()| "body")?;
        let stream = body.write().map_err(|()| "stream")?;
        stream.blocking_write_and_flush(text.as_bytes()).map_err(|e| format!("{e:?}"))?;
        drop(stream);
        OutgoingBody::finish(body, None).map_err(|e| format!("{e:?}"))?;
    }
    Ok(request)
}

fn told(response: &IncomingResponse) -> Result<String, String> {
    let mut all = format!("{}\n", response.status());
    for (name, value) in response.headers().entries() {
        all.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(&value)));
    }
    let body = response.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no stream")?;
    while let Ok(piece) = stream.blocking_read(64 << 10) {
        all.push_str(&String::from_utf8_lossy(&piece));
    }
    Ok(all)
}

fn fetch(order: &str) -> Result<String, String> {
    let waiting = handle(request(order)?, None).map_err(|e| format!("{e:?}"))?;
    waiting.subscribe().block();
    let given = waiting.get().ok_or("nothing")?.map_err(|()| "taken")?;
    told(&given.map_err(|e| format!("{e:?}"))?)
}

kit::tool!(
    |_, input| {
        let order = input.trim_start_matches(r#"{"do":""#).trim_end_matches(r#""}"#);
        fetch(order).map_or_else(|why| Err(ToolFailure::Failed(why)), text)
    },
    r#"{"http":{"hosts":["http://127.0.0.1:*","a.example.com"],"rule":[{"host":"b.example.com","methods":["GET"],"paths":["/v1"]}]},"secrets":{"allow":["token"]}}"#
);
