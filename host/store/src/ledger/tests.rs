use super::*;
use model::budget::Tokens;
use model::id::{CallId, PartId};
use model::journal::{Entry, Image, Journal, Op, Seen};
use model::message::{Created, Message, PartBody, TextPart, UserMessage};
use model::permission::Action;
use model::provider::ModelRef;
use model::session::SessionTime;

pub(crate) fn session(directory: &str, updated: u64) -> Session {
    Session {
        id: SessionId::new(),
        parent_id: None,
        summary: None,
        labels: model::flow::Labels::default(),
        title: "t".into(),
        directory: directory.into(),
        worktree: directory.into(),
        agent: "build".into(),
        model: ModelRef::parse("a/b").unwrap(),
        version: "0".into(),
        cost: 0.into(),
        tokens: Tokens::default(),
        time: SessionTime { created: 1, updated },
    }
}

pub(crate) fn message(s: &Session) -> Message {
    Message::User(UserMessage {
        id: MessageId::new(),
        session_id: s.id.clone(),
        time: Created { created: 1 },
        agent: "build".into(),
        model: s.model.clone(),
        format: None,
    })
}

pub(crate) fn text(m: &Message, text: &str) -> Part {
    Part {
        id: PartId::new(),
        session_id: m.session().clone(),
        message_id: m.id().clone(),
        body: PartBody::Text(TextPart { text: text.into(), ..TextPart::default() }),
    }
}

pub(crate) fn entry(s: &Session, hash: &str) -> Entry {
    Entry {
        session: s.id.clone(),
        message: MessageId::new(),
        call: CallId::given("c"),
        tool: "write".into(),
        op: Op::Write,
        path: "/w/a".into(),
        before: Image::File { hash: hash.into(), size: 1, mode: 0o644, kept: true },
        time: 1,
    }
}

pub(crate) async fn count(ledger: &Ledger, sql: &'static str) -> i64 {
    ledger.read("count", move |db| db.query_row(sql, [], |r| r.get(0))).await.unwrap()
}

#[tokio::test]
async fn order_is_the_order_of_writing_and_survives_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let s = session("/w", 5);
    let (a, b) = (message(&s), message(&s));
    let (b1, a1, a2) = (text(&b, "b1"), text(&a, "a1"), text(&a, "a2"));
    {
        let ledger = Ledger::open(dir.path()).unwrap();
        let all = vec![
            Change::Session(s.clone()),
            Change::Message(a.clone()),
            Change::Message(b.clone()),
            Change::Part(b1.clone()),
            Change::Part(a1.clone()),
            Change::Part(a2.clone()),
        ];
        ledger.apply(all).await.unwrap();
        // A part that changes keeps its place.
        let mut changed = a1.clone();
        changed.body = PartBody::Text(TextPart { text: "a1!".into(), ..TextPart::default() });
        ledger.apply(vec![Change::Part(changed)]).await.unwrap();
    }
    let ledger = Ledger::open(dir.path()).unwrap();
    let history = ledger.history(&s.id).await.unwrap();
    let texts: Vec<Vec<String>> = history
        .iter()
        .map(|m| m.parts.iter().map(|p| format!("{:?}", p.body).split('"').nth(1).unwrap().to_owned()).collect())
        .collect();
    assert_eq!(texts, [vec!["a1!", "a2"], vec!["b1"]]);
    assert_eq!(ledger.session(&s.id).await.unwrap(), s);
}

#[tokio::test]
async fn a_batch_lands_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 5);
    let stranger = message(&session("/x", 5));
    let refused = ledger.apply(vec![Change::Session(s.clone()), Change::Message(stranger)]).await;
    assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
    assert!(matches!(ledger.session(&s.id).await, Err(StoreError::NoSession(_))));
}

#[tokio::test]
async fn the_newest_session_of_a_folder_is_the_one_written_last() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    // The clock went back between the two.
    let (old, new, other) = (session("/w", 6), session("/w", 5), session("/x", 1));
    let all = [&new, &old, &new, &other].map(|s| Change::Session(s.clone()));
    ledger.apply(all.to_vec()).await.unwrap();
    assert_eq!(ledger.latest(Path::new("/w")).await.unwrap().map(|s| s.id), Some(new.id.clone()));
    assert_eq!(ledger.latest(Path::new("/y")).await.unwrap(), None);
    let listed: Vec<SessionId> =
        ledger.sessions(model::store::Kin::All, 2).await.unwrap().into_iter().map(|s| s.info.id).collect();
    assert_eq!(listed, [other.id, new.id]);
}

