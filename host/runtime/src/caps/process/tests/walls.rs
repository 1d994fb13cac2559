//! What a program must not be able to do, and what it must.

use super::*;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

const UNCONFINED: Walls = Walls { landlock: 0, seccomp: false, namespaces: false };

/// A place with files that a program might look for.
fn furnished(walls: Walls) -> Place {
    let place = Place::new(walls);
    for (file, content) in [
        ("outside", "o"),
        ("home/.ssh/id", "secret"),
        ("home/.cargo/credentials.toml", "secret"),
        ("home/.gitconfig", "[user]\n"),
        ("home/.config/gh/hosts.yml", "secret"),
        ("work/.git/hooks/post-commit", "#!/bin/sh\n"),
        ("work/.git/config", "[core]\n"),
    ] {
        std::fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
        std::fs::write(place.path(file), content).unwrap();
    }
    place
}

async fn outcome_at(walls: Walls, line: &str) -> Outcome {
    let place = furnished(walls);
    place.sh(&line.replace("ROOT", &place.path("").display().to_string())).await
}

/// The line fails behind these walls, and works without any: so a typo is no wall.
async fn check_refused_at(levels: Vec<Walls>, line: &str) {
    for walls in levels {
        let outcome = outcome_at(walls, line).await;
        assert!(matches!(outcome.exit, Exit::Code(1..)), "{line} {}: {outcome:?}", walls.level());
        let outcome = outcome_at(UNCONFINED, line).await;
        assert_eq!(outcome.exit, Exit::Code(0), "{line} unconfined: {outcome:?}");
    }
}

async fn check_refused(line: &str) {
    check_refused_at(strong_levels(), line).await;
}

async fn check_allowed(line: &str) {
    for walls in levels() {
        let outcome = outcome_at(walls, line).await;
        assert_eq!(outcome.exit, Exit::Code(0), "{line} {}: {outcome:?}", walls.level());
    }
}

#[tokio::test]
async fn files_outside_are_out_of_reach() {
    for line in [
        "echo x > ROOT/new",
        "echo x > ROOT/outside",
        "rm ROOT/outside",
        "mv ROOT/outside .",
        "ln ROOT/outside .",
        "cat ROOT/outside",
        "ln -s ROOT/outside link && cat link",
        "ls ROOT",
        "echo x > ROOT/home/new",
        "cat ROOT/home/.ssh/id",
        "cat ROOT/home/.cargo/credentials.toml",
        "cat ROOT/home/.config/gh/hosts.yml",
        "ls ROOT/home",
    ] {
        check_refused(line).await;
    }
}

/// What a grant leaves out of a folder binds programs too: they do not see it, or they do not run.
#[tokio::test]
async fn what_the_grant_leaves_out_is_hidden_or_nothing_runs() {
    for walls in levels() {
        let place = furnished(walls);
        for file in ["work/kept/secret", "work/alone", "work/open"] {
            std::fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
            std::fs::write(place.path(file), "private").unwrap();
        }
        let sandbox = Sandbox { except: vec![place.path("work/kept"), place.path("work/alone")], ..place.sandbox() };
        let started = |line: &str, cwd: &str| {
            let command = Command { cwd: place.path(cwd), ..place.line(line) };
            begin(&sandbox, command, walls)
        };
        let denied = |started: Result<Child, SpawnError>| matches!(started, Err(SpawnError::Denied(w)) if w.contains("left out"));
        assert!(denied(started("cat secret", "work/kept").await), "{walls:?}");
        if !walls.namespaces {
            assert!(denied(started("true", "work").await), "{walls:?}");
            continue;
        }
        for (line, works) in [
            ("cat kept/secret", false),
            ("echo x > kept/new", false),
            ("grep private alone", false),
            ("mv kept away && cat away/secret", false),
            ("ln alone second && grep private second", false),
            ("grep private open", true),
        ] {
            let outcome = Outcome::of(&mut started(line, "work").await.unwrap()).await;
            assert_eq!(outcome.exit == Exit::Code(0), works, "{line} {outcome:?}");
        }
        assert_eq!(std::fs::read(place.path("work/kept/secret")).unwrap(), b"private");
        let all = Beyond { unconfined: true, ..Beyond::default() };
        assert!(denied(begin(&sandbox, Command { beyond: all, ..place.line("true") }, UNCONFINED).await));
    }
}

