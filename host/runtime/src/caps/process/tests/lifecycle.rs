//! Starting, output, ends, time-outs and kills (the shell cases F1 to F15 at this level).

use super::*;

/// Runs a line with a time-out and compares its exit and what its standard output must hold.
async fn check(line: &str, timeout_ms: u64, exit: Exit, holds: &str, within_ms: u64) {
    for walls in levels() {
        let place = Place::new(walls);
        let timeout = Some(Duration::from_millis(timeout_ms));
        let outcome = place.run(Command { timeout, ..place.line(line) }).await;
        assert_eq!(outcome.exit, exit, "{line} {walls:?} {outcome:?}");
        let text = String::from_utf8_lossy(&outcome.stdout);
        assert!(text.contains(holds), "{line} {walls:?} {outcome:?}");
        assert!(outcome.took < Duration::from_millis(within_ms), "{line} {walls:?} took {:?}", outcome.took);
    }
}

#[tokio::test]
async fn exits_are_exact() {
    for (line, exit, holds) in [
        ("true", Exit::Code(0), ""),
        ("exit 42", Exit::Code(42), ""),
        ("no_such_cmd_zz", Exit::Code(127), ""),
        ("false | true", Exit::Code(0), ""),
        ("sh -c 'kill -9 $$'; echo rc=$?", Exit::Code(0), "rc=137"),
        ("kill -TERM $$", Exit::Signal(15), ""),
        ("kill -KILL $$", Exit::Signal(9), ""),
        ("echo out; echo err >&2; exit 2", Exit::Code(2), "out"),
    ] {
        check(line, 20_000, exit, holds, 5_000).await;
    }
}

#[tokio::test]
async fn there_is_no_input_and_no_terminal() {
    for (line, holds) in [
        ("cat; echo after=$?", "after=0"),
        ("read x; echo rc=$?", "rc=1"),
        ("test -t 0 && echo tty || echo notty", "notty"),
        ("(: </dev/tty) 2>/dev/null && echo hastty || echo nocontrol", "nocontrol"),
    ] {
        check(line, 20_000, Exit::Code(0), holds, 3_000).await;
    }
}

#[tokio::test]
async fn background_processes_delay_nothing_and_die() {
    for (line, holds, within) in [
        ("sleep 7101 & echo done", "done", 3_000),
        ("sleep 7101 >/dev/null & echo done2", "done2", 3_000),
        ("nohup sleep 7101 & sleep 1; echo third", "third", 4_000),
        ("setsid sleep 7101 & sleep 0.2; echo fourth", "fourth", 3_000),
        ("(setsid sh -c 'sleep 7101 & exec sleep 7101' &) ; sleep 0.2; echo fifth", "fifth", 3_000),
        ("yes & echo sixth", "sixth", 3_000),
    ] {
        check(line, 20_000, Exit::Code(0), holds, within).await;
        assert_eq!(running("sleep 7101"), [""; 0], "{line}");
    }
}

#[tokio::test]
async fn a_time_out_ends_the_whole_tree() {
    for (line, holds) in
        [("sleep 7201 | sleep 7201", ""), ("echo begun; setsid sleep 7201 & sleep 7201", "begun"), ("yes", "y\ny\n")]
    {
        check(line, 500, Exit::TimedOut, holds, 3_000).await;
        assert_eq!(running("sleep 7201"), [""; 0], "{line}");
    }
}

#[tokio::test]
async fn a_time_out_stands_though_nobody_reads() {
    for walls in levels() {
        let place = Place::new(walls);
        let timeout = Some(Duration::from_millis(100));
        let mut child = place.start(Command { timeout, ..place.line("echo x; exec sleep 7251") }).unwrap();
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert_eq!(running("sleep 7251"), [""; 0]);
        let outcome = Outcome::of(&mut child).await;
        assert_eq!((outcome.exit, outcome.text().as_str()), (Exit::TimedOut, "x\n"));
    }
}

#[tokio::test]
async fn what_was_to_happen_after_a_time_out_does_not() {
    for walls in levels() {
        let place = Place::new(walls);
        let line = "(sleep 2; echo x > late.txt) & echo begun; sleep 60";
        let outcome = place.run(Command { timeout: Some(Duration::from_millis(300)), ..place.line(line) }).await;
        assert_eq!((outcome.exit, outcome.text().as_str()), (Exit::TimedOut, "begun\n"));
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert!(!place.path("work/late.txt").exists());
    }
}

#[tokio::test]
async fn a_program_may_tidy_up_when_its_time_is_over() {
    let line = "trap 'echo tidied; exit 0' TERM; echo begun; while :; do sleep 0.05; done";
    check(line, 500, Exit::TimedOut, "tidied", 3_000).await;
}

#[tokio::test]
async fn a_program_that_ignores_term_is_killed_after_the_grace() {
    for walls in levels() {
        let place = Place::new(walls);
        let line = "trap '' TERM; echo begun; while :; do sleep 0.1; done";
        let outcome = place.run(Command { timeout: Some(Duration::from_millis(300)), ..place.line(line) }).await;
        assert_eq!(outcome.exit, Exit::TimedOut);
        let took = outcome.took;
        assert!(took > Duration::from_millis(3_200) && took < Duration::from_millis(4_500), "{took:?}");
    }
}

