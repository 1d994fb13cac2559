use super::*;
use crate::config::file::FileConfig;
use crate::config::{Overrides, Variables};
use model::provider::ModelRef;
use std::path::Path;

fn commands() -> Commands {
    let command = Command {
        name: "go".into(),
        description: None,
        agent: Some("plan".into()),
        model: ModelRef::parse("c/m"),
        template: "Go.".into(),
        source: crate::commands::Source::Config,
    };
    Commands { all: [("go".to_owned(), command)].into(), notices: vec![] }
}

fn wanted(words: &str, named: Option<&str>) -> Result<Wanted, Report> {
    let given = Given { words: words.into(), piped: None, files: vec![] };
    Wanted::of(given, named, &commands())
}

#[test]
fn words_a_command_or_a_line() {
    let check = |words: &str, named, expected: &str| {
        let ask = match wanted(words, named).unwrap().ask {
            Ask::Words => "words".to_owned(),
            Ask::Command(c, arguments) => format!("{} with {arguments}", c.name),
            Ask::Shell(line) => format!("run {line}"),
        };
        assert_eq!(ask, expected, "{words}");
    };
    check("hello", None, "words");
    check("/go a  b", None, "go with a  b");
    check("/go", None, "go with ");
    check("/etc/hosts is empty", None, "words");
    check("a b", Some("go"), "go with a b");
    check("!ls -l", None, "run ls -l");
    check("!", None, "words");
    let report = wanted("x", Some("goo")).unwrap_err();
    assert!(report.what.contains("goo") && report.next.contains("`go`") && report.exit == Exit::Usage);
}

#[test]
fn a_command_chooses_where_no_flag_does() {
    let config = |flags: Overrides| {
        let file = FileConfig::parse(Path::new("c"), "model = \"a/b\"\nagent = \"minimal\"\n", None).unwrap();
        let mut config = Config::merge(file, None, Variables::default(), flags);
        wanted("/go", None).unwrap().lay_into(&mut config);
        (config.agent.value, config.model.unwrap().value.to_string())
    };
    assert_eq!(config(Overrides::default()), ("plan".into(), "c/m".into()));
    let flags = Overrides { model: ModelRef::parse("f/m"), agent: Some("build".into()), ..Overrides::default() };
    assert_eq!(config(flags), ("build".into(), "f/m".into()));
}
