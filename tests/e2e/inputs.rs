//! What goes into a session: instructions, skills, commands, mentions, files; and the title that comes of it.

use serde_json::{Value, json};
use support::home::model_config;
use support::model_server::Received;
use support::{Home, ModelServer, Reply};

fn texts(request: &Received, role: &str) -> Vec<String> {
    let flat = |content: &Value| match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    };
    request.messages().iter().filter(|m| m["role"] == role).map(|m| flat(&m["content"])).collect()
}

fn tools(request: &Received) -> Vec<String> {
    let all = request.body["tools"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|t| t["function"]["name"].as_str().map(str::to_owned)).collect()
}

/// The law of the server sees to the prefix; what changed is told once.
#[test]
fn instructions_are_frozen_and_changes_are_told() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let home = Home::with_model(&server.base_url());
    home.file(".git/HEAD", "");
    home.file("AGENTS.md", "Speak softly.");
    let _ = home.run(&["First?"]).exits(0);
    home.file("AGENTS.md", "Speak loudly.");
    let _ = home.run(&["-c", "Second?"]).exits(0);
    let _ = home.run(&["-c", "Third?"]).exits(0);
    let requests = server.finish();
    assert!(texts(&requests[2], "system").concat().contains("Speak softly."));
    assert!(!texts(&requests[2], "system").concat().contains("loudly"));
    let users = texts(&requests[2], "user");
    assert!(users[1].contains("Speak loudly.") && users[1].contains("Second?"), "{users:?}");
    assert_eq!(users[2], "Third?");
}

#[test]
fn a_file_brings_the_instructions_near_it_along_once() {
    let server = ModelServer::start([
        Reply::calls(&[("c1", "read", json!({"filePath": "sub/a.txt"}))]),
        Reply::calls(&[("c2", "read", json!({"filePath": "sub/b.txt"}))]),
        Reply::text("done"),
    ]);
    let home = Home::with_model(&server.base_url());
    home.file(".git/HEAD", "");
    home.file("sub/AGENTS.md", "Only here: use tabs.");
    home.file("sub/a.txt", "a");
    home.file("sub/b.txt", "b");
    let _ = home.run(&["Read."]).exits(0);
    let requests = server.finish();
    let last = &requests[2];
    assert!(last.result("c1").is_some_and(|t| t.contains("use tabs") && t.contains("<system-reminder>")));
    assert!(last.result("c2").is_some_and(|t| !t.contains("use tabs")));
}

#[test]
fn a_skill_is_listed_and_loaded() {
    let server = ModelServer::start([Reply::calls(&[("c1", "skill", json!({"name": "deploy"}))]), Reply::text("done")]);
    let home = Home::with_model(&server.base_url());
    home.file(".git/HEAD", "");
    home.file(
        ".claude/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: How to deploy\n---\nPush the red button.",
    );
    home.file(".claude/skills/deploy/steps.txt", "1");
    home.file(".airlock/skills/broken/SKILL.md", "---\nname: [\n---\n");
    let run = home.run(&["Deploy."]).exits(0);
    assert!(run.stderr.contains("broken/SKILL.md"), "{}", run.stderr);
    let requests = server.finish();
    let system = texts(&requests[0], "system").concat();
    assert!(system.contains("- deploy: How to deploy") && !system.contains("red button"), "{system}");
    let loaded = requests[1].result("c1").expect("the skill");
    assert!(loaded.contains("red button") && loaded.contains("steps.txt"), "{loaded}");
}

#[test]
fn a_command_is_expanded_and_its_lines_pass_the_gate() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]).many_conversations();
    let home = Home::with_model(&server.base_url());
    home.file(".git/HEAD", "");
    home.file(
        ".opencode/command/greet.md",
        "---\ndescription: Greets\n---\nGreet $1 and $2, as !`echo marker-$1` says.",
    );
    let denied = home.airlock(&["run", "/greet Ann"]).exits(4);
    assert!(denied.stderr.contains("echo marker-Ann") && denied.stderr.contains("--allow"), "{}", denied.stderr);
    let _ = home.run(&["--allow", "bash:echo *", "/greet Ann \"Bob Cole\""]).exits(0);
    let _ = home.run(&["--allow", "bash:echo *", "--command", "greet", "Eve"]).exits(0);
    let unknown = home.airlock(&["run", "--command", "gret", "x"]).exits(2);
    assert!(unknown.stderr.contains("`greet`"), "{}", unknown.stderr);
    let listed = home.airlock(&["commands"]).exits(0);
    assert!(listed.stdout.contains("/greet") && listed.stdout.contains("/review"), "{}", listed.stdout);
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "a command that was refused asks no model");
    assert_eq!(texts(&requests[0], "user"), ["Greet Ann and Bob Cole, as marker-Ann says."]);
    assert_eq!(texts(&requests[1], "user"), ["Greet Eve and , as marker-Eve says."]);
}

