//! The tools that this run's model may see: filtered, sorted, their declarations written once and their schemas compiled once.

use crate::builtin::background::{COMPANIONS, STARTER};
use jsonschema::Validator;
use model::fault::FailureKind;
use model::hook::{Hooks, TurnContext};
use model::permission::Policy;
use model::profile::Profile;
use model::provider::ToolDecl;
use model::tool::{ToolFailure, ToolSpec};
use model::wildcard;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// Messages of a schema violation that the model is shown; the rest is counted.
const MAX_VIOLATIONS: usize = 8;

/// A tool and its compiled schema.
pub(crate) struct Tool {
    pub spec: Arc<ToolSpec>,
    validator: OnceLock<Result<Validator, String>>,
}

impl Tool {
    /// Whether the input fits the tool's schema.
    ///
    /// # Errors
    /// What does not fit, as the model reads it.
    pub(crate) fn validate(&self, input: &Value) -> Result<(), ToolFailure> {
        let compiled = self.validator.get_or_init(|| compile(&self.spec.input_schema));
        let validator = compiled.as_ref().map_err(|why| {
            let text = format!("The tool {} cannot be used: its schema is broken ({why}).", self.spec.name);
            ToolFailure::new(FailureKind::Unavailable, text)
        })?;
        violations(validator, input).map_err(|list| {
            let text = format!(
                "The arguments do not fit the schema of the tool {}:\n{list}\nWrite the call again so that they fit.",
                self.spec.name
            );
            ToolFailure::new(FailureKind::InvalidInput, text)
        })
    }
}

/// Compiles a schema. Nothing is fetched: a reference to elsewhere is an error.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::validator_for(schema).map_err(|e| e.to_string())
}

/// `Err`: one line for each violation, the first few of them.
pub(crate) fn violations(validator: &Validator, value: &Value) -> Result<(), String> {
    let mut errors = validator.iter_errors(value);
    let lines: Vec<String> = errors.by_ref().take(MAX_VIOLATIONS).map(|e| line(&e)).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let more = errors.count();
    let rest = if more == 0 { String::new() } else { format!("\n- and {more} more") };
    Err(lines.join("\n") + &rest)
}

fn line(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let mut said = error.to_string();
    if said.len() > 300 {
        said.truncate(said.floor_char_boundary(300));
        said.push('…');
    }
    if path.is_empty() { format!("- {said}") } else { format!("- {path}: {said}") }
}

/// Empty by default: for a model that cannot call any tool, for the last allowed step, for a summary.
#[derive(Default)]
pub(crate) struct Toolset {
    tools: Vec<Arc<Tool>>,
    decls: Arc<[ToolDecl]>,
}

impl Toolset {
    /// The tools that the profile names and that no rule denies for everything; of the two ways to change files the one that the
    /// model was made for.
    pub(crate) fn new(specs: Vec<Arc<ToolSpec>>, profile: &Profile, policy: &Policy, model: &str) -> Self {
        let mut specs: Vec<_> = specs.into_iter().filter(|s| is_shown(s, profile, policy)).collect();
        choose_editing(&mut specs, model);
        if !specs.iter().any(|s| s.name == STARTER) {
            specs.retain(|s| !COMPANIONS.contains(&s.name.as_str()));
        }
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        specs.dedup_by(|a, b| a.name == b.name);
        let decls = specs.iter().map(|s| declare(s)).collect();
        let tools = specs.into_iter().map(|spec| Arc::new(Tool { spec, validator: OnceLock::new() })).collect();
        Self { tools, decls }
    }

    /// With what the hooks tell the model of each tool. A call is held against the tool's own schema all the same.
    pub(crate) async fn described(mut self, hooks: &dyn Hooks, context: &TurnContext) -> Self {
        let mut decls = Vec::with_capacity(self.decls.len());
        for decl in self.decls.iter() {
            let told = hooks.tool_spec(context, decl.clone()).await;
            decls.push(ToolDecl { name: decl.name.clone(), ..told });
        }
        self.decls = decls.into();
        self
    }

