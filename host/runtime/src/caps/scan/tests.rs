use super::*;
use crate::nobody::Nobody;
use async_trait::async_trait;
use model::grant::CallGrant;
use model::id::{CallId, MessageId, SessionId};
use model::journal::{EntryId, Journal, Seen};
use model::permission::Actor;
use std::collections::HashMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Memory {
    acts: Mutex<Vec<(Entry, Option<Image>)>>,
    contents: Mutex<HashMap<String, Vec<u8>>>,
}

#[async_trait]
impl Journal for Memory {
    async fn keep(&self, hash: &str, content: Vec<u8>) -> Result<(), JournalError> {
        self.contents.lock().unwrap().insert(hash.into(), content);
        Ok(())
    }
    async fn begin(&self, entry: Entry) -> Result<EntryId, JournalError> {
        let mut acts = self.acts.lock().unwrap();
        acts.push((entry, None));
        Ok(EntryId(acts.len() as i64 - 1))
    }
    async fn finish(&self, id: EntryId, after: Image) -> Result<(), JournalError> {
        self.acts.lock().unwrap()[id.0 as usize].1 = Some(after);
        Ok(())
    }
    async fn seen(&self, _: &SessionId, _: &Path) -> Result<Option<Seen>, JournalError> {
        Ok(None)
    }
    async fn mark_seen(&self, _: &SessionId, _: &Path, _: Seen) -> Result<(), JournalError> {
        Ok(())
    }
}

struct Scene {
    root: PathBuf,
    journal: Arc<Memory>,
    scanner: Arc<Scanner>,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, content) in files {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), content).unwrap();
        }
        Self { root, journal: Arc::default(), scanner: Arc::default(), _dir: dir }
    }

    /// The journal's lines and what was not covered, after `program` ran.
    async fn run(&self, own: &[&str], program: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>) {
        let actor = Actor {
            session: SessionId::new(),
            message: MessageId::new(),
            call: CallId::given("c"),
            agent: "build".into(),
            tool: "bash".into(),
            worktree: self.root.clone(),
        };
        let journal: Arc<dyn Journal> = self.journal.clone();
        let gate = Arc::new(Nobody);
        let funnel = Funnel::new(actor, CallGrant::default(), gate, journal, CancellationToken::new());
        let hidden = vec![self.root.join("hidden")];
        let watch = Arc::new(Watch::new(self.scanner.clone(), vec![self.root.clone()], hidden));
        watch.before().await;
        program(&self.root);
        let own = own.iter().map(|name| self.root.join(name)).collect();
        let report = watch.after(&funnel, &own).await.unwrap();
        assert!(watch.after(&funnel, &HashSet::new()).await.is_none(), "once a call");
        let lines = self.lines();
        assert_eq!(report["changed"], lines.len());
        (lines, serde_json::from_value(report["uncovered"].clone()).unwrap())
    }

    fn lines(&self) -> Vec<String> {
        let contents = self.journal.contents.lock().unwrap();
        let show = |image: &Image| match image {
            Image::File { hash, mode, kept: true, .. } => {
                format!("`{}` {mode:o}", String::from_utf8_lossy(&contents[hash]))
            }
            Image::File { .. } => "unkept".into(),
            Image::Absent => "-".into(),
            Image::Folder => "folder".into(),
            Image::Link { target } => target.display().to_string(),
            Image::Special => "special".into(),
        };
        let mut acts = self.journal.acts.lock().unwrap();
        let line = |(e, after): (Entry, Option<Image>)| {
            let path = e.path.strip_prefix(&self.root).unwrap().display();
            format!("{:?} {path} {} → {}", e.op, show(&e.before), show(&after.unwrap()))
        };
        acts.drain(..).map(line).collect()
    }
}

fn mode(path: PathBuf, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}

#[tokio::test]
async fn what_a_program_changed_is_journalled_with_before_and_after() {
    let s = Scene::new(&[("a", "1"), ("gone", "g"), ("same", "s"), ("run", "r"), ("d/x", "x")]);
    for name in ["a", "gone", "run", "d/x"] {
        mode(s.root.join(name), 0o644);
    }
    let (lines, uncovered) = s
        .run(&[], |root| {
            std::fs::write(root.join("a"), "2").unwrap();
            std::fs::remove_file(root.join("gone")).unwrap();
            mode(root.join("run"), 0o755);
            std::fs::remove_dir_all(root.join("d")).unwrap();
            std::fs::create_dir(root.join("e")).unwrap();
            std::fs::write(root.join("e/new"), "n").unwrap();
            mode(root.join("e/new"), 0o600);
            symlink("a", root.join("link")).unwrap();
            std::fs::write(root.join("same"), "s").unwrap();
        })
        .await;
    assert_eq!(
        lines,
        [
            "Write a `1` 644 → `2` 644",
            "RemoveFolder d folder → -",
            "Unlink d/x `x` 644 → -",
            "Unlink gone `g` 644 → -",
            "Write run `r` 644 → `r` 755",
            "MakeFolder e - → folder",
            "Create e/new - → `n` 600",
            "Symlink link - → a",
        ]
    );
    assert_eq!(uncovered, [""; 0]);
    // The next call sees what this one left.
    let (lines, _) = s.run(&[], |root| std::fs::write(root.join("a"), "3").unwrap()).await;
    assert_eq!(lines, ["Write a `2` 644 → `3` 644"]);
}

#[tokio::test]
async fn what_is_left_out_is_said() {
    let large = "x".repeat(spool::KEEP as usize + 1);
    let s = Scene::new(&[
        (".gitignore", "target\n"),
        ("target/o", "1"),
        (".git/HEAD", "1"),
        ("hidden/h", "1"),
        ("large", &large),
    ]);
    let (lines, uncovered) = s
        .run(&[], |root| {
            for name in ["target/o", ".git/HEAD", "hidden/h", "large"] {
                std::fs::write(root.join(name), "2").unwrap();
            }
        })
        .await;
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("Write large unkept → `2`"), "{lines:?}");
    for word in [".git", "ignore files", "old content of 1 files"] {
        assert!(uncovered.iter().any(|line| line.contains(word)), "{word}: {uncovered:?}");
    }
}

/// What was ignored before may have been there: it is not taken for new, so that no undo removes it.
#[tokio::test]
async fn what_is_ignored_no_longer_is_not_new() {
    let s = Scene::new(&[(".gitignore", "mine\n"), ("mine", "precious")]);
    let (lines, uncovered) = s.run(&[], |root| std::fs::write(root.join(".gitignore"), "").unwrap()).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("Write .gitignore"), "{lines:?}");
    assert!(uncovered.iter().any(|line| line.contains("1 paths that may be new")), "{uncovered:?}");
    // What is ignored from now on has not gone.
    let (lines, _) = s.run(&[], |root| std::fs::write(root.join(".gitignore"), "mine\n").unwrap()).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[tokio::test]
async fn what_the_call_wrote_itself_is_noted_once() {
    let s = Scene::new(&[("a", "1"), ("b", "1")]);
    let (lines, _) = s
        .run(&["a"], |root| {
            std::fs::write(root.join("a"), "2").unwrap();
            std::fs::write(root.join("b"), "2").unwrap();
        })
        .await;
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("Write b"), "{lines:?}");
}
