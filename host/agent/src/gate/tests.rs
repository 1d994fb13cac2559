mod cases;
mod escalation;
mod flow;
mod opinions;
mod requests;

use super::*;
use crate::testing::store::Memory;
use model::id::{CallId, MessageId};
use model::permission::{Layer, Reach};
use std::collections::VecDeque;
use tokio::sync::Semaphore;

/// Gives the listed replies in turn, each after a permit; then nobody is there.
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Ask>>,
    go: Semaphore,
}

impl Script {
    fn new(replies: &[Reply]) -> Arc<Self> {
        let replies = Mutex::new(replies.iter().cloned().collect());
        Arc::new(Self { replies, asked: Mutex::default(), go: Semaphore::new(0) })
    }

    fn asked(&self) -> Vec<Ask> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Asker for Script {
    async fn ask(&self, ask: &Ask, _: &CancellationToken) -> Option<Reply> {
        self.asked.lock().unwrap().push(ask.clone());
        self.go.acquire().await.unwrap().forget();
        self.replies.lock().unwrap().pop_front()
    }
}

#[derive(Default)]
struct Record {
    events: Mutex<Vec<&'static str>>,
}

impl EventSink for Record {
    fn emit(&self, event: Event) {
        let name = match event {
            Event::Asked { .. } => "asked",
            Event::Answered { reply: Some(_), .. } => "answered",
            Event::Answered { reply: None, .. } => "unanswered",
            _ => "other",
        };
        self.events.lock().unwrap().push(name);
    }
}

/// Nobody looks.
struct Silent;

impl EventSink for Silent {
    fn emit(&self, _: Event) {}
}

fn actor(worktree: &str, tool: &str) -> Actor {
    Actor {
        session: SessionId::new(),
        message: MessageId::new(),
        call: CallId::given("c"),
        agent: "build".into(),
        tool: tool.into(),
        worktree: worktree.into(),
    }
}

struct World {
    gate: Arc<Gatekeeper>,
    asker: Arc<Script>,
    record: Arc<Record>,
    store: Arc<Memory>,
    actor: Actor,
    cancel: CancellationToken,
}

fn world(rules: &[(&str, &str, Action)], replies: &[Reply]) -> World {
    let rules = rules.iter().map(|(p, w, a)| Rule::new(*p, *w, *a)).collect();
    let layers = vec![default_rules(), Layer { origin: "test".into(), reach: Reach::Full, rules }];
    let options = GateOptions {
        policy: Policy { layers },
        approvals: Vec::new(),
        home: Some("/home/u".into()),
        flow: Flow::default(),
    };
    let (asker, record, store) = (Script::new(replies), Arc::new(Record::default()), Arc::new(Memory::default()));
    let gate = Gatekeeper::new(options, store.clone(), asker.clone(), record.clone());
    World { gate, asker, record, store, actor: actor("/w", "fetch"), cancel: CancellationToken::new() }
}

impl World {
    fn start(&self, act: Act) -> tokio::task::JoinHandle<Result<(), Denial>> {
        let (gate, actor, cancel) = (self.gate.clone(), self.actor.clone(), self.cancel.clone());
        tokio::spawn(async move { gate.permit(&actor, &[act], Value::Null, &cancel).await })
    }

    async fn permit(&self, act: Act) -> Result<(), Denial> {
        self.asker.go.add_permits(1);
        self.start(act).await.unwrap()
    }

