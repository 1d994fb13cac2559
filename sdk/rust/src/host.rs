//! What the host does for a running call, in plain types.
//!
//! `tool_plugin!` makes a module `host` in the plugin's crate with these functions; a component imports only what it calls:
//!
//! | Function | What |
//! | --- | --- |
//! | `host::log(Level, &str)` | a line in the log, bounded |
//! | `host::progress(Option<&str>, Option<&Value>)` | title and metadata of the running call; the newest wins |
//! | `host::ask(&Request) -> Result<(), Denial>` | a permission beyond the scopes |
//! | `host::is_secret_set(&str) -> bool` | names only: values never cross |
//! | `host::spawn(Command) -> Result<impl Child, SpawnError>` | a program in the OS sandbox |
//! | `host::spawn_beyond(Command, Beyond) -> …` | the same, with more than the sandbox gives: the person is asked for just that |
//!
//! Outside a component there is no host: nothing is logged, every ask is [`Denial::Unanswered`], no secret is set, and every program
//! fails to start.

use std::time::Duration;

/// Level of a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A permission beyond the scopes of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name in the rules, such as `edit`.
    pub permission: String,
    /// What it is asked for.
    pub patterns: Vec<String>,
    /// Patterns that an answer of *always* would add.
    pub always: Vec<String>,
}

/// Why a permission was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// A rule says no.
    Rule(String),
    /// The person said no, with a reason or not.
    Rejected(Option<String>),
    /// Nobody is there to answer.
    Unanswered,
    Cancelled,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Program and arguments, without a shell.
    Argv(Vec<String>),
    /// A line for the user's shell.
    Shell(String),
}

/// A program to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub run: Target,
    /// Absolute, or relative to the workspace; `None` = the workspace.
    pub cwd: Option<String>,
    /// Added to the minimal environment that the host builds.
    pub env: Vec<(String, String)>,
    /// `None` = end of file at once.
    pub stdin: Option<Vec<u8>>,
    pub timeout: Option<Duration>,
    /// Once more than this many bytes were printed, the host keeps the whole output in a file.
    pub keep_over: Option<u64>,
}

impl Command {
    /// A line for the user's shell, in the workspace.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self { run: Target::Shell(line.into()), cwd: None, env: vec![], stdin: None, timeout: None, keep_over: None }
    }
}

/// What one program is to be let do beyond the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Any host may be reached, this machine's own services too.
    pub network: bool,
    /// Files and folders that are there, absolute or relative to the workspace, which it may change.
    pub writable: Vec<String>,
    /// No sandbox at all.
    pub unconfined: bool,
}

/// Where a piece of output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Killed,
}

/// What a running program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Output(Channel, Vec<u8>),
    Exited(Exit),
}

/// Why a program was not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnError {
    Denied(String),
    NotFound(String),
    Failed(String),
}

/// A running program. It ends with the call at the latest, unless it is left behind.
pub trait Child {
    /// The next piece of output, or the end; nothing after the end.
    fn next(&mut self) -> Option<Event>;
    /// Ends it, with all that it started.
    fn kill(&mut self);
    /// Path of the file that keeps the whole output, where there is one.
    fn kept(&self) -> Option<String>;
    /// Leaves it running when the call ends; the session owns it then. The id that it is known by.
    ///
    /// # Errors
    /// Why it was ended instead.
    fn leave(self) -> Result<String, String>
    where
        Self: Sized,
    {
        Err("there is no host".into())
    }
}

