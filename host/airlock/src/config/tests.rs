use super::*;
use model::permission::Action;

fn file(path: &str, text: &str) -> FileConfig {
    FileConfig::parse(Path::new(path), text, Some(Path::new("/home/x"))).unwrap()
}

fn merge(user: &str, workspace: &str, env: Variables, flags: Overrides) -> Config {
    Config::merge(file("user.toml", user), Some(file("airlock.toml", workspace)), env, flags)
}

fn reference(text: &str) -> Option<ModelRef> {
    ModelRef::parse(text)
}

#[test]
fn later_wins() {
    let user = "model = \"u/m\"\nagent = \"plan\"";
    let env = || Variables { model: reference("e/m"), ..Variables::default() };
    let flags = || Overrides { model: reference("f/m"), ..Overrides::default() };
    let by_file = Origin::File("user.toml".into());
    for (env, flags, want, by) in [
        (Variables::default(), Overrides::default(), "u/m", by_file),
        (env(), Overrides::default(), "e/m", Origin::Variable("AIRLOCK_MODEL")),
        (env(), flags(), "f/m", Origin::Flag("--model")),
    ] {
        let config = merge(user, "", env, flags);
        assert_eq!(config.model, Some(Said { value: reference(want).unwrap(), by }));
        assert_eq!(config.agent.value, "plan");
    }
    assert_eq!(merge("", "", Variables::default(), Overrides::default()).agent.value, "build");
}

#[test]
fn an_untrusted_workspace_only_narrows() {
    let user = "[permission]\nread = \"allow\"\nbash = \"deny\"\n[limits]\nsteps = 10\nwall = \"1m\"\ntokens = 7";
    let workspace = "model = \"w/m\"\nhooks = [\"x\"]\n[permission]\nread = \"deny\"\nbash = \"allow\"\ncontinue = true\n\
                     [limits]\nsteps = 5\nwall = \"9m\"\ntokens = 8\noutput_bytes = 9\ncost_usd = 1\n[providers.w]\nadapter = \"openai-chat\"";
    let config = merge(user, workspace, Variables::default(), Overrides::default());
    assert_eq!(config.model, None);
    assert!(config.providers.is_empty() && config.hooks.is_empty() && !config.go_on);
    assert_eq!(config.limits.steps, Some(5));
    assert_eq!(config.limits.wall, Some(std::time::Duration::from_secs(60)));
    assert_eq!((config.limits.tokens, config.limits.output_bytes), (Some(7), Some(9)));
    assert_eq!(config.limits.cost_usd, Some(1.into()));
    let policy = config.policy(full("defaults", vec![]), &agents::built_in()["build"]);
    assert_eq!(policy.decide("read", "a").action, Action::Deny);
    assert_eq!(policy.decide("bash", "ls").action, Action::Deny);
    let notice = config.notices.join("\n");
    for word in ["airlock.toml", "model", "providers", "hooks", "permission.continue"] {
        assert!(notice.contains(word), "{notice} should name {word}");
    }
}

#[test]
fn an_agent_does_not_undo_what_the_workspace_denies() {
    let rule = |p: &str, a| rules::from_flag(p, a, None).unwrap();
    let agent = Profile { rules: vec![rule("bash", Action::Allow)], ..agents::built_in()["build"].clone() };
    let decide = |workspace, flags| {
        let config = merge("[permission]\nbash = \"ask\"", workspace, Variables::default(), flags);
        config.policy(full("defaults", vec![]), &agent).decide("bash", "ls").action
    };
    let denied = "[permission]\nbash = \"deny\"";
    assert_eq!(decide("", Overrides::default()), Action::Allow);
    assert_eq!(decide("[permission]\nbash = \"allow\"", Overrides::default()), Action::Allow);
    assert_eq!(decide(denied, Overrides::default()), Action::Deny);
    assert_eq!(
        decide(denied, Overrides { allow: vec![rule("bash", Action::Allow)], ..Overrides::default() }),
        Action::Allow
    );
}

#[test]
fn flags_have_the_last_word_and_a_denial_the_very_last() {
    let rule = |p: &str, a| vec![rules::from_flag(p, a, None).unwrap()];
    let allow = |p| Overrides { allow: rule(p, Action::Allow), ..Overrides::default() };
    let plan = &agents::built_in()["plan"];
    let decide = |flags: Overrides| {
        let config = merge("", "", Variables::default(), flags);
        config.policy(full("defaults", vec![]), plan).decide("edit", "docs/a").action
    };
    assert_eq!(decide(Overrides::default()), Action::Deny);
    assert_eq!(decide(allow("edit:docs/*")), Action::Allow);
    assert_eq!(decide(Overrides { deny: rule("edit", Action::Deny), ..allow("edit:docs/*") }), Action::Deny);
}

#[test]
fn a_flag_may_raise_a_limit() {
    let flags = Overrides { limits: Limits { steps: Some(50), ..Limits::default() }, ..Overrides::default() };
    let config = merge("[limits]\nsteps = 10", "[limits]\nsteps = 5", Variables::default(), flags);
    assert_eq!(config.limits.steps, Some(50));
}

#[test]
fn no_files_no_notices() {
    let config = Config::merge(FileConfig::default(), None, Variables::default(), Overrides::default());
    assert_eq!((config.files.len(), config.notices.len(), config.rules().count()), (0, 0, 0));
}
