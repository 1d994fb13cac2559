//! Field reports of storage and undo: the cases of area I. What is taken back, what is refused, many runs on one ledger, a large
//! session.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use support::cases::{Report, area};
use support::{Home, ModelServer, Reply};

#[test]
fn storage_and_undo() {
    let mut report = Report::default();
    for case in area("I") {
        let id = case["id"].as_str().unwrap_or("?").to_owned();
        let outcome = match (case["kind"].as_str(), id.as_str()) {
            (Some("revert"), _) => revert(&case),
            (_, "I1") => many_processes(&case),
            (_, "I5") => large_session(&case),
            (_, "I3") if !may_mount() => {
                // The store's own test holds the rest of it: `a_full_disk_is_said_and_loses_nothing`.
                report.leave_out(&id, "no small disk can be mounted here (user namespaces are off)");
                continue;
            }
            (_, "I3") => full_disk(&case),
            _ => Err("nobody knows how to play it".into()),
        };
        report.add(&id, outcome);
    }
    report.end("I");
}

fn ensure(is: bool, why: impl Into<String>) -> Result<(), String> {
    if is { Ok(()) } else { Err(why.into()) }
}

fn object(v: &Value) -> impl Iterator<Item = (&String, &str)> {
    v.as_object().into_iter().flatten().map(|(k, v)| (k, v.as_str().unwrap_or_default()))
}

/// The calls by which the model does its part; an edit reads first.
fn calls(case: &Value) -> Vec<Reply> {
    let mut all = vec![];
    let mut call = |tool: &str, input: Value| {
        let id = format!("call{}", all.len());
        all.push(Reply::calls(&[(&id, tool, input)]));
    };
    for deed in case["agent"].as_array().into_iter().flatten() {
        if let Some(path) = deed["edit"].as_str() {
            call("read", json!({"filePath": path}));
            call("edit", json!({"filePath": path, "oldString": deed["old"], "newString": deed["new"]}));
        } else {
            call("write", json!({"filePath": deed["write"], "content": deed["content"]}));
        }
    }
    all.push(Reply::text("Done."));
    all
}

fn revert(case: &Value) -> Result<(), String> {
    let home = Home::new();
    for (name, content) in object(&case["before"]) {
        home.file(name, content);
    }
    let server = ModelServer::start(calls(case));
    home.config(&support::home::model_config(&server.base_url()));
    let run = home.run(&["--yes", "Work."]);
    server.finish();
    ensure(run.code == 0, format!("the run ended with {}: {}", run.code, run.stderr))?;
    for deed in case["user"].as_array().into_iter().flatten() {
        home.file(deed["write"].as_str().unwrap_or("?"), deed["content"].as_str().unwrap_or(""));
    }
    if case["tamper"].is_string() {
        sql(&home, "DELETE FROM blob");
    }
    let id = run.result()["sessionID"].as_str().unwrap_or("").to_owned();
    let undo = home.airlock(&["session", "undo", &id]);
    let check = |expect: &Value| -> Result<(), String> {
        let refused = expect["refused"] == json!(true) || expect["refused_or_asked"] == json!(true);
        ensure((undo.code != 0) == refused, format!("undo ended with {}: {}", undo.code, undo.stderr))?;
        for (name, content) in object(&expect["files"]) {
            let found = String::from_utf8_lossy(&home.read(name)).into_owned();
            ensure(found == content, format!("{name} holds {found:?}"))?;
        }
        for name in expect["absent"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            ensure(!home.work().join(name).exists(), format!("{name} is still there"))?;
        }
        Ok(())
    };
    match case["expect_any"].as_array() {
        None => check(&case["expect"]),
        Some(any) => {
            let all: Vec<_> = any.iter().map(check).collect();
            ensure(all.iter().any(Result::is_ok), format!("{all:?}"))
        }
    }
}

/// Somebody else's hand in the ledger.
fn sql(home: &Home, statement: &str) {
    let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()";
    let done = Command::new("python3").args(["-c", script]).arg(ledger(home)).arg(statement).status();
    assert!(done.expect("python3").success(), "{statement}");
}

fn ledger(home: &Home) -> std::path::PathBuf {
    home.data_dir().join("airlock.db")
}

