use super::*;
use crate::config::{Config, Overrides, Variables, file::FileConfig};
use std::fs;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.path("w/.git")).unwrap();
        files.iter().for_each(|(name, text)| tree.write(name, text));
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> Found {
        let home = self.path("home");
        let base = home.join(".config/airlock");
        let paths =
            Paths { home: Some(home), config: base.clone(), data: base.clone(), cache: base, ..Paths::for_tests() };
        read(&paths, &Place::at(&self.path("w")).unwrap())
    }

    /// The config that follows, with this text as the person's own.
    fn config(&self, user: &str) -> Config {
        let user = FileConfig::parse(Path::new("config.toml"), user, None).unwrap();
        let mut config = Config::merge(user, None, Variables::default(), Overrides::default());
        config.add_agents(self.read());
        config
    }
}

#[test]
fn agents_are_found_wherever_people_keep_them() {
    let names = [
        ("home/.config/airlock/agents/own.md", Reach::Full),
        ("home/.config/opencode/agent/oc.md", Reach::Full),
        ("home/.config/opencode/agents/ocs.md", Reach::Full),
        ("home/.claude/agents/cl.md", Reach::Full),
        ("w/.airlock/agents/w-own.md", Reach::NarrowOnly),
        ("w/.opencode/agent/w-oc.md", Reach::NarrowOnly),
        ("w/.opencode/agents/w-ocs.md", Reach::NarrowOnly),
        ("w/.claude/agents/w-cl.md", Reach::NarrowOnly),
    ];
    let tree = Tree::new(&names.map(|(n, _)| (n, "---\ndescription: d\n---\nPrompt.\n")));
    tree.write("w/.claude/agents/notes.txt", "no agent");
    let found = tree.read();
    assert!(found.notices.is_empty(), "{:?}", found.notices);
    let got: Vec<(String, Reach)> = found.files.iter().map(|f| (f.name.clone(), f.reach)).collect();
    let want: Vec<(String, Reach)> =
        names.iter().map(|(n, r)| (Path::new(n).file_stem().unwrap().to_string_lossy().into_owned(), *r)).collect();
    assert_eq!(got, want);
    let modes: Vec<_> = found.files.iter().map(|f| f.entry.mode.unwrap()).collect();
    assert_eq!((modes[0], modes[3]), (AgentMode::All, AgentMode::Subagent), "one folder holds only subagents");
}

#[test]
fn every_field_is_read() {
    let text = "---\nname: reviewer\ndescription: Reads\nmode: subagent\nmodel: p/m\ntemperature: 0.5\nmaxSteps: 7\ncolor: red\n\
                tools: Read, Grep\npermission:\n  edit: deny\n  bash:\n    'git *': allow\n    '*': ask\n---\n\nYou review.\n";
    let tree = Tree::new(&[("home/.config/airlock/agents/x.md", text)]);
    let AgentFile { name, entry, .. } = tree.read().files.remove(0);
    assert_eq!((name.as_str(), entry.description.as_deref()), ("reviewer", Some("Reads")));
    assert_eq!((entry.mode, entry.steps, entry.temperature), (Some(AgentMode::Subagent), Some(7), Some(0.5)));
    assert_eq!(entry.model, ModelRef::parse("p/m"));
    assert_eq!((entry.prompt.as_deref(), entry.tools), (Some("You review."), Some(vec!["read".into(), "grep".into()])));
    let rules: Vec<String> = entry.permissions.rules.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["deny edit:*", "allow bash:git *", "ask bash:*"]);
}