#[tokio::test]
async fn a_kill_ends_in_time_and_keeps_what_was_printed() {
    for walls in levels() {
        for line in
            ["echo started; sleep 7301 & setsid sleep 7301", "trap '' TERM; echo started; while :; do sleep 7301; done"]
        {
            let place = Place::new(walls);
            let mut child = place.start(place.line(line)).unwrap();
            assert_eq!(child.next().await, Some(Event::Output(Channel::Stdout, b"started\n".to_vec())));
            let begun = Instant::now();
            child.kill().await;
            assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
            assert_eq!(running("sleep 7301"), [""; 0]);
            assert_eq!(child.next().await, Some(Event::Exited(Exit::Killed)));
            assert_eq!(child.next().await, None);
        }
    }
}

#[tokio::test]
async fn dropping_a_child_kills_before_it_returns() {
    for walls in levels() {
        let place = Place::new(walls);
        let mut child = place.start(place.line("echo started; sleep 7401 & setsid sleep 7401 & sleep 7401")).unwrap();
        assert!(matches!(child.next().await, Some(Event::Output(..))));
        let begun = Instant::now();
        drop(child);
        assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
        assert_eq!(running("sleep 7401"), [""; 0]);
    }
}

#[tokio::test]
async fn output_that_nobody_fetched_in_time_is_still_there() {
    for walls in levels() {
        let place = Place::new(walls);
        let mut child = place
            .start(place.line("head -c 50000 /dev/zero; head -c 50000 /dev/zero >&2; sleep 7501 & exit 3"))
            .unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        let outcome = Outcome::of(&mut child).await;
        assert_eq!((outcome.stdout.len(), outcome.stderr.len(), outcome.exit), (50_000, 50_000, Exit::Code(3)));
    }
}

#[tokio::test]
async fn bytes_pass_as_they_are() {
    for walls in levels() {
        let place = Place::new(walls);
        assert_eq!(place.sh("printf 'a\\000b\\377c\\n'").await.stdout, b"a\0b\xffc\n");
        assert_eq!(place.sh("printf '\\355\\240\\275\\n'").await.stdout, b"\xed\xa0\xbd\n");
        let stdin = Some(b"in\0\xff".to_vec());
        assert_eq!(place.run(Command { stdin, ..place.line("cat") }).await.stdout, b"in\0\xff");
    }
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_flood_passes_in_bounded_memory() {
    let place = Place::new(level::walls());
    let command = Command { keep_over: Some(50_000), ..place.line("head -c 200000000 /dev/zero | tr '\\0' 'a'") };
    let (before, mut most, mut total) = (resident_kb(), 0, 0);
    let mut child = place.start(Command { timeout: Some(Duration::from_secs(60)), ..command }).unwrap();
    loop {
        match child.next().await.unwrap() {
            Event::Output(_, bytes) => total += bytes.len(),
            Event::Exited(exit) => break assert_eq!(exit, Exit::Code(0)),
        }
        if total % 97 == 0 {
            most = most.max(resident_kb());
        }
    }
    assert_eq!(total, 200_000_000);
    assert!(most.saturating_sub(before) < 50_000, "grew by {} KB", most - before);
    let kept = child.kept().unwrap().to_owned();
    assert!(kept.starts_with(place.path("outputs")));
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 200_000_000);
}

#[tokio::test]
async fn short_output_is_not_kept() {
    let place = Place::new(level::walls());
    let mut child = place.start(Command { keep_over: Some(100), ..place.line("echo short") }).unwrap();
    Outcome::of(&mut child).await;
    assert_eq!(child.kept(), None);
}

#[tokio::test]
async fn a_program_without_a_shell_gets_its_arguments_letter_by_letter() {
    for walls in levels() {
        let place = Place::new(walls);
        let argv = ["printf", "%s|", "a b", "$HOME", "*"].map(String::from).to_vec();
        assert_eq!(place.run(place.command(Target::Argv(argv))).await.text(), "a b|$HOME|*|");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let place = Place::new(level::walls());
    for argv in [vec!["no_such_program_zz".to_owned()], vec!["./none".into()], vec![]] {
        let started = place.start(place.command(Target::Argv(argv.clone())));
        assert!(matches!(started, Err(SpawnError::NotFound(_))), "{argv:?}");
    }
    let elsewhere = Command { cwd: place.path("nowhere"), ..place.line("true") };
    assert!(matches!(place.start(elsewhere), Err(SpawnError::NotFound(_))));
}

#[tokio::test]
async fn a_program_that_cannot_be_run_fails_at_once() {
    use std::os::unix::fs::PermissionsExt;
    for walls in levels() {
        let place = Place::new(walls);
        let file = place.path("work/not-a-program");
        std::fs::write(&file, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let begun = Instant::now();
        let started = place.start(place.command(Target::Argv(vec!["./not-a-program".into()])));
        assert!(matches!(started, Err(SpawnError::Failed(_))));
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test]
async fn the_gate_is_asked_first() {
    let place = Place::new(level::walls());
    let refusing = funnel(Action::Deny, &place.path("work"));
    for run in [Target::Shell("touch made".into()), Target::Argv(vec!["touch".into(), "made".into()])] {
        let spawned = spawn(&refusing, &place.sandbox(), place.command(run)).await;
        assert!(matches!(spawned, Err(SpawnError::Denied(why)) if why.contains("touch made")));
    }
    assert!(!place.path("work/made").exists());
    let allowing = funnel(Action::Allow, &place.path("work"));
    let mut child = spawn(&allowing, &place.sandbox(), place.line("touch made")).await.unwrap();
    assert_eq!(Outcome::of(&mut child).await.exit, Exit::Code(0));
    assert!(place.path("work/made").exists());
}