#[tokio::test]
async fn a_session_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    ledger.apply(vec![Change::Session(s.clone())]).await.unwrap();
    let first = ledger.claim(&s.id).await.unwrap();
    let pid = std::process::id();
    assert!(matches!(ledger.claim(&s.id).await, Err(StoreError::Busy { pid: p, .. }) if p == pid));
    assert!(matches!(ledger.delete(&s.id).await, Err(StoreError::Busy { .. })));
    drop(first);
    ledger.delete(&s.id).await.unwrap();
    assert!(matches!(ledger.delete(&s.id).await, Err(StoreError::NoSession(_))));
}

#[tokio::test]
async fn a_session_is_deleted_with_those_below_it_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let parent = session("/w", 1);
    let child = Session { parent_id: Some(parent.id.clone()), ..session("/w", 1) };
    let grandchild = Session { parent_id: Some(child.id.clone()), ..session("/w", 1) };
    let other = session("/w", 1);
    let all = [&parent, &child, &grandchild, &other].map(|s| Change::Session(s.clone()));
    ledger.apply(all.to_vec()).await.unwrap();
    ledger.apply(vec![Change::Message(message(&grandchild))]).await.unwrap();
    let claim = ledger.claim(&grandchild.id).await.unwrap();
    assert!(matches!(ledger.delete(&parent.id).await, Err(StoreError::Busy { .. })));
    assert_eq!(count(&ledger, "SELECT count(*) FROM session").await, 4);
    drop(claim);
    ledger.delete(&parent.id).await.unwrap();
    assert_eq!(count(&ledger, "SELECT count(*) FROM session").await, 1);
    assert_eq!(count(&ledger, "SELECT count(*) FROM message").await, 0);
}

#[tokio::test]
async fn deleting_a_session_removes_what_only_it_named() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (a, b) = (session("/w", 1), session("/w", 2));
    let m = message(&a);
    let all = vec![
        Change::Session(a.clone()),
        Change::Session(b.clone()),
        Change::Message(m.clone()),
        Change::Part(text(&m, "x")),
    ];
    ledger.apply(all).await.unwrap();
    for hash in ["own", "shared"] {
        ledger.keep(hash, b"1".to_vec()).await.unwrap();
        ledger.begin(entry(&a, hash)).await.unwrap();
    }
    ledger.begin(entry(&b, "shared")).await.unwrap();
    ledger.delete(&a.id).await.unwrap();
    assert_eq!(count(&ledger, "SELECT count(*) FROM blob WHERE hash = 'own'").await, 0);
    assert_eq!(count(&ledger, "SELECT count(*) FROM blob WHERE hash = 'shared'").await, 1);
    assert_eq!(count(&ledger, "SELECT count(*) FROM blob_use").await, 1);
    assert_eq!(count(&ledger, "SELECT count(*) FROM part").await, 0);
    assert_eq!(count(&ledger, "SELECT count(*) FROM journal").await, 1);
}

#[tokio::test]
async fn the_journal_keeps_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    let id = ledger.begin(entry(&s, "h1")).await.unwrap();
    assert_eq!(count(&ledger, "SELECT count(*) FROM journal WHERE after_image IS NULL").await, 1);
    ledger.finish(id, Image::Absent).await.unwrap();
    assert_eq!(count(&ledger, "SELECT count(*) FROM journal WHERE after_image = '{\"kind\":\"absent\"}'").await, 1);
}

#[tokio::test]
async fn a_seen_file_is_remembered_by_session() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (s, t) = (session("/w", 1), session("/w", 1));
    let seen = Seen { device: 1, inode: u64::MAX, size: 3, modified_ns: -4, changed_ns: i128::from(i64::MAX) };
    ledger.mark_seen(&s.id, Path::new("/w/a"), seen.clone()).await.unwrap();
    assert_eq!(ledger.seen(&s.id, Path::new("/w/a")).await.unwrap(), Some(seen));
    assert_eq!(ledger.seen(&t.id, Path::new("/w/a")).await.unwrap(), None);
}

#[tokio::test]
async fn approvals_belong_to_a_worktree() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let rule = Rule::new("bash", "git status *", Action::Allow);
    ledger.approve(Path::new("/w"), &[rule.clone(), rule.clone()]).await.unwrap();
    assert_eq!(ledger.approvals(Path::new("/w")).await.unwrap(), [rule]);
    assert_eq!(ledger.approvals(Path::new("/x")).await.unwrap(), []);
}