/// Many runs at once, and a stranger who holds the lock for a while.
fn many_processes(case: &Value) -> Result<(), String> {
    let steps = case["steps_each"].as_u64().unwrap_or(4);
    let processes = case["processes"].as_u64().unwrap_or(8);
    let hold = case["lock_holder_ms"].as_u64().unwrap_or(0);
    let server = ModelServer::start([]).many_conversations().by(move |messages| {
        let done = messages.iter().filter(|m| m["role"] == "tool").count() as u64;
        if done < steps {
            let id = format!("call{done}");
            Reply::calls(&[(&id, "write", json!({"filePath": format!("f{done}.txt"), "content": "x\n"}))])
        } else {
            Reply::text("Done.")
        }
    });
    let home = Home::with_model(&server.base_url());
    home.airlock(&["session", "list"]);
    let script = "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1],isolation_level=None); c.execute('BEGIN IMMEDIATE'); \
                  print('held',flush=True); time.sleep(float(sys.argv[2])/1000); c.execute('ROLLBACK')";
    let mut holder = Command::new("python3")
        .args(["-c", script])
        .arg(ledger(&home))
        .arg(hold.to_string())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().expect("its output")), &mut line)
        .map_err(|e| e.to_string())?;
    let runs: Vec<_> = (0..processes)
        .map(|i| {
            let dir = home.work().join(format!("w{i}"));
            std::fs::create_dir_all(&dir).expect("a folder");
            let mut command = home.command(&["run", "--format", "json", "--yes", "Work."]);
            command.current_dir(dir);
            std::thread::spawn(move || support::home::finish(command, b""))
        })
        .collect();
    let runs: Vec<_> = runs.into_iter().map(|r| r.join().expect("a run")).collect();
    let _ = holder.wait();
    for run in &runs {
        ensure(run.code == 0, format!("a run ended with {}: {}", run.code, run.stderr))?;
    }
    let list = home.airlock(&["session", "list", "--format", "json"]).lines();
    ensure(list.len() as u64 == processes, format!("{} sessions", list.len()))?;
    // The prompt, an answer a step, the last answer.
    let whole = list.iter().all(|l| l["messages"].as_u64() == Some(steps + 2));
    ensure(whole, format!("messages are lost: {list:?}"))
}

/// A session of many messages, made through import: listed and exported again as it was. Its times are a bench's matter.
fn large_session(case: &Value) -> Result<(), String> {
    let messages = case["generate"]["messages"].as_u64().unwrap_or(20_000);
    // The size is what it is for a quick test; the number of messages is the case's own.
    let home = Home::new();
    let path = home.work().join("large.json");
    write_large(&path, messages).map_err(|e| e.to_string())?;
    let import = home.airlock(&["session", "import", "large.json", "--format", "json"]);
    ensure(import.code == 0, import.stderr)?;
    let list = home.airlock(&["session", "list", "--format", "json"]).lines();
    ensure(list.len() == 1 && list[0]["messages"].as_u64() == Some(messages), "the list does not know it")?;
    let id = list[0]["id"].as_str().unwrap_or("").to_owned();
    let export = home.airlock(&["session", "export", &id]);
    let (there, back): (Value, Value) = (
        serde_json::from_str(&std::fs::read_to_string(&path).map_err(|e| e.to_string())?).map_err(|e| e.to_string())?,
        serde_json::from_str(&export.stdout).map_err(|e| e.to_string())?,
    );
    ensure(there == back, "the export is not what was imported")
}

