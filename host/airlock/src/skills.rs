//! Skills: folders with a `SKILL.md` that tells the model how to do something. Names and descriptions stand in the prompt; the tool
//! `skill` loads the rest when it is needed (agent-core, sections 6.13 and 9.5).

use crate::config::paths::{Paths, Place};
use crate::documents::{Document, files};
use agent::{HostTool, Instruction};
use async_trait::async_trait;
use indexmap::IndexMap;
use model::fault::FailureKind;
use model::tool::{Annotations, ProgressSink, Scope, ScopeKind, ToolCall, ToolFailure, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub const TOOL: &str = "skill";
const FILE: &str = "SKILL.md";
/// Bytes of all descriptions together: each request carries them.
const MAX_LISTED: usize = 16 << 10;
/// Files of a skill's folder that are named to the model.
const SAMPLE: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// Without one it is not listed, and can be loaded all the same.
    pub description: Option<String>,
    pub file: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub struct Skills {
    pub all: IndexMap<String, Skill>,
    /// Folders of the person's own, which may be read without a question.
    pub own: Vec<PathBuf>,
    /// For the person: what was left out, and why.
    pub notices: Vec<String>,
}

/// Finds them all; a later place overrides an earlier one's names. Files of a repository are taken only from inside of it.
#[must_use]
pub fn find(paths: &Paths, place: &Place, further: &[PathBuf]) -> Skills {
    let mut skills = Skills::default();
    let home = paths.home.iter().flat_map(|h| [h.join(".claude/skills"), h.join(".agents/skills")]);
    for folder in home.chain([paths.config.join("skill"), paths.config.join("skills")]) {
        skills.add(&folder, None);
    }
    skills.own = skills.all.values().filter_map(|s| s.file.parent()).map(Path::to_owned).collect();
    const OF_WORKSPACE: [&str; 5] =
        [".claude/skills", ".agents/skills", ".opencode/skill", ".opencode/skills", ".airlock/skills"];
    let mut upwards: Vec<&Path> = place.upwards().collect();
    upwards.reverse();
    for folder in upwards.into_iter().flat_map(|d| OF_WORKSPACE.map(|f| d.join(f))) {
        skills.add(&folder, Some(&place.worktree));
    }
    for folder in further {
        let within = folder.starts_with(&place.worktree).then_some(place.worktree.as_path());
        skills.add(folder, within);
    }
    skills
}

impl Skills {
    fn add(&mut self, folder: &Path, within: Option<&Path>) {
        for file in files(folder, &|p| p.ends_with(FILE), within) {
            match read(&file) {
                Ok(skill) => {
                    self.all.insert(skill.name.clone(), skill);
                }
                Err(why) => self.notices.push(format!("the skill {} is left out: {why}", file.display())),
            }
        }
    }

    /// What the model is told of them; `None` where there is nothing to tell.
    #[must_use]
    pub fn listing(&self) -> Option<Instruction> {
        let mut text = String::from(
            "These skills tell how to do certain things. Load one with the tool `skill` before you do what it is for.\n<skills>\n",
        );
        let start = text.len();
        for skill in self.all.values() {
            let Some(description) = &skill.description else { continue };
            if text.len() - start + description.len() > MAX_LISTED {
                break;
            }
            let _ = writeln!(text, "- {}: {}", skill.name, description.replace('\n', " "));
        }
        (text.len() > start).then(|| Instruction { source: "skills".into(), text: text + "</skills>" })
    }

    /// # Errors
    /// A name that is not there, a file that cannot be read.
    fn load(&self, input: &Value) -> Result<ToolOutput, ToolFailure> {
        let name = input.get("name").and_then(Value::as_str).unwrap_or_default();
        let skill = self.all.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.all.keys().map(String::as_str).collect();
            let text = format!("There is no skill {name:?}. The skills are: {}.", names.join(", "));
            ToolFailure::new(FailureKind::NotFound, text)
        })?;
        let document = Document::read(&skill.file)
            .map_err(|why| ToolFailure::new(FailureKind::Failed, format!("The skill {name} cannot be read: {why}.")))?;
        let folder = skill.file.parent().unwrap_or(Path::new("/"));
        let mut text =
            format!("<skill name={name:?}>\n{}\n</skill>\nFolder of the skill: {}", document.body, folder.display());
        let beside = files(folder, &|p| !p.ends_with(FILE), Some(folder));
        for file in beside.iter().take(SAMPLE) {
            let _ = write!(text, "\n- {}", file.display());
        }
        Ok(ToolOutput { title: name.to_owned(), text, ..ToolOutput::default() })
    }
}

/// The tool that loads one.
pub struct SkillTool {
    skills: Arc<Skills>,
    spec: Arc<ToolSpec>,
}

