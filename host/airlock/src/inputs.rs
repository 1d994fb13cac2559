//! From what a person gave to the prompt of a run: a command expanded, what is mentioned read, images made to fit. What touches files or
//! programs on the way is a call like any other, through hooks and gate.

use crate::attach::{Attached, Given};
use crate::cli::{Ground, say};
use crate::commands::expand::{Piece, expand};
use crate::commands::{Command, Commands};
use crate::config::{Config, Origin, Said, nearest};
use crate::mentions::{Mention, mentions};
use crate::report::{Exit, Report, denied_next};
use agent::{Ports, Prompt, Undone, errand};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::fault::FailureKind;
use model::grant::CallGrant;
use model::hook::{CommandView, TurnContext};
use model::id::{CallId, MessageId};
use model::message::FilePart;
use model::profile::AgentMode;
use model::session::Session;
use model::tool::{Progress, ProgressSink, ToolCall};
use model::tool_state::Done;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Longest line of a command's template in milliseconds.
const SHELL_TIMEOUT_MS: u64 = 60_000;
/// What one prompt may mention.
const MAX_MENTIONS: usize = 50;

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// The words as they are.
    Words,
    /// A command, and what stands behind its name.
    Command(Box<Command>, String),
    /// A line for the shell, for the model to see the next time.
    Shell(String),
}

#[derive(Clone, Debug)]
pub struct Wanted {
    pub ask: Ask,
    given: Given,
}

impl Wanted {
    /// `/name …` is a command. A path begins with a slash too: with a second one in it, or where there is a file of that name, it
    /// belongs to the words.
    ///
    /// # Errors
    /// A command that is not there.
    pub fn of(given: Given, named: Option<&str>, commands: &Commands) -> Result<Self, Report> {
        let words = given.words.trim();
        let ask = match named {
            Some(name) => {
                let command = commands.all.get(name).ok_or_else(|| unknown(name, commands))?;
                Ask::Command(Box::new(command.clone()), words.to_owned())
            }
            None => of_words(words, commands)?,
        };
        Ok(Self { ask, given })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ask == Ask::Words
            && self.given.words.trim().is_empty()
            && self.given.piped.is_none()
            && self.given.files.is_empty()
    }

    /// What a command says of agent and model counts where the person says nothing.
    pub fn lay_into(&self, config: &mut Config) {
        let Ask::Command(command, _) = &self.ask else { return };
        let by_flag = |by: &Origin| matches!(by, Origin::Flag(_));
        if let Some(agent) = command.agent.clone().filter(|_| !by_flag(&config.agent.by)) {
            config.agent = Said { value: agent, by: Origin::Flag("the command") };
        }
        let flagged = config.model.as_ref().is_some_and(|m| by_flag(&m.by));
        if let Some(model) = command.model.clone().filter(|_| !flagged) {
            config.model = Some(Said { value: model, by: Origin::Flag("the command") });
        }
    }

    /// A title, where the text itself is none.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let text = match &self.ask {
            Ask::Words => return None,
            Ask::Command(command, arguments) => format!("/{} {arguments}", command.name),
            Ask::Shell(line) => format!("!{line}"),
        };
        Some(text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(50).collect())
    }
}

fn of_words(words: &str, commands: &Commands) -> Result<Ask, Report> {
    if let Some(line) = words.strip_prefix('!').map(str::trim).filter(|l| !l.is_empty()) {
        return Ok(Ask::Shell(line.to_owned()));
    }
    let Some(rest) = words.strip_prefix('/') else { return Ok(Ask::Words) };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match commands.all.get(name) {
        Some(command) => Ok(Ask::Command(Box::new(command.clone()), arguments.trim().to_owned())),
        None if reads_like_a_command(name) && !Path::new("/").join(name).exists() => Err(mistyped(name, commands)),
        None => Ok(Ask::Words),
    }
}

fn reads_like_a_command(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
}

