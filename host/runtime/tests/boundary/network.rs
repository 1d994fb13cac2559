//! Requests of guests, against servers on this machine and a name server of the test's own: no packet leaves.

use crate::guests::guest;
use crate::server::{Server, Step};
use crate::stage::{Stage, options};
use async_trait::async_trait;
use model::egress::{Egress, Verdict};
use model::fault::FailureKind;
use model::grant::Requests;
use model::id::SessionId;
use model::journal::{Entry, EntryId, Image, Journal, JournalError, Seen};
use model::permission::{Act, Action, Actor, Denial, Gate, Rule};
use model::tool::{ToolFailure, ToolOutput};
use runtime::caps::http::{Means, Resolver};
use runtime::caps::secrets::{SecretSource, ToolSecret};
use runtime::{Bundled, Learnt, Runtime, Secret};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Every name leads to this machine.
#[derive(Default)]
struct Here(AtomicUsize);

#[async_trait]
impl Resolver for Here {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

const CANARY: &str = "tok/canary+0815=4711";

/// One secret, for one place.
struct Token(Requests);

impl SecretSource for Token {
    fn names(&self) -> Vec<String> {
        vec!["token".into()]
    }

    fn find(&self, name: &str) -> Option<ToolSecret> {
        (name == "token").then(|| ToolSecret { value: Secret::new(CANARY), to: self.0.clone() })
    }
}

/// Allows what its one rule allows, and denies the rest.
struct OneRule(Rule);

#[async_trait]
impl Gate for OneRule {
    fn decide(&self, _: &Actor, act: &Act) -> Action {
        let Act::Request { url, .. } = act else { return Action::Deny };
        if self.0.matches("net", url) { Action::Allow } else { Action::Deny }
    }

    fn allowed_by(&self, actor: &Actor, act: &Act) -> Option<Rule> {
        (self.decide(actor, act) == Action::Allow).then(|| self.0.clone())
    }

    async fn permit(&self, actor: &Actor, acts: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        let no = || Denial::Rule(Rule::new("net", "*", Action::Deny));
        if acts.iter().all(|a| self.decide(actor, a) == Action::Allow) { Ok(()) } else { Err(no()) }
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<Egress>>);

#[async_trait]
impl Journal for Notes {
    async fn keep(&self, _: &str, _: Vec<u8>) -> Result<(), JournalError> {
        Ok(())
    }
    async fn begin(&self, _: Entry) -> Result<EntryId, JournalError> {
        Ok(EntryId(1))
    }
    async fn finish(&self, _: EntryId, _: Image) -> Result<(), JournalError> {
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
    async fn egress(&self, record: Egress) -> Result<(), JournalError> {
        let mut all = self.0.lock().unwrap();
        all.retain(|r| r.id != record.id);
        all.push(record);
        Ok(())
    }
}

struct Net {
    stage: Stage,
    names: Arc<Here>,
    notes: Arc<Notes>,
}

impl Net {
    /// The secret may go to `bound`.
    fn new(bound: &str) -> Self {
        let mut stage = Stage::new(&[]);
        let names = Arc::new(Here::default());
        let secrets = Arc::new(Token(Requests::to([bound]).unwrap()));
        let bundled = Bundled { name: "fetcher", bytes: guest("fetcher"), learnt: Learnt::AtStart };
        let mut options = options(stage.home.path(), vec![bundled]);
        options.network = Means { resolver: names.clone(), secrets, ca: None };
        stage.runtime = Runtime::open(options).unwrap();
        Self { stage, names, notes: Arc::default() }
    }

    async fn send(&self, allowed: &str, order: &str) -> Result<ToolOutput, ToolFailure> {
        self.send_until(allowed, order, CancellationToken::new()).await
    }

    async fn send_until(
        &self,
        allowed: &str,
        order: &str,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        let gate = Arc::new(OneRule(Rule::new("net", allowed, Action::Allow)));
        let tools = self.stage.runtime.tools(gate, self.notes.clone());
        tools.call(self.stage.call("fetcher", json!({ "do": order })), self.stage.progress.clone(), cancel).await
    }

