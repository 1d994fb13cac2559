use super::*;
use proptest::prelude::*;

fn run(line: &str) -> Scan {
    scan(line, Path::new("/w"), Path::new("/w"), Some(Path::new("/home/u")))
}

fn texts(scan: &Scan) -> Vec<&str> {
    scan.commands.iter().map(|c| c.text.as_str()).collect()
}

#[test]
fn every_command_of_a_line_is_found() {
    let check = |line: &str, want: &[&str]| {
        let got = run(line);
        assert_eq!(texts(&got), want, "{line:?}");
        assert!(!got.opaque, "{line:?} is clear");
    };
    check("git status && rm -rf build", &["git status", "rm -rf build"]);
    check("a; b & c || d | e |& f\ng", &["a", "b", "c", "d", "e", "f", "g"]);
    check("echo $(rm -rf x)", &["echo $(rm -rf x)", "rm -rf x"]);
    check("echo \"now: `rm x`\"", &["echo \"now: `rm x`\"", "rm x"]);
    check("diff <(rm a) >(rm b)", &["diff <(rm a) >(rm b)", "rm a", "rm b"]);
    check("X=$(rm x)", &["rm x"]);
    check("cat <<E\n$(rm x)\nE", &["cat", "rm x"]);
    check("cat <<'E'\n$(rm x)\nE", &["cat"]);
    check("f() { rm x; }; f", &["rm x", "f"]);
    check("for f in a b; do rm $f; done", &["rm $f"]);
    check("while test x; do rm y; done", &["test x", "rm y"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("case $x in a) rm y;; *) ls;; esac", &["rm y", "ls"]);
    check("(a; { b; })", &["a", "b"]);
    check("! rm x", &["rm x"]);
    check("echo 'a && rm x'", &["echo 'a && rm x'"]);
    check("echo $((1+2))", &["echo $((1+2))"]);
    check("[ -n \"$(rm x)\" ]", &["rm x"]);
    check("[[ -n $(rm x) ]]", &["rm x"]);
    check("X=1 rm x", &["rm x"]);
    check("PATH=lib ls", &["PATH=lib", "ls"]);
    check("export PATH=lib", &["PATH=lib"]);
    check("cd src && cargo test", &["cargo test"]);
    check("ls # rm x", &["ls"]);
    check("cargo \\\n  test", &["cargo test"]);
    check("# rm x \\\nls", &["ls"]);
    check("rm > log a", &["rm a"]);
    check("> log rm a", &["rm a"]);
    check("xargs <<E rm\na\nE", &["xargs rm", "rm"]);
    check("cat <<E | rm x\na\nE", &["cat", "rm x"]);
    check("cat <<E && rm x\na\nE", &["cat", "rm x"]);
    check("ls | xargs > log rm x", &["ls", "xargs rm x", "rm x"]);
    check("ls && xargs <<E rm\na\nE", &["ls", "xargs rm", "rm"]);
    check("ls && bash <<E\nrm x\nE", &["ls", "bash", "rm x"]);
    check("! { rm x; }", &["rm x"]);
    check("! { X=1 rm x; }", &["rm x"]);
    check("time { rm x; }", &["time { rm x", "rm x"]);
}

#[test]
fn names_are_read_as_bash_reads_them() {
    let check =
        |line: &str, want: &str| assert!(texts(&run(line)).contains(&want), "{line:?} gives {:?}", texts(&run(line)));
    check("r\\m -rf x", "rm -rf x");
    check("'rm' -rf x", "rm -rf x");
    check("\"r\"m -rf x", "rm -rf x");
    check("$'r\\x6d' -rf x", "rm -rf x");
    check("$'\\162m' -rf x", "rm -rf x");
    check("$'\\u0072m' -rf x", "rm -rf x");
    check("rm\t-rf   x", "rm -rf x");
    check("r\\\nm -rf x", "rm -rf x");
    check("git 'push' -f", "git push -f");
    check("g''it push", "git push");
}

#[test]
fn a_wrapper_and_what_it_runs_both_count() {
    let check = |line: &str, want: &[&str]| assert_eq!(texts(&run(line)), want, "{line:?}");
    check("sudo -u root rm x", &["sudo -u root rm x", "rm x"]);
    check("env A=1 -u B rm x", &["env A=1 -u B rm x", "rm x"]);
    check("env -S 'rm x'", &["env -S 'rm x'", "rm x"]);
    check("xargs -n 1 rm -f", &["xargs -n 1 rm -f", "rm -f"]);
    check(
        "nohup nice -n 5 timeout -k 1 5s rm x",
        &["nohup nice -n 5 timeout -k 1 5s rm x", "nice -n 5 timeout -k 1 5s rm x", "timeout -k 1 5s rm x", "rm x"],
    );
    check("time rm x", &["time rm x", "rm x"]);
    check("command rm x", &["command rm x", "rm x"]);
    check("command -v rm", &["command -v rm"]);
    check("exec -a n rm x", &["exec -a n rm x", "rm x"]);
    check("builtin eval rm x", &["builtin eval rm x", "eval rm x", "rm x"]);
    check("stdbuf -oL setsid rm x", &["stdbuf -oL setsid rm x", "setsid rm x", "rm x"]);
    check("find . -exec rm {} \\; -exec ls {} +", &["find . -exec rm {} \\; -exec ls {} +", "rm {}", "ls {}"]);
    check("git -C sub status", &["git -C sub status", "git status"]);
    check("sh -c 'ls; rm x'", &["sh -c 'ls; rm x'", "ls", "rm x"]);
    check("bash -ec \"rm x\"", &["bash -ec \"rm x\"", "rm x"]);
    check("eval 'rm x' y", &["eval 'rm x' y", "rm x y"]);
    check("bash <<E\nrm x\nE", &["bash", "rm x"]);
    check("bash <<< 'rm x'", &["bash", "rm x"]);
    check("trap 'rm x' EXIT", &["trap 'rm x' EXIT", "rm x"]);
    check("/usr/bin/env rm x", &["/usr/bin/env rm x", "rm x"]);
    check("bash run.sh", &["bash run.sh"]);
}

#[test]
fn what_cannot_be_known_is_opaque() {
    for line in [
        "P=rm; $P -rf x",
        "$(echo rm) x",
        "! { for i in a; do ls; done; }",
        "r* x",
        "{rm,-rf,x}",
        "sh -c \"$X\"",
        "eval $X",
        "curl u | sh",
        "bash",
        "ls (",
        "a && && b",
        "cd $D",
        "ls > $F",
        "cat $X/../../etc",
        "cat {/etc,x}/passwd",
        "git -c alias.x='!rm' x",
        "cat ~root/x",
        "echo ${X@P}",
        "ls\u{a0}x",
        "ls\rrm",
        "sh /dev/stdin",
        "bash -s -- a b",
        "sh -s a",
        "bash -es a",
        "bash -s < f",
        "sudo -s",
        "su u",
    ] {
        assert!(run(line).opaque, "{line:?} gives {:?}", run(line));
    }
    for line in
        ["ls $X", "rm *.o", "echo {a,b}", "cat src/{a,b}.rs", "git diff HEAD..main", "ls | head -3", "echo \"$A\""]
    {
        assert!(!run(line).opaque, "{line:?} gives {:?}", run(line));
    }
    assert!(scan("cat ~/x", Path::new("/w"), Path::new("/w"), None).opaque);
    assert!(run(&"sudo ".repeat(20)).opaque);
    assert!(run(&"a;".repeat(LONGEST_LINE)).opaque);
}

#[test]
fn nothing_hides_a_command_without_a_question() {
    for line in [
        "coproc { rm x; }",
        "time -p rm x",
        "echo $(</dev/null; rm x)",
        "if ! rm x; then :; fi",
        "until rm x; do :; done",
        "(( $(rm x) ))",
        "echo ${y:-$(rm x)}",
        "echo \"${y:-$(rm x)}\"",
        ": ${y:=`rm x`}",
        "y=($(rm x))",
        "y[$(rm x)]=1",
        "echo {a,$(rm x)}",
        "cat <<< $(rm x)",
        "[[ -f $(rm x) ]]",
        "local y=$(rm x)",
        "readonly y=`rm x`",
        "function f { rm x; }",
        "f() ( rm x )",
        "f() { :; } > $(rm x)",
        "echo \"${a[$(rm x)]}\"",
        "echo \"$(echo \"$(rm x)\")\"",
        "echo `echo \\`rm x\\``",
        "cat <<-E\n\t$(rm x)\n\tE\n",
        "cat <<E\n`rm x`\nE\n",
        "cat <<A <<B\na\nA\n$(rm x)\nB\n",
        "# don't\nrm x",
        "echo a;# b\nrm x",
        "echo \"\"#; rm x",
        "echo ${y}#; rm x",
        "echo $#; rm x",
        "echo ${#y}; rm x",
        "echo '#'; rm x",
        "echo a\\#b; rm x",
        "echo \\\\\nrm x",
        "ls 2>&1& rm x",
        "ls &>/dev/null; rm x",
        "exec 3<>f; rm x",
        "case a in (a) rm x; esac",
        "case a in a) :;& b) rm x;; esac",
        "for ((i=0;i<3;i++)); do rm x; done",
        "for ((i=$(rm x);i<3;i++)) { :; }",
        "select y in a; do rm x; done",
        "ls \"$(cat <<E\n$(rm x)\nE\n)\"",
        "eval \"$(echo rm x)\"",
        "alias ls=rm; ls x",
        "sudo -E env A=b nohup rm x",
        "xargs -I{} sh -c 'rm x'",
        "find . -exec sh -c 'rm x' \\;",
        "parallel rm ::: x",
        "watch -n1 'rm x'",
        "printf 'rm x' | bash -s",
        "bash < f",
        "source <(echo rm x)",
        ". /dev/stdin <<< 'rm x'",
        "$SHELL -c 'rm x'",
        "busybox rm x",
        "ls;rm x",
        "ls\n\n\trm x",
        "{ rm x; } 2>/dev/null",
        "ls | while read y; do rm x; done",
        "ls && { rm x; } || (rm y)",
        "test -f a && rm x || :",
        "[ -f a ] && rm x",
        "[[ -f a ]] && rm x",
        "[[ a =~ b ]] && rm x",
        "[[ a == $(rm x) ]]",
        "let y=$(rm x)",
        "time ( rm x )",
        "export A=$(rm x) B",
        "A=1 B=$(rm x)",
        "A=`rm x` ls",
        ">$(rm x)",
        "rm<x",
        "rm>x y",
        "</dev/null rm x",
        "2>f rm x",
    ] {
        let got = run(line);
        let found = got.commands.iter().any(|c| c.words[0] == "rm");
        assert!(found || got.opaque, "{line:?} gives {got:?}");
    }
}

#[test]
fn the_flags_of_a_wrapper_do_not_hide_what_it_runs() {
    let check = |line: &str| {
        let got = run(line);
        assert!(got.commands.iter().any(|c| c.words[0] == "rm"), "{line:?} gives {got:?}");
        assert!(!got.opaque, "{line:?} is clear");
    };
    for line in [
        "ls | xargs --replace rm {}",
        "ls | xargs --max-lines rm",
        "ls | xargs --replace=% rm %",
        "ls | xargs -0rn 1 rm",
        "ls | xargs -i rm {}",
        "setarch x86_64 rm x",
        "setarch x86_64 -R rm x",
        "setarch -R rm x",
        "linux32 rm x",
        "setpriv --reuid 1000 --clear-groups rm x",
        "strace --output f rm x",
        "strace -fo f rm x",
        "systemd-run --unit u rm x",
        "systemd-run --user --unit=u -p A=b rm x",
        "runuser -u u -- rm x",
        "runuser -u u rm x",
        "runuser -l u -c 'rm x'",
        "su u --command='rm x'",
        "su -lc 'rm x' u",
        "pkexec --user u rm x",
        "prlimit --nofile=10 --core rm x",
        "fd a --exec=rm",
        "fd a --exec rm",
        "fd a -x rm {}",
        "fd a -Hxrm",
        "find . -exec flock + rm {} \\;",
        "gosu root rm x",
        "flock A=b rm x",
        "flock f rm -c x",
        "flock f -c 'rm x'",
        "env rm -fS x",
        "sudo -n -- rm x",
        "nice -5 rm x",
        "bash -euo pipefail -c 'rm x'",
        "bash -co pipefail 'rm x'",
    ] {
        check(line);
    }
}

#[test]
fn a_flag_that_is_not_known_makes_every_word_a_candidate() {
    let check = |line: &str| {
        let got = run(line);
        let rm = got.commands.iter().find(|c| c.words[0] == "rm");
        assert!(rm.is_some() && got.opaque, "{line:?} gives {got:?}");
    };
    for line in [
        "sudo --what rm x",
        "sudo --what ever rm x",
        "sudo $FLAGS rm x",
        "xargs --max-a 1 rm",
        "strace --nonsense f rm x",
        "setarch other rm x",
        "chrt -b rm x",
        "firejail -c rm x",
        "bash --what 'rm x'",
        "zsh -oerrexit -c 'rm x'",
        "script -q f rm x",
    ] {
        check(line);
    }
    let pushed = run("sudo --what git push x");
    let always: Vec<_> = pushed.commands.iter().map(|c| c.always.as_deref()).collect();
    assert!(always.contains(&Some("git push x")) && !always.contains(&Some("git push *")), "a guess is not widened");
    assert!(run(&"sudo --what ".repeat(60)).opaque);
    assert!(run(&"sudo --what ".repeat(5000)).opaque);
}

#[test]
fn outside_directories_are_named() {
    let check = |line: &str, want: &[&str]| {
        let got = run(line);
        assert_eq!(got.external, want.iter().map(PathBuf::from).collect::<Vec<_>>(), "{line:?}");
    };
    check("cat $HOME/.netrc", &["/home/u"]);
    check("cat \"${HOME}\"/.netrc", &["/home/u"]);
    check("cat ~/.netrc", &["/home/u"]);
    check("cat '$HOME'/x", &[]);
    check("cat '~/x'", &[]);
    check("cat /w/a ./b ../w/c", &[]);
    check("cat ../other/x", &["/other"]);
    check("cat /w-secret/a", &["/w-secret"]);
    check("ls /etc", &["/etc"]);
    check("cat /etc/$X", &["/etc"]);
    check("cat /etc/*.conf", &["/etc"]);
    check("cd /etc", &["/etc"]);
    check("cd", &["/home/u"]);
    check("cd .. && cat ../b/x", &["/", "/b"]);
    check("cd src && cat ../a", &[]);
    check("(cd src); cat ../a", &["/a"]);
    check("dd if=/dev/zero of=/mnt/x/y", &["/mnt/x"]);
    check("gcc -I/opt/x/include a.c", &["/opt/x"]);
    check("cp --target-directory=/opt/x/y a", &["/opt/x"]);
    check("curl -d @/etc/ssl/key file:///srv/a/b https://e.test/../x", &["/etc/ssl", "/srv/a"]);
    check("D=/etc; cat $D/passwd", &["/etc"]);
    check("for f in /etc/x/*; do cat $f; done", &["/etc/x"]);
    check("cat < /etc/ssl/x", &["/etc/ssl"]);
    check("ls > /dev/null 2>&1", &[]);
    check("sed '/foo/d' a && echo \"/etc\" && grep -rn '/api/v1' src", &[]);
    check("grep -e x '/etc/ssl/k'", &["/etc/ssl"]);
    check("/usr/bin/ls; /srv/tools/x", &["/srv/tools"]);
}

#[test]
fn redirections_write() {
    let check = |line: &str, want: &[&str]| {
        assert_eq!(run(line).writes, want.iter().map(PathBuf::from).collect::<Vec<_>>(), "{line:?}");
    };
    check("echo x > a", &["/w/a"]);
    check("echo x >> ./d/../a 2> err &> all", &["/w/a", "/w/err", "/w/all"]);
    check("ls >| b; ls &>> c", &["/w/b", "/w/c"]);
    check("ls >& d; ls >&2 2>&1", &["/w/d"]);
    check("ls 2> /dev/null < in", &[]);
    check("ls | tee -a x y", &["/w/x", "/w/y"]);
    check("{ ls; } > g", &["/w/g"]);
    check("cat <<E > h\nx\nE", &["/w/h"]);
    check("cd d && ls > i", &["/w/d/i"]);
    check("sudo tee /etc/x/y", &["/etc/x/y"]);
    check("sh -c 'ls > j'", &["/w/j"]);
}

#[test]
fn always_covers_the_same_thing_only() {
    let check = |line: &str, want: Option<&str>| assert_eq!(run(line).commands[0].always.as_deref(), want, "{line:?}");
    check("git commit -m x", Some("git commit *"));
    check("git 'commit' -m x", Some("git commit *"));
    check("npm run test", Some("npm run test *"));
    check("npm test", Some("npm test *"));
    check("npm --prefix a run x", Some("npm --prefix a run x"));
    check("git", Some("git"));
    check("ls -la", Some("ls *"));
    check("docker compose up -d", Some("docker compose up *"));
    check("aws s3 ls", Some("aws s3 ls *"));
    check("frobnicate a b", Some("frobnicate *"));
    check("rm -rf x", Some("rm -rf x"));
    check("/bin/rm -rf x", Some("/bin/rm -rf x"));
    check("rm -rf build/*", None);
    check("rm a\\ b", None);
    check("sudo ls", Some("sudo ls"));
    check("sh -c ls", Some("sh -c ls"));
    check("python3.12 x.py", Some("python3.12 x.py"));
    check("git reset --hard", Some("git reset --hard"));
    check("./run* x", None);
}

#[test]
fn quoting_an_argument_list_keeps_the_words() {
    let argv: Vec<String> = ["rm", "a b", "it's", "$X", ""].map(String::from).into();
    assert_eq!(quote(&argv), r"rm 'a b' 'it'\''s' '$X' ''");
    assert_eq!(run(&quote(&argv)).commands[0].words, argv);
}

#[test]
fn characters_beyond_ascii_are_parts_of_words() {
    let check = |line: &str, want: &[&str]| assert_eq!(texts(&run(line)), want, "{line:?}");
    check("echo 'é' && rm ü", &["echo 'é'", "rm ü"]);
    check("é=rm x", &["é=rm x"]);
    check("cat <<É\n$(rm x)\nÉ\nls", &["cat", "rm x", "ls"]);
    // Far beyond every table of C, wherever the grammar's scanner looks at characters one by one.
    for around in ["${|}", "${|", "$|", "{|..|}", "[[ a =~ | ]]", "${a#|}", "${a/|/|}", "<<|", "|(a)", "|=1"] {
        for c in ['\u{e019f}', '\u{10ffff}'] {
            let _ = run(&around.replace('|', &c.to_string().repeat(3)));
        }
    }
}

#[test]
fn one_line_leaves_nothing_to_the_next() {
    let alone = run("cat <<B\n$(rm x)\nB\nls");
    let _ = run("cat <<A <<'C'\nls");
    assert_eq!(run("cat <<B\n$(rm x)\nB\nls"), alone);
}

#[test]
fn a_deep_or_broken_line_ends() {
    for line in ["(".repeat(5000), "$(".repeat(5000), "a".repeat(60_000), "{ ".repeat(3000) + &"}".repeat(3000)] {
        let _ = run(&line);
    }
}

/// How a command can be hidden among others. Blanks keep `((` from becoming arithmetic.
fn around(command: &str, way: u8) -> String {
    match way % 16 {
        0 => format!("ls && {command}"),
        1 => format!("{command} | cat"),
        2 => format!("echo $( {command} )"),
        3 => format!("echo \"`{command}`\""),
        4 => format!("( {command} )"),
        5 => format!("if {command}; then ls; fi"),
        6 => format!("for i in a; do {command}; done"),
        7 => format!("f() {{ {command}; }}"),
        8 => format!("X=$( {command} ) ls"),
        9 => format!("cat <<E\n$( {command} )\nE\n"),
        10 => format!("diff <( {command} ) a"),
        11 => format!("ls;\n{command}"),
        12 => format!("! {{ {command}; }}"),
        13 => format!("case x in y) {command};; esac"),
        14 => format!("ls > $( {command} )"),
        _ => format!("while ! ls; do {command}; done & "),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_text_makes_it_panic(line in any::<String>()) {
        let _ = run(&line);
    }

    #[test]
    fn no_shell_like_text_makes_it_panic(line in "[a-z $(){}`'\"\\\\;&|<>#\\n/.~*=!@-]{0,60}") {
        let _ = run(&line);
    }

    #[test]
    fn a_command_is_found_wherever_it_stands(
        spelling in prop::sample::select(vec!["rm", "r\\m", "'rm'", "\"r\"m", "$'r\\x6d'", "\\rm", "sudo rm", "X=1 rm", "env rm"]),
        ways in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        // Backticks would need their inner backslashes doubled, so they only go innermost around plain spellings.
        let mut line = format!("{spelling} -rf x");
        for (depth, way) in ways.iter().enumerate() {
            let way = match way % 16 {
                3 if depth > 0 || spelling.contains(['\\', '"']) => 2,
                // What `!` makes of a compound in braces is opaque, not taken apart.
                12 if depth > 0 => 2,
                way => way,
            };
            line = around(&line, way);
        }
        let got = run(&line);
        let found = got.commands.iter().any(|c| c.words == ["rm", "-rf", "x"]);
        prop_assert!(found, "{line:?} gives {got:?}");
    }
}

#[test]
fn what_the_grammar_cannot_read_is_still_searched_for_programs() {
    for line in [
        "! { f() { rm x; }; }",
        "! { f() { rm x; }; f; }",
        "! { function f { rm x; }; f; }",
        "time { f() ( rm x ); f; }",
        "if true; then { f() { rm x; }; } fi; )",
        "! { for i in a; do rm x; done; }",
        "! { case a in a) rm x;; esac; }",
    ] {
        let got = run(line);
        assert!(got.opaque, "{line:?} asks");
        assert!(texts(&got).contains(&"rm x"), "{line:?} gives {:?}", texts(&got));
    }
}