#[tokio::test]
async fn what_work_needs_is_there() {
    for line in [
        "echo x > made && mkdir -p a/b && mv made a/b/ && rm -r a",
        "cat ROOT/home/.gitconfig",
        "ls /usr/bin /etc >/dev/null",
        "cat /etc/passwd >/dev/null",
        "cat /proc/self/status /proc/cpuinfo >/dev/null",
        "test \"$(cat /proc/self/comm)\" = cat",
        "echo x > $TMPDIR/t && test \"$(mktemp)\" != ''",
        "head -c 8 /dev/urandom | wc -c",
        "echo x | cat > /dev/null",
        "cat <<< here && cat < <(echo there)",
        "test \"$(pwd)\" = ROOTwork",
        "chmod 700 .git && touch -d 2001-01-01 .git/config || true",
    ] {
        check_allowed(line).await;
    }
}

#[tokio::test]
async fn the_temporary_folder_is_the_calls_own() {
    for walls in levels() {
        let place = Place::new(walls);
        let outcome = place.sh("echo x > $TMPDIR/mine; stat -c %a $(dirname $TMPDIR); echo $TMPDIR").await;
        let temp = PathBuf::from(outcome.text().lines().nth(1).unwrap());
        assert!(!temp.join("mine").exists(), "removed at the end");
        assert_eq!(place.sh("ls $TMPDIR").await.text(), "", "nothing of the call before");
    }
}

#[tokio::test]
async fn there_is_no_network() {
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp, udp) =
        (tcp.local_addr().map(|a| (a.port(), tcp)).unwrap(), udp.local_addr().map(|a| (a.port(), udp)).unwrap());
    check_refused(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}'", tcp.0)).await;
    check_refused(&format!("bash -c 'echo x >/dev/udp/127.0.0.1/{}'", udp.0)).await;
}