/// Said to the model it would be words without a meaning.
fn mistyped(name: &str, commands: &Commands) -> Report {
    let Report { what, next, exit } = unknown(name, commands);
    Report::new(exit, what, format!("{next} For the model to read `/{name}` as it stands, begin with another word."))
}

fn unknown(name: &str, commands: &Commands) -> Report {
    let next = match nearest(name, commands.all.keys().map(String::as_str)) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => "`airlock commands` lists them.".into(),
    };
    Report::usage(format!("there is no command `{name}`"), next)
}

/// A prompt that is ready, and what a person sees of its making.
pub struct Composed {
    pub prompt: Prompt,
    /// What a line that the person ran has printed.
    pub printed: String,
}

/// Where a prompt is put together.
pub struct Desk<'a> {
    pub ground: &'a Ground,
    pub ports: &'a Ports,
    pub session: &'a Session,
    pub cancel: &'a CancellationToken,
}

impl Desk<'_> {
    /// # Errors
    /// What was not permitted, an image that cannot be used.
    pub async fn compose(&self, wanted: Wanted) -> Result<Composed, Report> {
        let Given { words, piped, files } = wanted.given;
        let (text, said) = match &wanted.ask {
            Ask::Words => (words.clone(), words),
            Ask::Command(command, arguments) => self.expanded(command, arguments).await?,
            Ask::Shell(line) => {
                let done = self.shell(line).await?;
                return Ok(Composed { prompt: ran(line, &done), printed: done.output });
            }
        };
        let mut prompt = Prompt { text: with_piped(text, piped), ..Prompt::default() };
        for Attached { path, part } in files {
            prompt.files.push(if part.mime.starts_with("image/") { self.fitted(&path, part).await? } else { part });
        }
        for mention in mentions(&said).into_iter().take(MAX_MENTIONS) {
            self.mention(&mention, &mut prompt).await?;
        }
        Ok(Composed { prompt, printed: String::new() })
    }

    /// What a line prints, for whoever asked for it.
    async fn shell(&self, line: &str) -> Result<Done, Report> {
        let input = json!({ "command": line, "timeout": SHELL_TIMEOUT_MS });
        let done = errand(self.ports, self.session, "bash", &input, self.cancel.child_token()).await;
        done.map_err(|undone| refused(&format!("the line `{line}` was not run"), &undone))
    }

    /// The text of a command, and of it what a person or a template wrote: what a program prints mentions nothing.
    async fn expanded(&self, command: &Command, arguments: &str) -> Result<(String, String), Report> {
        let (mut text, mut said) = (String::new(), String::new());
        for piece in expand(&command.template, arguments) {
            match piece {
                Piece::Text(piece) => {
                    said.push_str(&piece);
                    text.push_str(&piece);
                }
                Piece::Shell(line) => text.push_str(self.shell(&line).await?.output.trim_end()),
            }
        }
        let context = TurnContext {
            session: self.session.id.clone(),
            agent: self.session.agent.clone(),
            model: self.session.model.clone(),
        };
        let view = CommandView { name: command.name.clone(), arguments: arguments.to_owned(), text };
        Ok((self.ports.hooks.command(&context, view).await.text, said))
    }

    async fn mention(&self, mention: &Mention, prompt: &mut Prompt) -> Result<(), Report> {
        let Some(path) = self.path(&mention.name) else {
            match self.agent(&mention.name) {
                Some(note) => prompt.notes.push(note),
                None => say(&format!(
                    "`@{}` names no file here and no agent: the model reads it as it stands",
                    mention.name
                )),
            }
            return Ok(());
        };
        let mut input = json!({ "filePath": path });
        if let Some((first, last)) = mention.lines {
            input["offset"] = first.into();
            if let Some(last) = last {
                input["limit"] = (last - first + 1).into();
            }
        }
        let mut note = format!("Called the read tool with the following input: {input}");
        match errand(self.ports, self.session, "read", &input, self.cancel.child_token()).await {
            Ok(done) => {
                let _ = write!(note, "\n{}", done.output);
                prompt.files.extend(done.attachments.into_iter().map(|a| FilePart {
                    mime: a.mime,
                    filename: a.filename.or_else(|| Some(mention.name.clone())),
                    url: a.url,
                }));
            }
            Err(undone) if undone.blocked.is_some() || undone.kind == FailureKind::Interrupted => {
                return Err(refused(&format!("the file @{} was not read", mention.name), &undone));
            }
            Err(undone) => {
                let _ = write!(note, "\nIt failed: {}", undone.message);
            }
        }
        prompt.notes.push(note);
        Ok(())
    }

    /// An image as the tool `read` gives it: not too wide, not too large. It is decoded behind the boundary: a picture may come from
    /// anybody. The person named the file, so that nobody is asked for leave.
    async fn fitted(&self, path: &Path, part: FilePart) -> Result<FilePart, Report> {
        let unusable = |why: String| {
            let what = format!("the image {} cannot be given to the model: {why}", path.display());
            Report::usage(what, "Check the name behind --file.")
        };
        let real = path.canonicalize().map_err(|e| unusable(e.to_string()))?;
        let call = ToolCall {
            session: self.session.id.clone(),
            message: MessageId::new(),
            call: CallId::given("file"),
            agent: self.session.agent.clone(),
            tool: "read".into(),
            input: json!({ "filePath": real }),
            workspace: self.session.directory.clone(),
            worktree: self.session.worktree.clone(),
            grant: CallGrant { reads: vec![real], ..CallGrant::default() },
            env: vec![],
            now_ms: self.ports.clock.now_ms(),
        };
        let read = self.ports.tools.call(call, Arc::new(Unseen), self.cancel.child_token()).await;
        let output = read.map_err(|failure| unusable(failure.message))?;
        let image = output.attachments.into_iter().next().ok_or_else(|| unusable("it is no image".into()))?;
        let url = format!("data:{};base64,{}", image.mime, STANDARD.encode(&image.data));
        Ok(FilePart { mime: image.mime, url, ..part })
    }

    /// A path that is there, from the working directory or else from the workspace's root.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let place = &self.ground.place;
        let home = name.strip_prefix("~/").zip(self.ground.paths.home.as_ref()).map(|(rest, home)| home.join(rest));
        let candidates = home.into_iter().chain([place.directory.join(name), place.worktree.join(name)]);
        candidates.into_iter().find(|p| p.exists())
    }

    fn agent(&self, name: &str) -> Option<String> {
        let agent = self.ground.config.agents.get(name).filter(|a| a.mode != AgentMode::Primary)?;
        Some(format!("Use the task tool with the subagent `{}` for what is said above.", agent.name))
    }
}