#[test]
fn what_others_write_is_understood_or_left_out_by_name() {
    let one = |text: &str| {
        let mut found = Tree::new(&[("w/.claude/agents/x.md", text)]).read();
        found.files.pop().ok_or_else(|| found.notices.join("\n"))
    };
    let tools = one("---\ntools: {write: false, Bash: false, read: true}\n---\nx").unwrap().entry;
    let rules: Vec<String> = tools.permissions.rules.iter().map(ToString::to_string).collect();
    assert_eq!((tools.tools, rules), (None, vec!["deny edit:*".to_owned(), "deny bash:*".to_owned()]));
    assert_eq!(one("---\nmodel: sonnet\n---\nx").unwrap().entry.model, None);
    assert_eq!(one("Only text.").unwrap().entry.prompt.as_deref(), Some("Only text."));
    for (text, word) in [
        ("---\ndescription: use: when\n---\nx", "line 2"),
        ("---\nname: ../x\n---\nx", "no name"),
        ("---\nmode: boss\n---\nx", "`boss`"),
        ("---\nsteps: 0\n---\nx", "`steps`"),
        ("---\ntemperature: hot\n---\nx", "`temperature`"),
        ("---\npermission: {edit: maybe}\n---\nx", "maybe"),
        ("---\ntools: [1]\n---\nx", "`tools`"),
    ] {
        let notice = one(text).unwrap_err();
        assert!(notice.contains(word) && notice.contains("x.md"), "{text:?}: {notice}");
    }
    assert_eq!(one("---\ndisable: true\n---\nx").unwrap_err(), "", "switched off is no fault");
}

#[test]
fn a_broken_file_does_not_spoil_the_others() {
    let broken = ("w/.airlock/agents/a.md", "---\n{\n---\nx");
    let tree = Tree::new(&[broken, ("w/.airlock/agents/b.md", "Fine.")]);
    let config = tree.config("");
    assert!(config.agents.contains_key("b") && config.agents.contains_key("build"));
    assert!(config.notices.iter().any(|n| n.contains("a.md")), "{:?}", config.notices);
}

#[cfg(unix)]
#[test]
fn a_workspace_leads_nowhere_else() {
    let tree = Tree::new(&[("secret.md", "secret")]);
    fs::create_dir_all(tree.path("w/.claude/agents")).unwrap();
    std::os::unix::fs::symlink(tree.path("secret.md"), tree.path("w/.claude/agents/x.md")).unwrap();
    let found = tree.read();
    assert!(found.files.is_empty() && found.notices[0].contains("leads out"), "{:?}", found.notices);
}

#[test]
fn a_workspaces_agent_narrows_and_takes_no_name() {
    let wide = "---\nmodel: dear/one\npermission: {bash: allow, read: deny}\n---\nHostile.";
    let tree = Tree::new(&[
        ("w/.airlock/agents/build.md", wide),
        ("w/.airlock/agents/mine.md", wide),
        ("w/.airlock/agents/wide.md", wide),
        ("home/.config/airlock/agents/mine.md", "Own."),
        ("home/.config/airlock/agents/both.md", "By file."),
    ]);
    let config = tree.config("[agents.both]\nprompt = \"By config.\"");
    let prompt = |name: &str| config.agents[name].prompt.clone().unwrap_or_default();
    assert_eq!((prompt("build"), prompt("mine"), prompt("both")), (String::new(), "Own.".into(), "By config.".into()));
    let taken = |name: &str| config.notices.iter().any(|n| n.contains(&format!("{name}.md")));
    assert!(taken("build") && taken("mine") && taken("both"), "{:?}", config.notices);
    let agent = &config.agents["wide"];
    assert_eq!((agent.reach, &agent.model), (Reach::NarrowOnly, &None));
    let policy = config.policy(agent::gate::default_rules(), agent);
    assert_eq!(policy.decide("bash", "ls").action, Action::Ask, "it cannot allow");
    assert_eq!(policy.decide("read", "a").action, Action::Deny, "it can deny");
}

#[test]
fn the_persons_own_folder_is_theirs_wherever_they_work() {
    let tree = Tree::new(&[("w/.claude/agents/x.md", "Own.")]);
    let home = tree.path("w");
    let base = home.join(".config/airlock");
    let paths =
        Paths { home: Some(home.clone()), config: base.clone(), data: base.clone(), cache: base, ..Paths::for_tests() };
    let found = read(&paths, &Place::at(&home).unwrap());
    assert_eq!((found.files.len(), found.files[0].reach), (1, Reach::Full));
}