    /// Every tool there is: for calls that a person asks for.
    pub(crate) fn all(specs: Vec<Arc<ToolSpec>>) -> Self {
        let decls = specs.iter().map(|s| declare(s)).collect();
        let mut tools: Vec<_> =
            specs.into_iter().map(|spec| Arc::new(Tool { spec, validator: OnceLock::new() })).collect();
        tools.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
        Self { tools, decls }
    }

    /// This tool, whatever the rules say: the gate judges the call.
    pub(crate) fn only(spec: Arc<ToolSpec>) -> Self {
        let decls = Arc::new([declare(&spec)]);
        Self { tools: vec![Arc::new(Tool { spec, validator: OnceLock::new() })], decls }
    }

    /// Whether the model may call anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|t| t.spec.name.clone()).collect()
    }

    pub(crate) fn decls(&self) -> Arc<[ToolDecl]> {
        self.decls.clone()
    }

    /// The tool of this name; a model that writes `Read` means `read`.
    ///
    /// # Errors
    /// That there is none, and which there are.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Tool>, ToolFailure> {
        let exact = self.tools.binary_search_by(|t| t.spec.name.as_str().cmp(name)).ok();
        let found = exact.map(|i| &self.tools[i]).or_else(|| {
            let lower = name.to_lowercase();
            self.tools.iter().find(|t| t.spec.name == lower)
        });
        found.cloned().ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let names: Vec<&str> = self.tools.iter().map(|t| t.spec.name.as_str()).collect();
        let text = if names.is_empty() {
            format!("There is no tool {name:?}: no tools can be used now. Answer in text.")
        } else {
            format!("There is no tool {name:?}. The tools are: {}.", names.join(", "))
        };
        ToolFailure::new(FailureKind::Unavailable, text)
    }
}

fn is_shown(spec: &ToolSpec, profile: &Profile, policy: &Policy) -> bool {
    // Whoever has the one has the others.
    let name = if COMPANIONS.contains(&spec.name.as_str()) { STARTER } else { &spec.name };
    let named = profile.tools.as_ref().is_none_or(|names| names.iter().any(|n| wildcard::matches(n, name)));
    named && !spec.permissions().into_iter().any(|p| policy.denies_all(p))
}

const PATCH: &str = "apply_patch";
const BY_TEXT: [&str; 2] = ["edit", "write"];

/// Where both ways are there, only one of them is shown.
fn choose_editing(specs: &mut Vec<Arc<ToolSpec>>, model: &str) {
    let has = |names: &[&str]| specs.iter().any(|s| names.contains(&s.name.as_str()));
    if !has(&[PATCH]) || !has(&BY_TEXT) {
        return;
    }
    let patches = wants_patches(model);
    specs.retain(|s| if patches { !BY_TEXT.contains(&s.name.as_str()) } else { s.name != PATCH });
}

/// Models that were trained on patches (agent-core, section 6.0).
fn wants_patches(model: &str) -> bool {
    model.contains("gpt-") && !model.contains("oss") && !model.contains("gpt-4")
}

