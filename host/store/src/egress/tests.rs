use super::*;
use model::budget::Tokens;
use model::egress::Verdict;
use model::id::CallId;
use model::journal::Journal;
use model::provider::ModelRef;
use model::session::{Session, SessionTime};
use model::store::{Change, Store};

fn session(parent: Option<&Session>) -> Session {
    Session {
        id: SessionId::new(),
        parent_id: parent.map(|p| p.id.clone()),
        title: String::new(),
        summary: None,
        labels: model::flow::Labels::default(),
        directory: "/w".into(),
        worktree: "/w".into(),
        agent: "build".into(),
        model: ModelRef::parse("p/m").unwrap(),
        version: "0".into(),
        cost: 0.into(),
        tokens: Tokens::default(),
        time: SessionTime { created: 1, updated: 1 },
    }
}

fn record(id: &str, of: &Session, received: u64) -> Egress {
    Egress {
        id: id.into(),
        session: of.id.clone(),
        call: CallId::given("c"),
        tool: "webfetch".into(),
        component: "d".into(),
        time: 1,
        method: "GET".into(),
        host: "https://a.org".into(),
        secrets: vec!["token".into()],
        verdict: Verdict::Sent,
        status: Some(200),
        sent: 0,
        received,
    }
}

#[tokio::test]
async fn a_family_has_its_requests_in_order_and_each_once() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let parent = session(None);
    let (child, other) = (session(Some(&parent)), session(None));
    for s in [&parent, &child, &other] {
        ledger.apply(vec![Change::Session(s.clone())]).await.unwrap();
    }
    for (id, of, received) in [("2", &parent, 0), ("1", &child, 3), ("3", &other, 5), ("2", &parent, 7)] {
        ledger.egress(record(id, of, received)).await.unwrap();
    }
    let of = async |s: &Session| ledger.egress_of(&s.id).await.unwrap();
    assert_eq!(of(&parent).await, [record("2", &parent, 7), record("1", &child, 3)]);
    assert_eq!(of(&child).await, [record("1", &child, 3)]);
    ledger.delete(&parent.id).await.unwrap();
    assert_eq!((of(&parent).await, of(&child).await), (vec![], vec![]));
    assert_eq!(of(&other).await.len(), 1);
}

/// Calls that a person made by themselves, beside a session with requests of its own.
#[tokio::test]
async fn calls_without_a_session_have_theirs_and_keep_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (mine, call) = (session(None), session(None));
    ledger.apply(vec![Change::Session(mine.clone())]).await.unwrap();
    ledger.egress(record("s", &mine, 1)).await.unwrap();
    ledger.egress(record("1", &call, 2)).await.unwrap();
    assert_eq!(ledger.egress_of_calls().await.unwrap(), [record("1", &call, 2)]);
    let many: Vec<_> = (2..=KEPT + 3).map(|n| record(&n.to_string(), &call, 0)).collect();
    let all = many.clone();
    let put = move |tx: &Transaction<'_>| all.iter().try_for_each(|r| note(tx, r));
    ledger.write("put", put).await.unwrap();
    let rows = |db: &Connection| db.query_row("SELECT count(*) FROM egress", [], |r| r.get::<_, i64>(0));
    assert_eq!(ledger.read("count", rows).await.unwrap(), KEPT + 1);
    let kept = ledger.egress_of_calls().await.unwrap();
    assert_eq!((kept.len() as i64, kept.first(), kept.last()), (KEPT, many.get(2), many.last()));
    assert_eq!(ledger.egress_of(&mine.id).await.unwrap().len(), 1, "a session keeps its own");
}