#[test]
fn a_mention_is_read_by_the_read_tool_through_the_gate() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]).many_conversations();
    let home = Home::with_model(&server.base_url());
    home.file("notes.txt", "l1\nl2\nl3\nl4\n");
    home.file(".env", "KEY=1");
    let _ = home.run(&["Sum up @notes.txt#L2-3 for @nobody."]).exits(0);
    let _ = home.run(&["--deny", "read:notes.txt", "Sum up @notes.txt."]).exits(0);
    let asked = home.airlock(&["run", "What is in @.env?"]).exits(4);
    assert!(asked.stderr.contains(".env"), "{}", asked.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let first = texts(&requests[0], "user").concat();
    assert!(first.contains("2: l2") && first.contains("3: l3") && !first.contains("4: l4"), "{first}");
    let second = texts(&requests[1], "user").concat();
    assert!(second.contains("It failed:") && !second.contains("l1"), "{second}");
}

#[test]
fn a_prompt_without_a_reply_is_read_with_the_next_one() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = Home::with_model(&server.base_url());
    let noted = home.run(&["--no-reply", "Remember 4217."]).exits(0);
    assert_eq!((noted.result()["steps"].clone(), noted.result()["text"].clone()), (json!(0), json!("")));
    let ran = home.airlock(&["run", "-c", "--allow", "bash:echo *", "!echo from-the-shell"]).exits(0);
    assert_eq!(ran.stdout.trim(), "from-the-shell");
    let _ = home.run(&["-c", "Which number?"]).exits(0);
    let requests = server.finish();
    assert_eq!(requests.len(), 1);
    let users = texts(&requests[0], "user").join("\n");
    assert!(users.contains("4217") && users.contains("from-the-shell") && users.contains("Which number?"), "{users}");
}

/// For a session that goes on it writes down, meanwhile, what was talked about before.
#[test]
fn a_small_model_notes_what_a_session_was_about() {
    let server = ModelServer::start([]).many_conversations().by(|messages| {
        let asked = messages.last().map(|m| m.to_string()).unwrap_or_default();
        Reply::text(if asked.contains("<conversation>") { "It was about parsers." } else { "Done." })
    });
    let home = Home::new();
    home.config(&format!("small_model = \"mock/mock\"\n{}", model_config(&server.base_url())));
    let _ = home.run(&["--title", "t", "Fix the parser."]).exits(0);
    let first = home.airlock(&["session", "list", "--format", "json"]).exits(0).lines().remove(0);
    assert_eq!(first["summary"], json!(null), "a first run has its title");
    let run = home.run(&["--continue", "And the lexer."]).exits(0);
    let second = home.airlock(&["session", "list", "--format", "json"]).exits(0).lines().remove(0);
    assert_eq!((&second["summary"], &run.result()["steps"]), (&json!("It was about parsers."), &json!(1)));
    assert_eq!(server.finish().len(), 3);
}

#[test]
fn a_small_model_gives_the_title() {
    let server = ModelServer::start([]).many_conversations().by(|messages| {
        let is_title = messages[0]["content"].as_str().is_some_and(|s| s.contains("You write titles"));
        if is_title { Reply::text("A fine title") } else { Reply::text("done") }
    });
    let home = Home::new();
    home.config(&format!("small_model = \"mock/mock\"\n{}", model_config(&server.base_url())));
    let run = home.run(&["Do the thing."]).exits(0);
    assert_eq!(run.result()["text"], "done");
    let listed = home.airlock(&["session", "list"]).exits(0);
    assert!(listed.stdout.contains("A fine title"), "{}", listed.stdout);
    let _ = home.run(&["-c", "More."]).exits(0);
    let titles = server.requests().iter().filter(|r| texts(r, "system").concat().contains("You write titles")).count();
    assert_eq!(titles, 1, "a session is named once");
}