fn declare(spec: &ToolSpec) -> ToolDecl {
    ToolDecl {
        name: spec.name.clone(),
        description: spec.description.clone(),
        input_schema: spec.input_schema.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::profile;
    use crate::testing::tools::spec;
    use model::permission::{Action, Layer, Reach, Rule};
    use model::tool::{Scope, ScopeKind};
    use serde_json::json;

    fn specs() -> Vec<Arc<ToolSpec>> {
        let mut write = spec("write", false);
        write.scopes.push(Scope { argument: "path".into(), kind: ScopeKind::FsWrite, default: None });
        [write, spec("read", true), spec("bash", false)].into_iter().map(Arc::new).collect()
    }

    fn check(tools: Option<&[&str]>, deny: &[(&str, &str)], expected: &[&str]) {
        let mut profile = profile();
        profile.tools = tools.map(|t| t.iter().map(|n| (*n).to_owned()).collect());
        let rules = deny.iter().map(|(p, w)| Rule::new(*p, *w, Action::Deny)).collect();
        let policy = Policy { layers: vec![Layer { origin: "test".into(), reach: Reach::Full, rules }] };
        let set = Toolset::new(specs(), &profile, &policy, "m");
        let names: Vec<&str> = set.decls.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, expected, "{tools:?} {deny:?}");
    }

    #[test]
    fn tools_are_chosen_and_sorted() {
        check(None, &[], &["bash", "read", "write"]);
        check(Some(&["write", "read", "other"]), &[], &["read", "write"]);
        check(Some(&[]), &[], &[]);
        check(None, &[("bash", "*")], &["read", "write"]);
        check(None, &[("bash", "rm *")], &["bash", "read", "write"]);
        check(None, &[("edit", "*")], &["bash", "read"]);
    }

    #[test]
    fn programs_in_the_background_are_looked_after_where_they_can_be_begun() {
        let names = |tools: Option<&[&str]>, deny: &[&str]| {
            let all = ["bash", "bash_output", "bash_stop", "read"].map(|n| Arc::new(spec(n, false)));
            let tools = tools.map(|t| t.iter().map(|n| (*n).to_owned()).collect());
            let rules = deny.iter().map(|p| Rule::new(*p, "*", Action::Deny)).collect();
            let policy = Policy { layers: vec![Layer { origin: "test".into(), reach: Reach::Full, rules }] };
            Toolset::new(all.to_vec(), &Profile { tools, ..profile() }, &policy, "m").names()
        };
        let all = ["bash", "bash_output", "bash_stop", "read"];
        assert_eq!(names(None, &[]), all);
        assert_eq!(names(Some(&["bash"]), &[]), all[..3]);
        assert_eq!(names(Some(&["read"]), &[]), ["read"]);
        assert_eq!(names(None, &["bash"]), ["read"]);
    }

    #[test]
    fn a_model_changes_files_in_its_own_way() {
        let by_text = ["edit", "read", "write"];
        let check = |model: &str, tools: Option<&[&str]>, expected: &[&str]| {
            let specs = ["apply_patch", "edit", "read", "write"].map(|n| Arc::new(spec(n, false))).to_vec();
            let mut profile = profile();
            profile.tools = tools.map(|t| t.iter().map(|n| (*n).to_owned()).collect());
            let set = Toolset::new(specs, &profile, &Policy::default(), model);
            let names: Vec<&str> = set.decls.iter().map(|d| d.name.as_str()).collect();
            assert_eq!(names, expected, "{model} {tools:?}");
        };
        check("gpt-5.1", None, &["apply_patch", "read"]);
        check("openai/gpt-5-codex", None, &["apply_patch", "read"]);
        for model in ["gpt-4.1", "gpt-oss-120b", "claude", "qwen"] {
            check(model, None, &by_text);
        }
        // An agent that names one way keeps it, whatever the model.
        check("gpt-5.1", Some(&["read", "write"]), &["read", "write"]);
        check("qwen", Some(&["apply_patch"]), &["apply_patch"]);
    }

    #[test]
    fn a_name_is_tried_in_lower_case_and_an_unknown_one_lists_the_known() {
        let set = Toolset::new(specs(), &profile(), &Policy::default(), "m");
        assert_eq!(set.get("Read").ok().map(|t| t.spec.name.clone()), Some("read".into()));
        let Err(failure) = set.get("grep") else { panic!() };
        assert_eq!(failure.kind, FailureKind::Unavailable);
        assert!(failure.message.contains("bash, read, write"), "{failure}");
    }

    #[test]
    fn arguments_are_held_against_the_schema() {
        let mut strict = spec("read", true);
        strict.input_schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let set = Toolset::new(vec![Arc::new(strict)], &profile(), &Policy::default(), "m");
        let Ok(tool) = set.get("read") else { panic!() };
        assert_eq!(tool.validate(&json!({"path": "a"})), Ok(()));
        let failure = tool.validate(&json!({"path": 3})).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidInput);
        assert!(failure.message.contains("/path"), "{failure}");
        assert!(tool.validate(&json!({})).unwrap_err().message.contains("\"path\" is a required property"));
    }
}