    fn last(&self) -> Egress {
        self.notes.0.lock().unwrap().last().cloned().unwrap()
    }
}

fn place(server: &Server) -> String {
    server.base.trim_start_matches("http://").trim_end_matches("/v1").to_owned()
}

fn answer(head: &str, body: &str) -> &'static [u8] {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).leak().as_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_request_is_sent_and_noted() {
    let server = Server::new(vec![vec![Step::Send(answer("200 OK\r\nx-mine: 1", "hello"))]]);
    let net = Net::new("a.example.com");
    let at = place(&server);
    let order = format!("POST http {at} /a/../x?y=1|x-asked: 2|=body");
    let out = net.send(&format!("http://{at}/*"), &order).await.unwrap();
    assert!(
        out.text.starts_with("200\n") && out.text.contains("x-mine: 1") && out.text.ends_with("hello"),
        "{}",
        out.text
    );
    let seen = server.request().to_lowercase();
    assert!(seen.starts_with("post /x?y=1 http/1.1") && seen.ends_with("body"), "{seen}");
    assert!(
        seen.contains(&format!("host: {at}")) && seen.contains("x-asked: 2") && seen.contains("content-length: 4"),
        "{seen}"
    );
    let record = net.last();
    assert_eq!((record.verdict, record.status), (Verdict::Sent, Some(200)));
    assert_eq!((record.sent, record.received, record.host), (4, 5, format!("http://{at}")));
    assert_eq!((record.method.as_str(), record.component.len()), ("POST", 64));
}

/// Attacks 14 to 16: what is refused leaves no packet, and no name is looked up for it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_granted_or_named_is_not_reached() {
    let server = Server::new(vec![vec![Step::Send(answer("200 OK", "no"))]]);
    let (net, at) = (Net::new("a.example.com"), place(&server));
    let port = at.rsplit_once(':').unwrap().1;
    for (allowed, order, part) in [
        ("*".to_owned(), format!("GET http {at} /"), "this machine itself"),
        ("http://127.0.0.1:*/*".to_owned(), format!("GET http {at} /"), "a rule must name it"),
        (format!("http://{at}/*"), format!("GET https {at} /"), "grant is for"),
        ("*".to_owned(), format!("GET http localhost:{port} /"), "grant is for"),
        ("*".to_owned(), format!("GET http [::1]:{port} /"), "grant is for"),
        ("*".to_owned(), format!("GET http [::ffff:127.0.0.1]:{port} /"), "grant is for"),
        ("*".to_owned(), format!("GET http 2130706433:{port} /"), "host"),
        ("*".to_owned(), format!("GET http x@{at} /"), "user name"),
        ("*".to_owned(), "GET https evil.org /".to_owned(), "grant is for"),
        ("*".to_owned(), "GET https a.example.com. /".to_owned(), "host"),
        ("*".to_owned(), "GET https a.example.com:8443 /".to_owned(), "grant is for"),
        ("*".to_owned(), "GET http a.example.com /".to_owned(), "grant is for"),
        ("*".to_owned(), "POST https b.example.com /v1".to_owned(), "grant is for"),
        ("*".to_owned(), "GET https b.example.com /v1/../x".to_owned(), "grant is for"),
        ("*".to_owned(), "CONNECT https a.example.com /".to_owned(), "no method"),
        ("https://other.example.com/*".to_owned(), "GET https a.example.com /".to_owned(), "forbids"),
    ] {
        let failure = net.send(&allowed, &order).await.unwrap_err();
        assert!(failure.kind == FailureKind::Denied && failure.message.contains(part), "{order}: {failure}");
        assert!(matches!(net.last().verdict, Verdict::Refused { .. }), "{order}: {:?}", net.last());
    }
    assert_eq!(net.names.0.load(Ordering::Relaxed), 0, "no name was looked up");
    let failure = net.send("*", "GET https a.example.com /").await.unwrap_err();
    assert!(failure.message.contains("leads to 127.0.0.1"), "{failure}");
    // The one connection that the server waits for has never come: the next one is the first.
    net.send(&format!("http://{at}/*"), &format!("GET http {at} /first")).await.unwrap();
    assert!(server.request().starts_with("GET /first"));
}

/// Attack 17.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_handed_over_and_not_followed() {
    let away = answer("302 Found\r\nlocation: http://127.0.0.1:9/next", "");
    let server = Server::new(vec![vec![Step::Send(away)]]);
    let (net, at) = (Net::new("a.example.com"), place(&server));
    let out = net.send(&format!("http://{at}/*"), &format!("GET http {at} /")).await.unwrap();
    assert!(out.text.starts_with("302\n") && out.text.contains("location: http://127.0.0.1:9/next"), "{}", out.text);
}