/// Whoever waits for it sees the result alone.
struct Unseen;

impl ProgressSink for Unseen {
    fn update(&self, _: Progress) {}
}

fn with_piped(text: String, piped: Option<String>) -> String {
    match piped {
        Some(piped) if text.is_empty() => piped,
        Some(piped) => format!("{text}\n\n{piped}"),
        None => text,
    }
}

/// What a person ran is no question: the model reads it with the next one.
fn ran(line: &str, done: &Done) -> Prompt {
    let exit = done.metadata.get("exit").and_then(Value::as_i64).filter(|code| *code != 0);
    let exit = exit.map(|code| format!("\n(exit code {code})")).unwrap_or_default();
    let note = format!("The user ran this shell line:\n{line}\n\nIt printed:\n{}{exit}", done.output);
    Prompt { notes: vec![note], ..Prompt::default() }
}

fn refused(what: &str, undone: &Undone) -> Report {
    let exit = match undone.kind {
        FailureKind::Denied => Exit::Denied,
        FailureKind::Interrupted => Exit::Interrupted,
        _ => Exit::Failed,
    };
    let why = undone.blocked.as_ref().unwrap_or(&undone.message);
    Report::new(exit, format!("{what}: {why}"), denied_next(why))
}

#[cfg(test)]
mod tests;