impl SkillTool {
    #[must_use]
    pub fn new(skills: Arc<Skills>) -> Self {
        Self { skills, spec: Arc::new(spec()) }
    }
}

#[async_trait]
impl HostTool for SkillTool {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    async fn call(
        &self,
        call: ToolCall,
        _: Arc<dyn ProgressSink>,
        _: CancellationToken,
    ) -> Result<ToolOutput, ToolFailure> {
        self.skills.load(&call.input)
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: TOOL.into(),
        description: "Loads a skill: instructions for a certain kind of work, with the files that belong to it.".into(),
        input_schema: json!({
            "type": "object",
            "properties": { "name": { "type": "string", "description": "Name of the skill, as it is listed" } },
            "required": ["name"],
        }),
        annotations: Annotations { read_only: true, idempotent: true, ..Annotations::default() },
        scopes: vec![Scope { argument: "name".into(), kind: ScopeKind::Subject, default: None }],
    }
}

fn read(file: &Path) -> Result<Skill, String> {
    let document = Document::read(file)?;
    let name = document.text("name")?.ok_or("its head has no `name`")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("`{name}` is no name (letters, digits, `-`, `_`; at most 64)"));
    }
    Ok(Skill { name, description: document.text("description")?, file: file.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Skills) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for (name, text) in files {
            let file = base.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        std::fs::create_dir_all(base.join("repo/.git")).unwrap();
        std::fs::create_dir_all(base.join("repo/sub")).unwrap();
        let paths = Paths {
            home: Some(base.join("home")),
            config: base.join("config"),
            data: base.clone(),
            cache: base.clone(),
            ..Paths::for_tests()
        };
        let place = Place::at(&base.join("repo/sub")).unwrap();
        let skills = find(&paths, &place, &[base.join("repo/more")]);
        (dir, skills)
    }

    fn skill(name: &str, description: &str) -> String {
        format!("---\nname: {name}\ndescription: {description}\n---\nDo {description}.")
    }

    #[test]
    fn later_places_override_and_broken_files_are_named() {
        let (_dir, skills) = tree(&[
            ("home/.claude/skills/a/SKILL.md", &skill("a", "home")),
            ("config/skills/b/SKILL.md", &skill("b", "config")),
            ("repo/.claude/skills/a/SKILL.md", &skill("a", "root")),
            ("repo/sub/.airlock/skills/deep/er/SKILL.md", &skill("c", "near")),
            ("repo/more/d/SKILL.md", &skill("d", "configured")),
            ("repo/.agents/skills/bad/SKILL.md", "---\nname: [\n---\n"),
            ("repo/.agents/skills/worse/SKILL.md", "no head"),
            ("repo/.agents/skills/silent/SKILL.md", "---\nname: silent\n---\nx"),
        ]);
        let found: Vec<_> = skills.all.values().map(|s| (s.name.as_str(), s.description.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("a", Some("root")),
                ("b", Some("config")),
                ("silent", None),
                ("c", Some("near")),
                ("d", Some("configured"))
            ]
        );
        assert_eq!(skills.notices.len(), 2, "{:?}", skills.notices);
        assert!(skills.notices[0].contains("bad/SKILL.md") && skills.notices[1].contains("`name`"));
        let listing = skills.listing().unwrap().text;
        assert!(
            listing.contains("- a: root\n- b: config\n- c: near\n- d: configured\n") && !listing.contains("silent")
        );
    }

    #[test]
    fn one_is_loaded_with_its_files() {
        let (_dir, skills) = tree(&[
            ("repo/.airlock/skills/x/SKILL.md", &skill("x", "it")),
            ("repo/.airlock/skills/x/scripts/run.sh", "echo"),
        ]);
        let output = skills.load(&json!({"name": "x"})).unwrap();
        assert!(output.text.contains("Do it.") && output.text.contains("skills/x/scripts/run.sh"), "{}", output.text);
        let failure = skills.load(&json!({"name": "y"})).unwrap_err();
        assert!(failure.kind == FailureKind::NotFound && failure.message.contains("The skills are: x."), "{failure}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_out_of_no_repository() {
        let (dir, _) = tree(&[("outside/s/SKILL.md", &skill("s", "secret")), ("repo/.airlock/x", "")]);
        let base = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(base.join("outside"), base.join("repo/.airlock/skills")).unwrap();
        let paths = Paths {
            home: None,
            config: base.join("config"),
            data: base.clone(),
            cache: base.clone(),
            ..Paths::for_tests()
        };
        let skills = find(&paths, &Place::at(&base.join("repo")).unwrap(), &[]);
        assert!(skills.all.is_empty() && skills.listing().is_none());
    }
}