/// Attack 18: the guest is told no when it builds such a header.
#[tokio::test(flavor = "multi_thread")]
async fn headers_that_frame_a_message_are_refused() {
    let net = Net::new("a.example.com");
    for header in
        ["Host: evil.org", "Transfer-Encoding: chunked", "Connection: x", "TE: trailers", "Proxy-Authorization: x"]
    {
        let failure = net.send("*", &format!("GET https a.example.com /|{header}")).await.unwrap_err();
        assert!(failure.message.contains("Forbidden"), "{header}: {failure}");
    }
    assert_eq!(net.names.0.load(Ordering::Relaxed), 0);
}

/// Attack 19: the server has the value and gives it back in every way it can.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_sent_and_never_comes_back() {
    use base64::Engine;
    let coded = base64::engine::general_purpose::STANDARD.encode(CANARY);
    let hex: String = CANARY.bytes().map(|b| format!("{b:02x}")).collect();
    let percent = "tok%2Fcanary%2B0815%3D4711";
    let (first, second) = CANARY.split_at(9);
    let head = format!(
        "HTTP/1.1 200 OK\r\nx-echo: {CANARY}\r\nlocation: https://a.example.com/?t={percent}\r\nconnection: close\r\n\r\n{CANARY} {coded} {hex} {percent} {first}"
    );
    let script = vec![
        Step::Send(head.leak().as_bytes()),
        Step::Wait(Duration::from_millis(50)),
        Step::Send(format!("{second} end").leak().as_bytes()),
    ];
    let server = Server::new(vec![script]);
    let at = place(&server);
    let net = Net::new(&format!("http://{at}"));
    let order = format!("GET http {at} /|authorization: Bearer {{{{secret:token}}}}");
    let out = net.send(&format!("http://{at}/*"), &order).await.unwrap();
    assert!(server.request().contains(&format!("authorization: Bearer {CANARY}")), "the server has it");
    for form in [CANARY, &coded, &hex, percent, "canary"] {
        assert!(!out.text.contains(form), "{form} in {}", out.text);
    }
    assert!(out.text.ends_with("*** end"), "{}", out.text);
    let record = serde_json::to_string(&net.last()).unwrap();
    assert!(record.contains("\"token\"") && !record.contains("canary"), "{record}");
}

/// Attack 20: another place, or another part of the request.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_goes_nowhere_else() {
    let server = Server::new(vec![vec![Step::Send(answer("200 OK", "first"))]]);
    let (net, at) = (Net::new("a.example.com"), place(&server));
    let allowed = format!("http://{at}/*");
    for (order, part) in [
        (format!("GET http {at} /|authorization: {{{{secret:token}}}}"), "bound to https://a.example.com"),
        (format!("GET http {at} /|authorization: {{{{secret:other}}}}"), "`other` is not granted"),
        (format!("GET http {at} /?t=%7B%7Bsecret:token%7D%7D"), "in the value of a header only"),
    ] {
        let failure = net.send(&allowed, &order).await.unwrap_err();
        assert!(failure.kind == FailureKind::Denied && failure.message.contains(part), "{order}: {failure}");
    }
    net.send(&allowed, &format!("GET http {at} /first|=x")).await.unwrap();
    assert!(server.request().starts_with("GET /first"));
}

/// Attack 13: a server that says nothing, and a person who has waited long enough.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_does_not_hold_a_cancelled_call() {
    let server = Server::new(vec![vec![Step::UntilGone]]);
    let (net, at) = (Net::new("a.example.com"), place(&server));
    let cancel = CancellationToken::new();
    let (allowed, order) = (format!("http://{at}/*"), format!("GET http {at} /"));
    let call = net.send_until(&allowed, &order, cancel.clone());
    let cancelled = async {
        while net.notes.0.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
        Instant::now()
    };
    let (ended, since) = tokio::join!(call, cancelled);
    assert_eq!(ended.unwrap_err().kind, FailureKind::Interrupted);
    assert!(since.elapsed() < Duration::from_secs(5));
}