#[tokio::test]
async fn sockets_of_services_are_out_of_reach() {
    if !has("perl") {
        return;
    }
    let name = format!("airlock-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    check_refused(&connect(&format!("\\0{name}"))).await;
    // A socket file needs the masks of a namespace, and a place under /run that the test may write.
    let file = format!("/run/{name}");
    if let Ok(_listener) = UnixListener::bind(&file) {
        check_refused_at(full_levels(), &connect(&file)).await;
        std::fs::remove_file(file).unwrap();
    }
}

fn connect(name: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 9; exit !connect($s, pack_sockaddr_un(\"{name}\"))'"
    )
}

fn has(program: &str) -> bool {
    let there = find(program, Path::new("/"), "/usr/bin:/bin").is_some();
    if !there {
        println!("skipped: no {program} here");
    }
    there
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let host = std::process::id();
    check_refused(&format!("kill -0 {host}")).await;
    for walls in strong_levels() {
        for file in ["environ", "maps", "mem"] {
            let outcome = outcome_at(walls, &format!("head -c 1 /proc/{host}/{file}")).await;
            assert_eq!((outcome.exit, outcome.stdout), (Exit::Code(1), vec![]), "{file} {}", walls.level());
        }
    }
    for walls in strong_levels() {
        let outcome = outcome_at(walls, "kill -9 $PPID").await;
        assert_eq!(outcome.exit, Exit::Code(1), "the supervisor is out of reach: {outcome:?}");
    }
}

/// Without Landlock only this keeps the host's environment and memory, and those of its forks, from a program of the same user.
#[tokio::test]
async fn the_host_is_closed_to_others() {
    close_to_others().unwrap();
    let walls = level::walls();
    let without = [false, true].map(|namespaces| Walls { landlock: 0, namespaces, ..walls });
    for walls in without.into_iter().filter(|w| w.seccomp && w.namespaces <= walls.namespaces) {
        for process in [std::process::id().to_string(), "$PPID".into(), "1".into()] {
            for file in ["environ", "maps", "mem"] {
                let outcome = outcome_at(walls, &format!("head -c 1 /proc/{process}/{file}")).await;
                assert_eq!(outcome.stdout, b"", "{file} of {process}, {walls:?}");
            }
        }
        assert_eq!(outcome_at(walls, "head -c 1 /proc/self/environ").await.exit, Exit::Code(0), "{walls:?}");
    }
}

#[tokio::test]
async fn a_workspace_that_is_everything_is_there_to_be_read() {
    for walls in levels() {
        let place = furnished(walls);
        let sandbox =
            Sandbox { home: Some(place.path("home")), ..Sandbox::new(Path::new("/"), &place.path("outputs")) };
        let line =
            format!("cat {0}/outside && echo x > {0}/new; echo y > $TMPDIR/t; cat $TMPDIR/t", place.path("").display());
        let command = Command { cwd: "/".into(), ..place.line(&line) };
        let outcome = Outcome::of(&mut start(&sandbox, command, walls).unwrap()).await;
        assert_eq!((outcome.exit, outcome.text().as_str()), (Exit::Code(0), "oy\n"), "{walls:?} {outcome:?}");
        assert!(!place.path("new").exists(), "{walls:?}");
    }
}

#[tokio::test]
async fn namespaces_and_mounts_cannot_be_made() {
    for walls in strong_levels() {
        for line in ["unshare -U true", "unshare -m true", "mount -t tmpfs none .", "chroot / true"] {
            let outcome = outcome_at(walls, line).await;
            assert!(matches!(outcome.exit, Exit::Code(1..=125)), "{line} {}: {outcome:?}", walls.level());
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn dangerous_system_calls_are_refused() {
    if !has("perl") {
        return;
    }
    let new_user_and_sigchld = libc::CLONE_NEWUSER | libc::SIGCHLD;
    for (call, errno) in [
        ("101, 0, 0, 0, 0".to_owned(), libc::EPERM),
        ("425, 1, 0".into(), libc::EPERM),
        ("250, 0, 0, 0".into(), libc::EPERM),
        (format!("56, {new_user_and_sigchld}, 0, 0, 0, 0"), libc::EPERM),
        ("435, 0, 0".into(), libc::ENOSYS),
        ("41, 2, 1, 0".into(), libc::EPERM),
        ("41, 16, 3, 0".into(), libc::EPERM),
    ] {
        for walls in strong_levels() {
            let outcome = outcome_at(walls, &format!("perl -e 'syscall({call}); exit $!'")).await;
            assert_eq!(outcome.exit, Exit::Code(errno), "{call} {}: {outcome:?}", walls.level());
        }
    }
}

#[tokio::test]
async fn root_gets_the_answers_that_everybody_gets() {
    for walls in strong_levels() {
        for line in [
            "cat /etc/shadow",
            "cat /proc/kcore | head -c 1 | grep -q .",
            "mknod null c 1 3",
            "date -s @0",
            "nice -n -5 true 2>&1 | grep -q annot && exit 1",
        ] {
            let outcome = outcome_at(walls, line).await;
            assert!(matches!(outcome.exit, Exit::Code(1..=125)), "{line} {}: {outcome:?}", walls.level());
        }
    }
}

fn full_levels() -> Vec<Walls> {
    strong_levels().into_iter().filter(|walls| walls.level() == Level::Full).collect()
}

#[tokio::test]
async fn namespaces_hold_what_landlock_cannot() {
    for line in [
        "chmod 777 ROOT/outside",
        "touch -d 2001-01-01 ROOT/outside",
        "echo x > .git/hooks/pre-push",
        "echo x >> .git/config",
        "rm .git/config",
    ] {
        check_refused_at(full_levels(), line).await;
    }
}

#[tokio::test]
async fn secrets_in_an_allowed_folder_are_hidden() {
    for walls in full_levels() {
        let place = furnished(walls);
        let home = place.path("home");
        let sandbox = Sandbox { writable: vec![home.clone()], hidden: vec![home.join("data")], ..place.sandbox() };
        std::fs::create_dir(home.join("data")).unwrap();
        std::fs::write(home.join("data/airlock.db"), "secret").unwrap();
        let line = "cat .ssh/id .config/gh/hosts.yml .cargo/credentials.toml data/*; echo x > .ssh/new; echo y > mine; cat mine";
        let command = Command { cwd: home, ..place.line(line) };
        let outcome = Outcome::of(&mut start(&sandbox, command, walls).unwrap()).await;
        assert_eq!(outcome.text(), "y\n", "{outcome:?}");
        assert!(!place.path("home/.ssh/new").exists());
    }
}

#[tokio::test]
async fn nothing_of_the_hosts_environment_passes() {
    for walls in levels() {
        let place = Place::new(walls);
        let env = vec![("ADDED".to_owned(), "1".to_owned())];
        let text = place.run(Command { env, ..place.line("env") }).await.text();
        let names: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        for name in ["PATH", "TERM", "TMPDIR", "SHELL", "ADDED"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        // Cargo sets these for every test.
        assert!(!names.iter().any(|name| name.starts_with("CARGO_") && *name != "CARGO_HOME"), "{names:?}");
    }
}

#[tokio::test]
async fn nothing_of_the_hosts_descriptors_passes() {
    let open = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    for walls in levels() {
        let place = Place::new(walls);
        // 3 is the listing's own.
        assert_eq!(place.sh("ls /proc/self/fd").await.text(), "0\n1\n2\n3\n");
    }
}

#[test]
fn the_level_has_words() {
    assert!(detect().to_string().starts_with(match detect() {
        Level::Full => "full",
        Level::Strong => "strong",
        Level::Partial => "partial",
        Level::None => "none",
    }));
}