#[tokio::test]
async fn two_processes_make_one_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let path = dir.path().to_path_buf();
        std::thread::spawn(move || Ledger::open(&path).map(|_| ()))
    };
    let all: Vec<_> = (0..8).map(|_| open()).collect();
    for t in all {
        t.join().unwrap().unwrap();
    }
}

#[test]
fn a_file_that_is_no_ledger_is_named_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("airlock.db");
    let junk = vec![b'x'; 4096];
    std::fs::write(&path, &junk).unwrap();
    let Err(e) = Ledger::open(dir.path()) else { panic!("junk opened") };
    assert!(matches!(e, StoreError::Corrupt { .. }), "{e}");
    assert!(e.to_string().contains("airlock.db"));
    assert_eq!(std::fs::read(&path).unwrap(), junk);
}

#[test]
fn a_ledger_of_a_newer_version_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(Ledger::open(dir.path()).unwrap());
    let db = Connection::open(dir.path().join("airlock.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    assert!(matches!(Ledger::open(dir.path()), Err(StoreError::TooNew { found: 99, .. })));
}

#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let s = session("/w", 1);
    let m = message(&s);
    ledger.apply(vec![Change::Session(s.clone()), Change::Message(m.clone())]).await.unwrap();
    let cap = |pages: i64| {
        move |tx: &Transaction<'_>| tx.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
    };
    ledger.write("cap", cap(1)).await.unwrap();
    let big = text(&m, &"x".repeat(1 << 20));
    let refused = ledger.apply(vec![Change::Part(text(&m, "small")), Change::Part(big.clone())]).await;
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
    assert_eq!(ledger.history(&s.id).await.unwrap()[0].parts, []);
    ledger.write("uncap", cap(1 << 30)).await.unwrap();
    ledger.apply(vec![Change::Part(big.clone())]).await.unwrap();
    assert_eq!(ledger.history(&s.id).await.unwrap()[0].parts, [big]);
}

#[tokio::test]
async fn approvals_are_taken_back_one_by_one_or_together() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let rule = |permission: &str, pattern: &str| Rule::new(permission, pattern, Action::Allow);
    let all = [rule("bash", "git status *"), rule("bash", "ls *"), rule("edit", "*")];
    let here = Path::new("/w");
    for (permission, pattern, left) in [
        (Some("bash"), Some("ls *"), vec![all[0].clone(), all[2].clone()]),
        (Some("bash"), Some("ls"), all.to_vec()),
        (Some("bash"), None, vec![all[2].clone()]),
        (None, None, vec![]),
    ] {
        ledger.approve(here, &all).await.unwrap();
        ledger.approve(Path::new("/other"), &all[..1]).await.unwrap();
        let gone = ledger.revoke(here, permission.map(str::to_owned), pattern.map(str::to_owned)).await.unwrap();
        assert_eq!((gone, ledger.approvals(here).await.unwrap()), (all.len() - left.len(), left));
        let elsewhere = (PathBuf::from("/other"), all[0].clone());
        assert!(ledger.all_approvals().await.unwrap().contains(&elsewhere));
    }
    ledger.try_out().await.unwrap();
    assert_eq!(ledger.all_approvals().await.unwrap().len(), 1, "trying leaves nothing behind");
}

#[tokio::test]
async fn opening_a_ledger_that_is_there_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    drop(Ledger::open(dir.path()).unwrap());
    let ledger = Ledger::open(dir.path()).unwrap();
    let log = std::fs::metadata(dir.path().join("airlock.db-wal")).map_or(0, |m| m.len());
    assert_eq!(log, 0);
    ledger.try_out().await.unwrap();
}

#[tokio::test]
async fn the_newest_session_is_the_one_written_last() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (a, b) = (session("/w", 9), session("/w", 1));
    for (written, newest) in [(&a, &a), (&b, &b), (&b, &b), (&a, &a), (&b, &b)] {
        ledger.apply(vec![Change::Session(written.clone())]).await.unwrap();
        assert_eq!(ledger.latest(Path::new("/w")).await.unwrap().unwrap().id, newest.id);
    }
    let moved = Session { directory: "/v".into(), ..b.clone() };
    ledger.apply(vec![Change::Session(moved)]).await.unwrap();
    assert_eq!(ledger.latest(Path::new("/v")).await.unwrap().unwrap().id, b.id);
    assert_eq!(ledger.latest(Path::new("/w")).await.unwrap().unwrap().id, a.id);
}