fn write_large(path: &Path, messages: u64) -> std::io::Result<()> {
    use std::io::Write;
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let session = "ses_large";
    let tokens = json!({"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let model = json!({"providerID": "mock", "modelID": "mock"});
    let info = json!({"id": session, "title": "large", "directory": "/w", "worktree": "/w", "agent": "build", "model": model,
        "version": "0", "cost": 0.0, "tokens": tokens, "time": {"created": 1, "updated": 2}});
    write!(out, "{{\"info\":{info},\"messages\":[")?;
    for i in 0..messages {
        let id = format!("msg_{i}");
        let info = if i % 2 == 0 {
            json!({"role": "user", "id": id, "sessionID": session, "time": {"created": 1}, "agent": "build", "model": model})
        } else {
            json!({"role": "assistant", "id": id, "sessionID": session, "parentID": format!("msg_{}", i - 1),
                "time": {"created": 1, "completed": 2}, "providerID": "mock", "modelID": "mock", "agent": "build",
                "path": {"cwd": "/w", "root": "/w"}, "cost": 0.0, "tokens": tokens, "finish": "stop"})
        };
        let part = json!({"id": format!("prt_{i}"), "sessionID": session, "messageID": id, "type": "text", "text": "x".repeat(200)});
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}{}", json!({"info": info, "parts": [part]}))?;
    }
    write!(out, "]}}")?;
    out.flush()
}

/// Runs a shell line where mounts are its own.
fn apart(home: &Home, line: &str) -> Command {
    let mut c = Command::new("unshare");
    c.args(["-Urm", "sh", "-c", line]).env_clear().current_dir(home.work());
    for (name, value) in home.command(&["run"]).get_envs() {
        c.env(name, value.unwrap_or_default());
    }
    c.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    c
}

fn may_mount() -> bool {
    let home = Home::new();
    let tried = apart(&home, "mount -t tmpfs -o size=1m none .").output();
    cfg!(target_os = "linux") && tried.is_ok_and(|o| o.status.success())
}

/// The disk with the ledger is full in the middle of the second step. The run says so and ends; what was said before is there; once
/// there is room, the session goes on.
fn full_disk(case: &Value) -> Result<(), String> {
    ensure(case["fill_disk_at_step"] == 2, "another case than is played")?;
    let wait = "touch fill; until [ -e full ]; do sleep 0.05; done; seq 1 9000";
    let script = [
        Reply::calls(&[("c1", "bash", json!({"command": "echo one"}))]),
        Reply::calls(&[("c2", "bash", json!({"command": wait}))]),
    ];
    let server = ModelServer::start(script).forever(Reply::text("Done."));
    let home = Home::with_model(&server.base_url());
    let line = "set -e; mount -t tmpfs -o size=16m none \"$DATA\"; cp -a \"$KEPT\"/. \"$DATA\"
        (until [ -e fill ]; do sleep 0.05; done; dd if=/dev/zero of=\"$DATA/filler\" bs=4k 2>/dev/null || true; touch full) &
        \"$AIRLOCK\" run --format json --yes Work. >first 2>error && echo 0 >code || echo $? >code
        rm \"$DATA/filler\"
        id=$(sed -n '1s/.*\"sessionID\":\"\\([^\"]*\\)\".*/\\1/p' first)
        \"$AIRLOCK\" session export \"$id\" >between
        \"$AIRLOCK\" run --format json --yes --session \"$id\" 'Go on.' >second
        python3 -c 'import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute(\"PRAGMA integrity_check\").fetchone()[0])' \"$DATA/airlock.db\" >sound";
    let kept = home.path("kept");
    std::fs::create_dir_all(&kept).map_err(|e| e.to_string())?;
    for entry in std::fs::read_dir(home.data_dir()).map_err(|e| e.to_string())?.flatten() {
        std::fs::copy(entry.path(), kept.join(entry.file_name())).map_err(|e| e.to_string())?;
    }
    let mut command = apart(&home, line);
    command.env("DATA", home.data_dir()).env("KEPT", kept).env("AIRLOCK", support::home::binary());
    let run = support::home::finish(command, b"");
    let left = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap_or_default();
    ensure(run.code == 0, format!("the script ended with {}: {} {}", run.code, run.stderr, left("error")))?;
    ensure(left("code").trim() == "1", format!("the run ended with {}: {}", left("code"), left("error")))?;
    ensure(left("error").contains("full"), format!("it does not say that the disk is full: {}", left("error")))?;
    ensure(
        left("between").contains("\"text\":\"Work.\"") && left("between").contains("echo one"),
        "earlier messages are lost",
    )?;
    ensure(left("second").contains("\"text\":\"Done.\""), format!("it does not go on: {}", left("second")))?;
    ensure(left("sound").trim() == "ok", format!("the ledger is not sound: {}", left("sound")))
}