    fn decide(&self, act: &Act) -> Action {
        self.gate.decide(&self.actor, act)
    }
}

/// Lets every task run until it waits.
async fn settle_down() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn line(text: &str) -> Act {
    Act::Shell { line: text.into(), cwd: "/w".into() }
}

fn reject(message: Option<&str>) -> Reply {
    Reply::Reject { message: message.map(String::from) }
}

#[test]
fn the_default_posture() {
    let w = world(&[], &[]);
    let check = |act: Act, want| assert_eq!(w.decide(&act), want, "{act:?}");
    check(Act::Read { path: "/w/src/a.rs".into() }, Action::Allow);
    check(Act::Read { path: "/w".into() }, Action::Allow);
    check(Act::Read { path: "/w/prod.env".into() }, Action::Ask);
    check(Act::Read { path: "/w/.env.local".into() }, Action::Ask);
    check(Act::Read { path: "/w/.env.example".into() }, Action::Allow);
    check(Act::Read { path: "/etc/passwd".into() }, Action::Ask);
    check(Act::Read { path: "/w-secret/a".into() }, Action::Ask);
    check(Act::Write { path: "/w/a".into() }, Action::Ask);
    check(line("ls"), Action::Ask);
    check(Act::Exec { argv: vec!["ls".into()], cwd: "/w".into() }, Action::Ask);
    check(Act::Call { subject: None }, Action::Ask);
    check(Act::Other { permission: "net".into(), patterns: vec![], always: vec![] }, Action::Ask);
}

fn circle() -> Act {
    Act::Other { permission: DOOM_LOOP.into(), patterns: vec!["bash".into()], always: vec!["bash".into()] }
}

#[test]
fn only_a_rule_of_its_name_lets_a_circle_go_on() {
    let check = |permission, action, want| assert_eq!(world(&[(permission, "*", action)], &[]).decide(&circle()), want);
    check("*", Action::Allow, Action::Ask);
    check("doom_loop", Action::Allow, Action::Allow);
    check("*", Action::Deny, Action::Deny);
    check("doom_loop", Action::Deny, Action::Deny);
}

#[tokio::test]
async fn a_no_to_a_circle_ends_no_run() {
    for (replies, denial) in [
        (vec![reject(None)], Denial::Rejected(None)),
        (vec![], Denial::Unanswered),
        (vec![reject(Some("no"))], Denial::Rejected(Some("no".into()))),
    ] {
        let w = world(&[], &replies);
        assert_eq!(w.permit(circle()).await, Err(denial));
        assert_eq!(w.gate.blocked(), None);
    }
    let w = world(&[], &[]);
    assert_eq!(w.permit(line("ls")).await, Err(Denial::Unanswered));
    assert_eq!(w.gate.blocked(), Some(Denial::Unanswered));
    Gate::forgive(w.gate.as_ref());
    assert_eq!(w.gate.blocked(), None);
}

#[test]
fn the_strictest_part_of_a_line_decides() {
    let (allow, deny) = (Action::Allow, Action::Deny);
    let rules = [
        ("bash", "*", allow),
        ("bash", "rm *", deny),
        ("bash", "git push *", Action::Ask),
        ("edit", "*", allow),
        ("edit", ".env", deny),
        ("external_directory", "/etc/*", deny),
        ("external_directory", "/usr/share/*", allow),
    ];
    let w = world(&rules, &[]);
    let check = |text: &str, want| assert_eq!(w.decide(&line(text)), want, "{text}");
    check("ls; cargo test > log", allow);
    check("ls; rm x", deny);
    check("/bin/rm x", deny);
    check("sudo rm x", deny);
    check("ls | xargs --replace rm {}", deny);
    check("strace --output f rm x", deny);
    check("fd a --exec=rm x", deny);
    check("sudo --what ever rm x", deny);
    check("sudo --what ever ls", Action::Ask);
    check("bash -es -- a", Action::Ask);
    check("git 'push' -f", Action::Ask);
    check("echo K=1 >> ./src/../.env", deny);
    check("tee .env", deny);
    check("cat /etc/passwd", deny);
    check("cat /usr/share/x", allow);
    check("cat /srv/x", Action::Ask);
    check("$P x", Action::Ask);
    check("ls (", Action::Ask);
    let outside = Act::Shell { line: "ls".into(), cwd: "/srv".into() };
    assert_eq!(w.decide(&outside), Action::Ask);
    let quoted = Act::Exec { argv: vec!["echo".into(), "; rm x".into()], cwd: "/w".into() };
    assert_eq!(w.decide(&quoted), allow);
}

#[test]
fn only_its_exact_text_allows_an_opaque_line() {
    let w = world(&[("bash", "*", Action::Allow), ("bash", "$EDITOR x", Action::Allow)], &[]);
    assert_eq!(w.decide(&line("$EDITOR x")), Action::Allow);
    assert_eq!(w.decide(&line("$EDITOR y")), Action::Ask);
}

#[test]
fn an_approval_never_overrides_a_deny() {
    let mut w = world(&[("bash", "rm *", Action::Deny)], &[]);
    let approvals = vec![Rule::new("bash", "*", Action::Allow)];
    let options = GateOptions { policy: w.gate.policy().clone(), approvals, home: None, flow: Flow::default() };
    w.gate = Gatekeeper::new(options, w.store.clone(), w.asker.clone(), w.record.clone());
    assert_eq!(w.decide(&line("rm x")), Action::Deny);
    assert_eq!(w.decide(&line("ls")), Action::Allow);
}

#[test]
fn the_missing_rules_permit_the_act_and_nothing_besides() {
    let check = |act: Act, want: &[(&str, &str)]| {
        let w = world(&[("bash", "cargo *", Action::Allow)], &[]);
        let got = w.gate.missing(&w.actor, std::slice::from_ref(&act)).unwrap();
        let pairs: Vec<_> = got.iter().map(|r| (r.permission.as_str(), r.pattern.as_str())).collect();
        assert_eq!(pairs, want, "{act:?}");
        let rules: Vec<_> = pairs.into_iter().map(|(p, w)| (p, w, Action::Allow)).collect();
        assert_eq!(world(&rules, &[]).decide(&act), Action::Allow, "{act:?}");
    };
    check(line("ls && rm x"), &[("bash", "ls"), ("bash", "rm x")]);
    check(line("ls > log"), &[("edit", "log"), ("bash", "ls")]);
    check(line("cat /srv/x/y"), &[("external_directory", "/srv/x/*"), ("bash", "cat /srv/x/y")]);
    check(line("$EDITOR x"), &[("bash", "$EDITOR x")]);
    check(Act::Write { path: "/srv/a".into() }, &[("external_directory", "/srv/*"), ("edit", "/srv/a")]);
    check(Act::Call { subject: None }, &[("fetch", "*")]);
    check(Act::Read { path: "/w/a".into() }, &[]);
    let w = world(&[("bash", "rm *", Action::Deny)], &[]);
    let missing = |text: &str| w.gate.missing(&w.actor, &[line(text)]);
    assert_eq!(missing("mv *.o x"), None, "as a pattern it would allow more");
    assert_eq!(missing("ls; rm x"), None, "a deny is final");
    let w = world(&[("bash", "cargo *", Action::Allow)], &[]);
    assert_eq!(w.gate.missing(&w.actor, &[line("cargo test; ls")]).map(|r| r.len()), Some(1), "only what is open");
}

#[test]
fn a_rule_for_one_spelling_is_not_asked_for_another() {
    let w = world(&[("bash", "*", Action::Ask), ("bash", "./build *", Action::Allow)], &[]);
    assert_eq!(w.decide(&line("./build x")), Action::Allow);
    assert_eq!(w.decide(&line("build x")), Action::Ask);
}

#[tokio::test]
async fn once_is_for_this_time() {
    let w = world(&[], &[Reply::Once]);
    assert_eq!(w.permit(line("ls -l > log")).await, Ok(()));
    assert_eq!(w.decide(&line("ls -l")), Action::Ask);
    let ask = &w.asker.asked()[0];
    assert_eq!((ask.permission.as_str(), &ask.patterns[..]), ("edit", &["log".to_owned(), "ls -l".to_owned()][..]));
    assert_eq!(ask.metadata["needs"].as_array().map(Vec::len), Some(2));
    assert_eq!(*w.record.events.lock().unwrap(), ["asked", "answered"]);
    assert!(w.store.approved().is_empty());
}

#[tokio::test]
async fn a_rule_denies_without_a_question_and_ends_nothing() {
    let w = world(&[("bash", "rm *", Action::Deny)], &[Reply::Always]);
    let rule = Rule::new("bash", "rm *", Action::Deny);
    assert_eq!(w.permit(line("ls && rm x")).await, Err(Denial::Rule(rule)));
    assert!(w.asker.asked().is_empty());
    assert_eq!(w.gate.blocked(), None);
}

#[tokio::test]
async fn always_is_remembered_and_lets_the_waiting_pass() {
    let w = world(&[("bash", "git log --deny", Action::Deny)], &[Reply::Always, Reply::Once]);
    let tasks = [w.start(line("git log -1")), w.start(line("ls")), w.start(line("git log -2"))];
    settle_down().await;
    assert_eq!(w.asker.asked().len(), 1, "one question at a time");
    w.asker.go.add_permits(1);
    settle_down().await;
    assert!(tasks[2].is_finished(), "answered by the approval, ahead of its turn");
    w.asker.go.add_permits(1);
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!(w.asker.asked().len(), 2);
    assert_eq!(w.store.approved(), [Rule::new("bash", "git log *", Action::Allow)]);
    assert_eq!(w.decide(&line("git log -3")), Action::Allow);
    assert_eq!(w.decide(&line("git log --deny")), Action::Deny);
}

#[tokio::test]
async fn a_no_is_for_all_that_waits_in_the_session() {
    let w = world(&[], &[reject(None), Reply::Once]);
    let other = World { actor: Actor { session: SessionId::new(), ..w.actor.clone() }, ..world(&[], &[]) };
    let (first, second) = (w.start(line("a")), w.start(line("b")));
    settle_down().await;
    let elsewhere = {
        let (gate, actor, cancel) = (w.gate.clone(), other.actor.clone(), w.cancel.clone());
        tokio::spawn(async move { gate.permit(&actor, &[line("c")], Value::Null, &cancel).await })
    };
    settle_down().await;
    w.asker.go.add_permits(2);
    assert_eq!(first.await.unwrap(), Err(Denial::Rejected(None)));
    assert_eq!(second.await.unwrap(), Err(Denial::Rejected(None)));
    assert_eq!(elsewhere.await.unwrap(), Ok(()));
    assert_eq!(w.gate.blocked(), Some(Denial::Rejected(None)));
}

#[tokio::test]
async fn a_no_with_a_word_of_what_to_do_ends_nothing() {
    let w = world(&[], &[reject(Some("use make"))]);
    assert_eq!(w.permit(line("a")).await, Err(Denial::Rejected(Some("use make".into()))));
    assert_eq!(w.gate.blocked(), None);
}

#[tokio::test]
async fn nobody_to_answer_ends_the_run() {
    let w = world(&[], &[]);
    assert_eq!(w.permit(line("a")).await, Err(Denial::Unanswered));
    assert_eq!(w.gate.blocked(), Some(Denial::Unanswered));
    assert_eq!(*w.record.events.lock().unwrap(), ["asked", "unanswered"]);
}

#[tokio::test]
async fn a_cancelled_question_ends_whether_shown_or_waiting() {
    let w = world(&[], &[Reply::Once]);
    let tasks = [w.start(line("a")), w.start(line("b"))];
    settle_down().await;
    w.cancel.cancel();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Err(Denial::Cancelled));
    }
    assert_eq!(w.asker.asked().len(), 1);
    assert_eq!(w.gate.blocked(), None);
    assert!(w.gate.state().waiting.is_empty());
}