/// The module `host` of a plugin: calls over the boundary in a component, and what stands for them outside one.
#[doc(hidden)]
#[macro_export]
macro_rules! __host_module {
    () => {
        #[allow(dead_code, reason = "a plugin calls what it needs")]
        mod host {
            use $crate::__private::serde_json::Value;
            use $crate::host::{
                Beyond, Channel, Child, Command, Denial, Event, Exit, Level, Request, SpawnError, Target,
            };

            #[cfg(not(target_family = "wasm"))]
            mod inner {
                use super::{Beyond, Command, Denial, Event, Level, Request, SpawnError, Value};

                pub struct Running;

                impl super::Child for Running {
                    fn next(&mut self) -> Option<Event> {
                        None
                    }
                    fn kill(&mut self) {}
                    fn kept(&self) -> Option<String> {
                        None
                    }
                }

                pub fn log(_: Level, _: &str) {}
                pub fn progress(_: Option<&str>, _: Option<&Value>) {}
                pub fn ask(_: &Request) -> Result<(), Denial> {
                    Err(Denial::Unanswered)
                }
                pub fn is_secret_set(_: &str) -> bool {
                    false
                }
                pub fn spawn(_: Command) -> Result<Running, SpawnError> {
                    Err(SpawnError::Failed("there is no host".into()))
                }
                pub fn spawn_beyond(_: Command, _: Beyond) -> Result<Running, SpawnError> {
                    Err(SpawnError::Failed("there is no host".into()))
                }
            }

            #[cfg(target_family = "wasm")]
            mod inner {
                use super::super::__airlock::airlock::plugin::{
                    ask as wit_ask, log as wit_log, process, progress as wit_progress, secrets,
                };
                use super::{Beyond, Channel, Command, Denial, Event, Exit, Level, Request, SpawnError, Target, Value};

                pub struct Running(process::Child);

                impl super::Child for Running {
                    fn next(&mut self) -> Option<Event> {
                        self.0.next().map(event)
                    }
                    fn kill(&mut self) {
                        self.0.kill();
                    }
                    fn kept(&self) -> Option<String> {
                        self.0.kept()
                    }
                    fn leave(self) -> Result<String, String> {
                        process::leave(self.0)
                    }
                }

                pub fn log(level: Level, message: &str) {
                    let level = match level {
                        Level::Debug => wit_log::Level::Debug,
                        Level::Info => wit_log::Level::Info,
                        Level::Warn => wit_log::Level::Warn,
                        Level::Error => wit_log::Level::Error,
                    };
                    wit_log::write(level, message);
                }

                pub fn progress(title: Option<&str>, metadata: Option<&Value>) {
                    wit_progress::update(title, metadata.map(Value::to_string).as_deref());
                }

                pub fn ask(request: &Request) -> Result<(), Denial> {
                    let request = wit_ask::Request {
                        permission: request.permission.clone(),
                        patterns: request.patterns.clone(),
                        always: request.always.clone(),
                        metadata: None,
                    };
                    wit_ask::permission(&request).map_err(|denial| match denial {
                        wit_ask::Denial::Rule(rule) => Denial::Rule(rule),
                        wit_ask::Denial::Rejected(reason) => Denial::Rejected(reason),
                        wit_ask::Denial::Unanswered => Denial::Unanswered,
                        wit_ask::Denial::Cancelled => Denial::Cancelled,
                    })
                }

                pub fn is_secret_set(name: &str) -> bool {
                    secrets::is_set(name)
                }

                pub fn spawn(command: Command) -> Result<Running, SpawnError> {
                    process::spawn(&given(command)).map(Running).map_err(refused)
                }

                pub fn spawn_beyond(command: Command, beyond: Beyond) -> Result<Running, SpawnError> {
                    let Beyond { network, writable, unconfined } = beyond;
                    let beyond = process::Beyond { network, writable, unconfined };
                    process::spawn_beyond(&given(command), &beyond).map(Running).map_err(refused)
                }

                fn given(command: Command) -> process::Command {
                    process::Command {
                        run: match command.run {
                            Target::Argv(argv) => process::Target::Argv(argv),
                            Target::Shell(line) => process::Target::Shell(line),
                        },
                        cwd: command.cwd,
                        env: command.env,
                        stdin: command.stdin,
                        timeout_ms: command.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX)),
                        keep_over: command.keep_over,
                    }
                }

                fn refused(error: process::SpawnError) -> SpawnError {
                    match error {
                        process::SpawnError::Denied(m) => SpawnError::Denied(m),
                        process::SpawnError::NotFound(m) => SpawnError::NotFound(m),
                        process::SpawnError::Failed(m) => SpawnError::Failed(m),
                    }
                }

                fn event(event: process::Event) -> Event {
                    match event {
                        process::Event::Output(chunk) => {
                            let channel = match chunk.channel {
                                process::Channel::Stdout => Channel::Stdout,
                                process::Channel::Stderr => Channel::Stderr,
                            };
                            Event::Output(channel, chunk.data)
                        }
                        process::Event::Exited(exit) => Event::Exited(match exit {
                            process::Exit::Code(code) => Exit::Code(code),
                            process::Exit::Signal(signal) => Exit::Signal(signal),
                            process::Exit::TimedOut => Exit::TimedOut,
                            process::Exit::Killed => Exit::Killed,
                        }),
                    }
                }
            }

            #[allow(unused_imports, reason = "a plugin calls what it needs")]
            pub use inner::{Running, ask, is_secret_set, log, progress, spawn, spawn_beyond};
        }
    };
}
