use super::*;

fn found(files: &[(&str, &str)]) -> (tempfile::TempDir, Commands) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for (name, text) in files {
        let file = base.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    std::fs::create_dir_all(base.join("repo/.git")).unwrap();
    let paths = Paths {
        home: Some(base.join("home")),
        config: base.join("config"),
        data: base.clone(),
        cache: base.clone(),
        ..Paths::for_tests()
    };
    let entry = CommandEntry { template: "configured".into(), ..CommandEntry::default() };
    let config = IndexMap::from([("conf".to_owned(), entry)]);
    let place = Place::at(&base.join("repo")).unwrap();
    let skills = crate::skills::find(&paths, &place, &[]);
    (dir, find(&paths, &place, &config, &skills))
}

#[test]
fn each_place_has_its_commands_and_a_later_one_stands() {
    let (_dir, commands) = found(&[
        ("config/commands/own.md", "---\nmodel: p/m\nagent: plan\ndescription: Mine\n---\nown $1"),
        ("config/commands/conf.md", "file"),
        ("repo/.opencode/command/git/log.md", "---\nmodel: p/expensive\n---\nlog"),
        ("repo/.airlock/commands/review.md", "ours"),
        ("repo/.airlock/commands/bad.md", "---\nagent: [x]\n---\nx"),
        ("repo/.airlock/commands/empty.md", "---\nagent: x\n---\n"),
        ("repo/.airlock/skills/s/SKILL.md", "---\nname: deploy\ndescription: d\n---\nx"),
        ("repo/.airlock/skills/t/SKILL.md", "---\nname: own\ndescription: d\n---\nx"),
    ]);
    let get = |name: &str| commands.all.get(name).unwrap_or_else(|| panic!("no {name}: {commands:?}"));
    assert_eq!(get("init").source, Source::BuiltIn);
    assert_eq!((get("own").agent.as_deref(), get("own").model.is_some()), (Some("plan"), true));
    assert_eq!(get("conf").template, "configured");
    assert_eq!(get("review").template, "ours");
    assert_eq!((get("git/log").template.as_str(), get("git/log").model.clone()), ("log", None));
    assert_eq!(get("deploy").source, Source::Skill);
    assert!(matches!(get("own").source, Source::Own(_)), "a skill takes no name that is taken");
    assert_eq!(commands.notices.len(), 2, "{:?}", commands.notices);
    assert!(commands.notices[0].contains("bad.md") && commands.notices[1].contains("empty"));
}