#[tokio::test]
async fn a_file_outside_is_asked_for_with_its_directory() {
    let w = world(&[], &[Reply::Always]);
    assert_eq!(w.permit(Act::Read { path: "/srv/x/a".into() }).await, Ok(()));
    let ask = &w.asker.asked()[0];
    assert_eq!((ask.permission.as_str(), &ask.always[..]), ("external_directory", &["/srv/x/*".to_owned()][..]));
    assert_eq!(w.decide(&Act::Read { path: "/srv/x/b".into() }), Action::Allow);
    assert_eq!(w.decide(&Act::Read { path: "/srv/y".into() }), Action::Ask);
}

#[test]
fn home_is_expanded_at_the_start_only() {
    let check = |pattern: &str, want: &str| assert_eq!(expand_home(pattern, Some(Path::new("/home/u"))), want);
    check("~/x/*", "/home/u/x/*");
    check("~", "/home/u");
    check("$HOME/x", "/home/u/x");
    check("${HOME}/x", "/home/u/x");
    check("~other/x", "~other/x");
    check("$HOMER", "$HOMER");
    check("cat ~/x", "cat ~/x");
    assert_eq!(expand_home("~/x", None), "~/x");
}

#[tokio::test]
async fn a_child_is_judged_by_its_own_rules_and_asks_in_the_name_of_its_root() {
    let w = world(&[("bash", "*", Action::Allow)], &[Reply::Once]);
    let child = Actor { session: SessionId::new(), agent: "explore".into(), ..w.actor.clone() };
    let rules = vec![Rule::new("bash", "*", Action::Ask), Rule::new("bash", "rm *", Action::Deny)];
    let policy = w.gate.policy().narrowed("agent explore", rules);
    w.gate.enrol(&child.session, Standing { root: w.actor.session.clone(), policy });
    assert_eq!(w.decide(&line("rm x")), Action::Allow, "the parent's rules are its own");
    assert_eq!(w.gate.decide(&child, &line("rm x")), Action::Deny);
    w.asker.go.add_permits(1);
    assert_eq!(w.gate.permit(&child, &[line("ls")], Value::Null, &w.cancel).await, Ok(()));
    let ask = &w.asker.asked()[0];
    assert_eq!(ask.session_id, w.actor.session);
    assert_eq!(ask.metadata["childID"], child.session.as_str());
    assert_eq!(ask.metadata["agent"], "explore");
    w.gate.dismiss(&child.session);
    assert_eq!(w.gate.decide(&child, &line("rm x")), Action::Allow);
}

#[tokio::test]
async fn a_bare_no_to_a_child_is_for_its_whole_family() {
    let w = world(&[], &[reject(None)]);
    let child = Actor { session: SessionId::new(), ..w.actor.clone() };
    let standing = Standing { root: w.actor.session.clone(), policy: w.gate.policy().clone() };
    w.gate.enrol(&child.session, standing);
    let asks = |actor: Actor, text: &str| {
        let (gate, cancel, act) = (w.gate.clone(), w.cancel.clone(), line(text));
        tokio::spawn(async move { gate.permit(&actor, &[act], Value::Null, &cancel).await })
    };
    let first = asks(child, "a");
    settle_down().await;
    let second = asks(w.actor.clone(), "b");
    settle_down().await;
    w.asker.go.add_permits(2);
    assert_eq!(first.await.unwrap(), Err(Denial::Rejected(None)));
    assert_eq!(second.await.unwrap(), Err(Denial::Rejected(None)));
}
