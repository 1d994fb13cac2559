//! Two owners in one process, on one machine, through the whole wiring: sessions, approvals, keys, secrets, outputs, records and calls.

use super::*;
use crate::cli::Permits;
use crate::config::Overrides;
use crate::config::agents;
use crate::config::keys::{Found, Keys};
use crate::config::providers::KNOWN;
use agent::{LoneCall, call_alone};
use model::budget::Tokens;
use model::egress::{Egress, Verdict};
use model::flow::Label;
use model::id::{CallId, SessionId};
use model::journal::Journal;
use model::owner::Owner;
use model::permission::{Action, Gate, Rule};
use model::provider::ModelRef;
use model::session::SessionTime;
use model::store::{Change, Kin};
use model::tool::{Progress, ProgressSink, ToolFailure, ToolOutput};
use runtime::caps::secrets::SecretSource;
use serde_json::json;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// One owner, at home, with a workspace.
struct Guest {
    ground: Ground,
    rooms: Rooms,
    canary: String,
}

struct Unheard;

impl ProgressSink for Unheard {
    fn update(&self, _: Progress) {}
}

impl EventSink for Unheard {
    fn emit(&self, _: model::event::Event) {}
}

impl Guest {
    async fn at(root: &Path, machine: &Arc<Machine>, name: &str) -> Self {
        let canary = format!("canary-of-{name}-0815");
        let environment = [("ANTHROPIC_API_KEY".to_owned(), canary.clone())].into_iter().collect();
        let paths = Paths::below(&root.join("homes"), Owner::parse(name).unwrap(), environment);
        let work = root.join("work").join(name);
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(work.join("mine.txt"), &canary).unwrap();
        Keys::add_secret(&paths.data, "token", &canary, vec!["api.example.com".into()]).unwrap();
        let ground = Ground::of_owner(paths, Some(&work), &Permits::default(), Overrides::default()).unwrap();
        let rooms = open_on(Arc::clone(machine), &ground, false).ready().await.unwrap();
        Self { ground, rooms, canary }
    }

    fn session(&self) -> Session {
        Session {
            id: SessionId::new(),
            parent_id: None,
            summary: None,
            labels: model::flow::Labels::default(),
            title: self.canary.clone(),
            directory: "/shared".into(),
            worktree: "/shared".into(),
            agent: "build".into(),
            model: ModelRef::parse("p/m").unwrap(),
            version: "0".into(),
            cost: 0.into(),
            tokens: Tokens::default(),
            time: SessionTime { created: 1, updated: 1 },
        }
    }

    fn request_as(&self, session: &SessionId) -> Egress {
        Egress {
            id: "1".into(),
            session: session.clone(),
            call: CallId::given("c"),
            tool: self.canary.clone(),
            component: "d".into(),
            time: 1,
            method: "GET".into(),
            host: "https://a.org".into(),
            secrets: vec![],
            verdict: Verdict::Sent,
            status: None,
            sent: 0,
            received: 0,
        }
    }

    async fn gate(&self) -> Arc<Gatekeeper> {
        let policy = policy(&self.ground, &agents::pick(&self.ground.config.agents, "build").unwrap());
        let hooks = hooks(&self.ground, &self.rooms).unwrap();
        gate(&self.ground, &self.rooms, policy, Arc::new(Nobody), Arc::new(Unheard), hooks).await.unwrap()
    }

    async fn read(&self, path: PathBuf) -> Result<ToolOutput, ToolFailure> {
        let policy = policy(&self.ground, &agents::pick(&self.ground.config.agents, "build").unwrap());
        let ports = lone_ports(&self.ground, &self.rooms, policy, Arc::new(Ready(Yes::Once)), Arc::new(Unheard));
        let call = LoneCall {
            tool: self.rooms.runtime.inspect("read").unwrap().tools[0].clone(),
            input: json!({ "filePath": path }),
            agent: "build".into(),
            directory: self.ground.place.directory.clone(),
            worktree: self.ground.place.worktree.clone(),
        };
        call_alone(call, ports.await.unwrap(), Arc::new(Unheard), CancellationToken::new()).await
    }

    fn mine(&self) -> PathBuf {
        self.ground.place.directory.join("mine.txt")
    }
}

fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    entries.flat_map(|p| if p.is_dir() { all_bytes(&p) } else { std::fs::read(&p).unwrap_or_default() }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_owners_see_nothing_of_each_other() {
    let root = tempfile::tempdir().unwrap();
    let (root, machine) = (root.path().canonicalize().unwrap(), Machine::new());
    let (ann, bob) = (Guest::at(&root, &machine, "ann").await, Guest::at(&root, &machine, "bob").await);
    let claude = KNOWN.iter().find(|k| k.id == "anthropic").unwrap();
    for (me, other) in [(&ann, &bob), (&bob, &ann)] {
        let (mine, theirs) = (me.session(), &other.rooms.ledger);
        let ledger = &me.rooms.ledger;
        ledger.apply(vec![Change::Session(mine.clone())]).await.unwrap();
        assert!(theirs.session(&mine.id).await.is_err());
        let listed = ledger.sessions(Kin::All, 9).await.unwrap();
        assert_eq!(listed.iter().map(|s| s.info.title.as_str()).collect::<Vec<_>>(), [&me.canary]);
        assert_eq!(ledger.latest(Path::new("/shared")).await.unwrap().unwrap().title, me.canary);
        // An approval for a place that both work in.
        let rule = Rule::new(&*me.canary, "*", Action::Allow);
        ledger.approve(Path::new("/shared"), std::slice::from_ref(&rule)).await.unwrap();
        assert_eq!(ledger.approvals(Path::new("/shared")).await.unwrap(), [rule]);
        let sent = SessionId::new();
        ledger.egress(me.request_as(&sent)).await.unwrap();
        assert_eq!(ledger.egress_of_calls().await.unwrap(), [me.request_as(&sent)]);
        // Keys and secrets.
        assert_eq!(me.ground.keys.find(claude), Some(Found::Variable("ANTHROPIC_API_KEY")));
        assert_eq!(me.ground.keys.secret("token").map(|(value, _)| value).as_ref(), Some(&me.canary));
        assert!(Declared::new(&me.ground.config, &me.ground.keys).find("token").is_some());
        // What one session read of taints nobody else's.
        let (gate, foreign) = (me.gate().await, other.gate().await);
        gate.taint(&mine.id, &[Label::Secret].into_iter().collect());
        assert!(!gate.labels(&mine.id).is_empty() && foreign.labels(&mine.id).is_empty());
    }
    // Outputs that were kept are there for their owner's components alone.
    let kept = ann.rooms.ledger.keep_output(&ann.canary).await.unwrap();
    assert!(ann.read(kept.clone()).await.unwrap().text.contains(&ann.canary));
    for path in [kept, ann.ground.paths.data.join("auth.json"), ann.ground.paths.data.join("airlock.db")] {
        let refused = bob.read(path).await.unwrap_err();
        assert!(refused.message.contains("belongs to the host") && !refused.message.contains("canary"), "{refused}");
    }
    // Many calls of both at once.
    let reads = (0..20).flat_map(|_| [&ann, &bob]).map(|me| async move {
        assert!(me.read(me.mine()).await.unwrap().text.contains(&me.canary));
    });
    futures::future::join_all(reads).await;
    for (me, other) in [(&ann, &bob), (&bob, &ann)] {
        let bytes = all_bytes(&root.join("homes").join(me.ground.paths.owner.as_str()));
        assert!(!bytes.windows(other.canary.len()).any(|w| w == other.canary.as_bytes()));
    }
}
