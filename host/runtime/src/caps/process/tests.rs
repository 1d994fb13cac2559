//! Real programs. A test of a wall that this machine does not have says so and ends.

mod escalated;
mod left;
mod lifecycle;
mod walls;

use super::*;
use crate::nobody::{self, Nobody};
use async_trait::async_trait;
use model::grant::CallGrant;
use model::permission::{Action, Actor, Denial, Gate, Rule};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

struct Fixed(Action);

#[async_trait]
impl Gate for Fixed {
    fn decide(&self, _: &Actor, _: &Act) -> Action {
        self.0
    }

    async fn permit(&self, _: &Actor, acts: &[Act], _: Value, _: &CancellationToken) -> Result<(), Denial> {
        match (self.0, &acts[0]) {
            (Action::Allow, _) => Ok(()),
            (_, Act::Shell { line, .. }) => Err(Denial::Rule(Rule::new("bash", line, Action::Deny))),
            (_, Act::Exec { argv, .. }) => Err(Denial::Rule(Rule::new("exec", argv.join(" "), Action::Deny))),
            _ => Err(Denial::Unanswered),
        }
    }
}

fn funnel(action: Action, worktree: &Path) -> Funnel {
    let actor = Actor { tool: "bash".into(), worktree: worktree.into(), ..nobody::actor() };
    Funnel::new(actor, CallGrant::default(), Arc::new(Fixed(action)), Arc::new(Nobody), CancellationToken::new())
}

#[expect(clippy::disallowed_methods, reason = "the tester's own variables")]
fn testers() -> model::environment::Environment {
    std::env::vars().collect()
}

/// A place of its own for one test: a workspace, a home folder and a folder for outputs, side by side.
struct Place {
    root: TempDir,
    walls: Walls,
}

impl Place {
    fn new(walls: Walls) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work", "home", "outputs"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, walls }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn sandbox(&self) -> Sandbox {
        let mut sandbox = Sandbox::new(&self.path("work"), &self.path("outputs"));
        sandbox.belong_to(testers());
        Sandbox { home: Some(self.path("home")), ..sandbox }
    }

    fn command(&self, run: Target) -> Command {
        let timeout = Some(Duration::from_secs(20));
        Command {
            run,
            cwd: self.path("work"),
            env: vec![],
            stdin: None,
            timeout,
            keep_over: None,
            beyond: Beyond::default(),
        }
    }

    fn line(&self, line: &str) -> Command {
        self.command(Target::Shell(line.into()))
    }

    fn start(&self, command: Command) -> Result<Child, SpawnError> {
        start(&self.sandbox(), command, self.walls)
    }

    async fn run(&self, command: Command) -> Outcome {
        Outcome::of(&mut self.start(command).unwrap()).await
    }

    async fn sh(&self, line: &str) -> Outcome {
        self.run(self.line(line)).await
    }
}

#[derive(Debug)]
struct Outcome {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit: Exit,
    took: Duration,
}

impl Outcome {
    async fn of(child: &mut Child) -> Self {
        let begun = Instant::now();
        let (mut stdout, mut stderr) = (vec![], vec![]);
        loop {
            match child.next().await.expect("an exit comes before the end") {
                Event::Output(Channel::Stdout, bytes) => stdout.extend(bytes),
                Event::Output(Channel::Stderr, bytes) => stderr.extend(bytes),
                Event::Exited(exit) => {
                    assert_eq!(child.next().await, None, "the exit is the last event");
                    return Self { stdout, stderr, exit, took: begun.elapsed() };
                }
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

/// Processes of this machine whose command line holds a text that only one test uses.
fn running(marker: &str) -> Vec<String> {
    let lines = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(marker)).collect()
}

/// The combinations of walls to test: what this machine has, and the same without namespaces.
fn levels() -> Vec<Walls> {
    let walls = level::walls();
    let lower = walls.namespaces.then_some(Walls { namespaces: false, ..walls });
    std::iter::once(walls).chain(lower).collect()
}

/// As `levels`, of those at which every promise about the walls holds.
fn strong_levels() -> Vec<Walls> {
    let strong: Vec<_> = levels().into_iter().filter(|walls| walls.level() >= Level::Strong).collect();
    if strong.is_empty() {
        println!("skipped: the sandbox here is {}", detect());
    }
    strong
}
