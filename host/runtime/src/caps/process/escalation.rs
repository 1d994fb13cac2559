//! One run of one line with more than the sandbox gives. Asked for apart from the line: whoever let the line run has not let it out.

use super::level::{self, Walls};
use super::{Command, Sandbox, SpawnError, Target};
use crate::caps::Funnel;
use model::beyond::Beyond;
use model::permission::Act;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Paths of one line.
const PATHS: usize = 8;
/// What no program is let write, whoever says yes: the kernel's own view of the machine.
const NEVER: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Puts the question. The answer is the command with the real paths that were said yes to.
pub(super) async fn ask(funnel: &Funnel, sandbox: &Sandbox, command: Command) -> Result<Command, SpawnError> {
    if command.beyond.unconfined && sandbox.require {
        return Err(SpawnError::Denied(
            "The OS sandbox is required in this run (`--require-sandbox`): nothing runs without it. Ask for the network or for a \
             path instead."
                .into(),
        ));
    }
    let beyond = Beyond { writable: real(sandbox, &command)?, ..command.beyond.clone() };
    let line = match &command.run {
        Target::Shell(line) => line.clone(),
        Target::Argv(argv) => argv.join(" "),
    };
    // The question shows the line itself; what it opens is said in words.
    let metadata = json!({
        "tool": funnel.actor.tool,
        "input": { "command": line, "workdir": command.cwd },
        "opens": beyond.words(),
    });
    let act = Act::Escalate { line, beyond: beyond.clone() };
    funnel.permit(act, metadata).await.map_err(|_| {
        let why = funnel.refusal().map_or_else(|| "Not permitted.".into(), |failure| failure.message);
        SpawnError::Denied(why)
    })?;
    Ok(Command { beyond, ..command })
}

/// The paths, links resolved. What is not there cannot be opened: nobody could say what it is.
fn real(sandbox: &Sandbox, command: &Command) -> Result<Vec<PathBuf>, SpawnError> {
    if command.beyond.writable.len() > PATHS {
        return Err(SpawnError::Failed(format!("at most {PATHS} paths may be opened for one line")));
    }
    let mut paths: Vec<PathBuf> = vec![];
    for written in &command.beyond.writable {
        let path = command.cwd.join(written).canonicalize().map_err(|e| {
            SpawnError::NotFound(format!(
                "{} cannot be opened for writing: {e}. Name a file or folder that is there, such as the folder around it.",
                written.display()
            ))
        })?;
        if let Some(why) = forbidden(sandbox, &path) {
            return Err(SpawnError::Denied(format!("{} is not opened for writing: {why}.", path.display())));
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn forbidden(sandbox: &Sandbox, path: &Path) -> Option<&'static str> {
    if path.parent().is_none() {
        return Some("it is the whole file system");
    }
    if NEVER.iter().any(|never| path.starts_with(never)) {
        return Some("it belongs to the kernel");
    }
    let hosts = sandbox.hidden.iter().any(|own| path.starts_with(own) || own.starts_with(path));
    hosts.then_some("what the host keeps for itself lies there")
}

/// The sandbox with what was said yes to.
pub(super) fn opened(sandbox: &Sandbox, beyond: &Beyond) -> Sandbox {
    let mut opened = sandbox.clone();
    opened.network |= beyond.network;
    opened.writable.extend(beyond.writable.iter().cloned());
    opened
}

pub(super) fn walls(beyond: &Beyond) -> Walls {
    if beyond.unconfined { Walls { landlock: 0, seccomp: false, namespaces: false } } else { level::walls() }
}

/// What the look around a run does not see of it.
pub(super) fn unseen(beyond: &Beyond) -> Vec<String> {
    if beyond.unconfined {
        return vec!["what was changed outside of the workspace".into()];
    }
    beyond.writable.iter().map(|path| format!("what was changed in {}", path.display())).collect()
}
