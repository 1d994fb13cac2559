use super::*;
use model::budget::CacheTokens;
use model::id::{MessageId, PartId};
use model::message::{AssistantMessage, FinishReason, Message, Part, PartBody, Paths, Turn};
use model::session::{Session, SessionTime};
use model::store::{Change, Store};
use serde_json::Map;

fn session(parent: Option<&Session>) -> Session {
    Session {
        id: SessionId::new(),
        parent_id: parent.map(|p| p.id.clone()),
        summary: None,
        labels: model::flow::Labels::default(),
        title: String::new(),
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

fn tokens(n: u64) -> Tokens {
    Tokens { input: n, output: 1, reasoning: 2, cache: CacheTokens { read: 3, write: 4 } }
}

/// A message with one finished request for each cost.
fn asked(session: &Session, agent: &str, model: &str, costs: &[&str]) -> Vec<Change> {
    let id = MessageId::new();
    let model = ModelRef::parse(model).unwrap();
    let message = AssistantMessage {
        id: id.clone(),
        session_id: session.id.clone(),
        parent_id: MessageId::new(),
        time: Turn { created: 1, completed: None },
        provider_id: model.provider,
        model_id: model.model,
        agent: agent.into(),
        path: Paths { cwd: "/w".into(), root: "/w".into() },
        cost: 0.into(),
        tokens: Tokens::default(),
        finish: None,
        error: None,
        summary: false,
    };
    let part = |cost: &&str| {
        let cost = cost.parse().unwrap();
        let body = StepFinishPart { reason: FinishReason::Stop, cost, tokens: tokens(10), metadata: Map::new() };
        let (session_id, message_id) = (session.id.clone(), id.clone());
        Change::Part(Part { id: PartId::new(), session_id, message_id, body: PartBody::StepFinish(body) })
    };
    let parts: Vec<_> = costs.iter().map(part).collect();
    [Change::Message(Message::Assistant(Box::new(message)))].into_iter().chain(parts).collect()
}

#[tokio::test]
async fn it_is_added_up_by_session_agent_and_model() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (a, other) = (session(None), session(None));
    let child = session(Some(&a));
    let grandchild = session(Some(&child));
    let all = [&a, &child, &grandchild, &other].map(|s| Change::Session(s.clone()));
    ledger.apply(all.into()).await.unwrap();
    for changes in [
        asked(&a, "build", "p/m", &["0.1", "0.2"]),
        asked(&a, "build", "p/m", &["0.3"]),
        asked(&a, "plan", "p/m", &["1"]),
        asked(&a, "build", "q/m/n", &["2"]),
        asked(&grandchild, "build", "p/m", &["4"]),
        asked(&other, "build", "p/m", &["8"]),
    ] {
        ledger.apply(changes).await.unwrap();
    }
    let of = async |root: Option<&Session>| {
        let mut found = ledger.spending(root.map(|r| &r.id)).await.unwrap();
        found.sort_by_key(|s| s.cost);
        found
    };
    let family = of(Some(&a)).await;
    let costs: Vec<String> = family.iter().map(|s| s.cost.normalize().to_string()).collect();
    // Three tenths are three tenths.
    assert_eq!(costs, ["0.6", "1", "2", "4"]);
    assert_eq!((family[0].steps, family[0].tokens.input, family[0].tokens.total()), (3, 30, 60));
    assert_eq!((family[1].agent.as_str(), family[2].model.to_string()), ("plan", "q/m/n".to_owned()));
    assert_eq!(family[3].session, grandchild.id);
    assert_eq!(of(Some(&child)).await.len(), 1);
    assert_eq!(of(None).await.len(), 5);
    assert!(of(Some(&session(None))).await.is_empty());
}