#[test]
fn a_model_made_for_patches_gets_the_patch_tool() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new/b.txt\n+b\n*** End Patch";
    let calls = || [Reply::calls(&[("c1", "apply_patch", json!({"patchText": patch}))]), Reply::text("done")];
    let server = ModelServer::start(calls());
    let home = Home::new();
    home.config(&model_config(&server.base_url()).replace("\"mock/mock\"", "\"mock/gpt-5-mock\""));
    home.file("a.txt", "one\n");
    let _ = home.run(&["--allow", "edit", "Patch."]).exits(0);
    assert_eq!((home.read("a.txt"), home.read("new/b.txt")), (b"two\n".to_vec(), b"b\n".to_vec()));
    let shown = tools(&server.finish()[0]);
    assert!(shown.contains(&"apply_patch".into()) && !shown.contains(&"edit".into()), "{shown:?}");

    let server = ModelServer::start(calls());
    let home = Home::new();
    home.config(&model_config(&server.base_url()).replace("\"mock/mock\"", "\"mock/gpt-5-mock\""));
    home.file("a.txt", "one\n");
    let refused = home.run(&["--allow", "edit:a.txt", "Patch."]).exits(4);
    assert_eq!(home.read("a.txt"), b"one\n", "one question for all files: a no is a no to the whole patch");
    assert!(refused.stderr.contains("new/b.txt"), "{}", refused.stderr);
}

/// The reviewer finds something once: the work goes on in the same session and is looked at again.
#[test]
fn a_reviewer_sends_the_work_back() {
    let server = ModelServer::start([]).many_conversations().by(|messages| {
        let text = serde_json::to_string(messages).unwrap_or_default();
        match (text.contains("You review the work"), text.contains("wrong in line 3")) {
            (true, false) if text.contains("first answer") => Reply::text(r#"{"problems": ["it is wrong in line 3"]}"#),
            (true, _) => Reply::text(r#"{"problems": []}"#),
            (false, true) => Reply::text("second answer"),
            (false, false) => Reply::text("first answer"),
        }
    });
    let home = Home::with_model(&server.base_url());
    let run = home.run(&["--review", "Do the thing."]).exits(0);
    assert_eq!(run.result()["text"], "second answer", "{run:?}");
    assert!(run.stderr.contains("it is wrong in line 3"), "{}", run.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(
        tools(&requests[1]).iter().all(|t| ["read", "glob", "grep"].contains(&t.as_str())),
        "a reviewer changes nothing"
    );
    assert!(texts(&requests[1], "user").concat().contains("Do the thing."));
}

/// What was mistyped is told, and not left to the model.
#[test]
fn what_names_nothing_is_told() {
    let home = Home::with_model("http://127.0.0.1:9/v1");
    home.file(".airlock/commands/review.md", "Review it.");
    for (prompt, words) in [
        ("/reveiw", ["no command `reveiw`", "Did you mean `review`?"]),
        ("/reveiw the parser", ["no command `reveiw`", "as it stands"]),
        ("/zzz", ["no command `zzz`", "airlock commands"]),
    ] {
        let run = home.airlock(&["run", prompt]).exits(2);
        assert!(words.iter().all(|w| run.stderr.contains(w)), "{prompt}: {}", run.stderr);
    }
    let server = ModelServer::start([]).forever(Reply::text("ok")).many_conversations();
    home.config(&support::home::model_config(&server.base_url()));
    home.file("there.txt", "x");
    for (prompt, told) in [
        ("/etc what is it?", None),
        ("/no/such/path what is it?", None),
        ("look at @gone.txt", Some("`@gone.txt` names no file")),
        ("look at @there.txt", None),
        ("mail to a@gone.txt", None),
    ] {
        let run = home.airlock(&["run", prompt]).exits(0);
        assert_eq!(run.stderr.contains("names no file"), told.is_some(), "{prompt}: {}", run.stderr);
        assert!(run.stderr.contains(told.unwrap_or_default()), "{prompt}: {}", run.stderr);
    }
}
