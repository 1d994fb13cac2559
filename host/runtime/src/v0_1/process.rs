//! `process` of version 0.1: a thin adapter to the capability.

use super::bindings::tool::airlock::plugin::process as wit;
use crate::caps::process::{self, Channel, Child, Event, Exit, SpawnError, Target};
use crate::state::CallState;
use model::beyond::Beyond;
use model::grant::Grant;
use std::path::Path;
use std::time::Duration;
use wasmtime::component::Resource;

type Trappable<T> = wasmtime::Result<T>;

/// Programs that one call can have running at once.
const CHILDREN: usize = 16;

impl wit::Host for CallState {
    async fn spawn(&mut self, command: wit::Command) -> Trappable<Result<Resource<Child>, wit::SpawnError>> {
        let command = command_of(command, Beyond::default(), &self.workspace, &self.env);
        self.begin(command).await
    }

    async fn spawn_beyond(
        &mut self,
        command: wit::Command,
        beyond: wit::Beyond,
    ) -> Trappable<Result<Resource<Child>, wit::SpawnError>> {
        let beyond = Beyond {
            network: beyond.network,
            writable: beyond.writable.into_iter().map(|path| self.workspace.join(path)).collect(),
            unconfined: beyond.unconfined,
        };
        let command = command_of(command, beyond, &self.workspace, &self.env);
        self.begin(command).await
    }

    fn leave(&mut self, child: Resource<Child>) -> Trappable<Result<String, String>> {
        let child = self.table.delete(child)?;
        self.children -= 1;
        let line = child.line.clone();
        let left = self.yard.leave(&self.funnel.actor.session, &line, child);
        self.has_left |= left.is_ok();
        Ok(left)
    }
}

impl CallState {
    async fn begin(&mut self, command: process::Command) -> Trappable<Result<Resource<Child>, wit::SpawnError>> {
        if let Err(why) = may_run(&self.grant, &command.run) {
            return Ok(Err(wit::SpawnError::Denied(why)));
        }
        if self.children >= CHILDREN {
            let why = format!("{CHILDREN} programs run already in this call");
            return Ok(Err(wit::SpawnError::Failed(why)));
        }
        match process::spawn(&self.funnel, &self.sandbox, command).await {
            Ok(child) => {
                self.children += 1;
                self.held.push(child.held.clone());
                Ok(Ok(self.table.push(child)?))
            }
            Err(error) => Ok(Err(told(error))),
        }
    }
}

impl wit::HostChild for CallState {
    async fn next(&mut self, child: Resource<Child>) -> Trappable<Option<wit::Event>> {
        Ok(self.table.get_mut(&child)?.next().await.map(event))
    }

    async fn kill(&mut self, child: Resource<Child>) -> Trappable<()> {
        self.table.get_mut(&child)?.kill().await;
        Ok(())
    }

    fn kept(&mut self, child: Resource<Child>) -> Trappable<Option<String>> {
        Ok(self.table.get(&child)?.kept().map(|p| p.to_string_lossy().into_owned()))
    }

    fn drop(&mut self, child: Resource<Child>) -> Trappable<()> {
        self.table.delete(child)?;
        self.children -= 1;
        Ok(())
    }
}

/// The component's own upper bound, before the gate is asked. A shell line may run anything, so it takes the right to anything.
fn may_run(grant: &Grant, target: &Target) -> Result<(), String> {
    let granted = &grant.process.programs;
    let program = match target {
        Target::Argv(argv) => argv.first().map_or("", String::as_str),
        Target::Shell(_) => "*",
    };
    if granted.contains("*") || granted.contains(program) {
        return Ok(());
    }
    let what = if program == "*" { "shell lines".to_owned() } else { format!("`{program}`") };
    Err(format!("this component was not granted to run {what}; its manifest must name it under `process.programs`"))
}

/// What hooks said of the environment lies below what the component says itself.
fn command_of(given: wit::Command, beyond: Beyond, workspace: &Path, env: &[(String, String)]) -> process::Command {
    process::Command {
        run: match given.run {
            wit::Target::Argv(argv) => Target::Argv(argv),
            wit::Target::Shell(line) => Target::Shell(line),
        },
        cwd: given.cwd.map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd)),
        env: env.iter().cloned().chain(given.env).collect(),
        stdin: given.stdin,
        timeout: given.timeout_ms.map(Duration::from_millis),
        keep_over: given.keep_over,
        beyond,
    }
}

fn told(error: SpawnError) -> wit::SpawnError {
    match error {
        SpawnError::Denied(why) => wit::SpawnError::Denied(why),
        SpawnError::NotFound(why) => wit::SpawnError::NotFound(why),
        SpawnError::Failed(why) => wit::SpawnError::Failed(why),
    }
}

fn event(event: Event) -> wit::Event {
    match event {
        Event::Output(channel, data) => {
            let channel = match channel {
                Channel::Stdout => wit::Channel::Stdout,
                Channel::Stderr => wit::Channel::Stderr,
            };
            wit::Event::Output(wit::Chunk { channel, data })
        }
        Event::Exited(Exit::Code(code)) => wit::Event::Exited(wit::Exit::Code(code)),
        Event::Exited(Exit::Signal(signal)) => wit::Event::Exited(wit::Exit::Signal(signal)),
        Event::Exited(Exit::TimedOut) => wit::Event::Exited(wit::Exit::TimedOut),
        Event::Exited(Exit::Killed) => wit::Event::Exited(wit::Exit::Killed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::grant::Programs;

    #[test]
    fn a_shell_line_takes_the_right_to_any_program() {
        let grant = |names: &[&str]| Grant {
            process: Programs { programs: names.iter().map(|n| (*n).to_owned()).collect() },
            ..Grant::default()
        };
        let (git, line) = (Target::Argv(vec!["git".into(), "log".into()]), Target::Shell("git log".into()));
        for (names, argv, shell) in [(&[][..], false, false), (&["git"], true, false), (&["*"], true, true)] {
            assert_eq!(may_run(&grant(names), &git).is_ok(), argv, "{names:?}");
            assert_eq!(may_run(&grant(names), &line).is_ok(), shell, "{names:?}");
        }
    }
}
