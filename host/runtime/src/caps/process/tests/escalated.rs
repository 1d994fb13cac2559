//! More than the sandbox gives: exactly what was said yes to, and nothing besides.

use super::*;
use crate::caps::process::escalation::opened;
use std::net::{TcpListener, UdpSocket};
use std::sync::Mutex;

fn network() -> Beyond {
    Beyond { network: true, ..Beyond::default() }
}

async fn run(place: &Place, beyond: &Beyond, line: &str) -> Outcome {
    let mut child = start(&opened(&place.sandbox(), beyond), place.line(line), place.walls).unwrap();
    Outcome::of(&mut child).await
}

#[tokio::test]
async fn the_network_is_open_and_all_else_is_not() {
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    for walls in strong_levels() {
        let place = Place::new(walls);
        std::fs::write(place.path("outside"), "o").unwrap();
        let outside = place.path("outside").display().to_string();
        for (line, works) in [
            (format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}"), true),
            (format!("echo x >/dev/udp/127.0.0.1/{udp_port}"), true),
            ("cat /etc/resolv.conf".into(), true),
            (format!("cat {outside}"), false),
            (format!("echo x > {outside}"), false),
            ("unshare -U true".into(), false),
        ] {
            let outcome = run(&place, &network(), &line).await;
            assert_eq!(outcome.exit == Exit::Code(0), works, "{line} {walls:?} {outcome:?}");
        }
        let shut = run(&place, &Beyond::default(), &format!("exec 3<>/dev/tcp/127.0.0.1/{tcp_port}")).await;
        assert_ne!(shut.exit, Exit::Code(0), "{walls:?}");
    }
}

#[tokio::test]
async fn one_more_folder_can_be_changed_and_no_other() {
    for walls in strong_levels() {
        let place = Place::new(walls);
        for folder in ["shared", "other"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        let beyond = Beyond { writable: vec![place.path("shared")], ..Beyond::default() };
        let line = |folder: &str| format!("echo x > {}", place.path(folder).join("made").display());
        assert_eq!(run(&place, &beyond, &line("shared")).await.exit, Exit::Code(0), "{walls:?}");
        assert_ne!(run(&place, &beyond, &line("other")).await.exit, Exit::Code(0), "{walls:?}");
        assert_ne!(run(&place, &Beyond::default(), &line("shared")).await.exit, Exit::Code(0), "{walls:?}");
    }
}

/// Says yes, and notes what to.
#[derive(Default)]
struct Noting(Mutex<Vec<Act>>);

#[async_trait]
impl Gate for Noting {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        Action::Ask
    }

    async fn permit(&self, _: &Actor, acts: &[Act], metadata: Value, _: &CancellationToken) -> Result<(), Denial> {
        if let Act::Escalate { line, beyond } = &acts[0] {
            assert_eq!(metadata["input"]["command"], **line);
            assert_eq!(metadata["opens"].as_array().map(Vec::len), Some(beyond.words().len()));
        }
        self.0.lock().unwrap().extend(acts.iter().cloned());
        Ok(())
    }
}

/// Starts a line through the funnel; what was asked for, and how it is held or why it did not start.
async fn asked(place: &Place, sandbox: &Sandbox, beyond: Beyond) -> (Vec<Act>, Result<Held, SpawnError>) {
    let gate = Arc::new(Noting::default());
    let actor = Actor { tool: "bash".into(), worktree: place.path("work"), ..nobody::actor() };
    let funnel = Funnel::new(actor, CallGrant::default(), gate.clone(), Arc::new(Nobody), CancellationToken::new());
    let started = spawn(&funnel, sandbox, Command { beyond, ..place.line("true") }).await;
    let acts = gate.0.lock().unwrap().clone();
    (acts, started.map(|child| child.held.clone()))
}

#[tokio::test]
async fn it_is_a_question_of_its_own_about_the_real_path() {
    let place = Place::new(level::walls());
    std::os::unix::fs::symlink(place.path("home"), place.path("work/link")).unwrap();
    let (acts, held) = asked(&place, &place.sandbox(), Beyond::default()).await;
    assert_eq!((acts.len(), held.unwrap().beyond), (1, Beyond::default()), "the line alone");
    let beyond = Beyond { writable: vec!["link".into(), "../home".into()], ..network() };
    let (acts, held) = asked(&place, &place.sandbox(), beyond).await;
    let real = Beyond { writable: vec![place.path("home")], ..network() };
    assert!(matches!(&acts[0], Act::Shell { .. }));
    assert_eq!(acts[1], Act::Escalate { line: "true".into(), beyond: real.clone() });
    assert_eq!(held.unwrap(), Held { level: detect(), beyond: real });
    let all = Beyond { unconfined: true, ..Beyond::default() };
    let (_, held) = asked(&place, &place.sandbox(), all.clone()).await;
    assert_eq!(held.unwrap(), Held { level: Level::None, beyond: all });
}

#[tokio::test]
async fn what_nobody_may_open_is_not_asked_for() {
    let place = Place::new(level::walls());
    let hidden = place.path("home/.config/airlock");
    std::fs::create_dir_all(&hidden).unwrap();
    let sandbox = Sandbox { hidden: vec![hidden.clone()], ..place.sandbox() };
    for path in [PathBuf::from("/"), "/proc/self".into(), "/dev".into(), hidden.clone(), place.path("home")] {
        let (acts, started) = asked(&place, &sandbox, Beyond { writable: vec![path.clone()], ..network() }).await;
        assert!(matches!(started, Err(SpawnError::Denied(_))), "{} {started:?}", path.display());
        assert_eq!(acts.len(), 1, "{}: only the line was asked for", path.display());
    }
    let (acts, started) = asked(&place, &sandbox, Beyond { writable: vec!["nowhere".into()], ..network() }).await;
    assert!(matches!(started, Err(SpawnError::NotFound(_))) && acts.len() == 1);
    let require = Sandbox { require: true, ..place.sandbox() };
    let (acts, started) = asked(&place, &require, Beyond { unconfined: true, ..Beyond::default() }).await;
    assert!(matches!(started, Err(SpawnError::Denied(why)) if why.contains("--require-sandbox")), "{acts:?}");
    assert_eq!(acts.len(), 1);
}
