//! The binary: reads the command line, runs one command, and leaves with the code that the interface promises.

mod attach;
mod attempts;
mod bundled;
mod cli;
mod commands;
mod config;
mod documents;
mod front_matter;
mod inputs;
mod instructions;
mod json_lines;
mod mentions;
mod minds;
mod naming;
mod report;
mod review;
mod signals;
mod skills;
mod tui;
mod wire;

use clap::Parser;
use cli::{Cli, Command};
use report::{Exit, Report};
use std::process::ExitCode;

fn main() -> ExitCode {
    report::install_panic_report();
    start_log();
    // Said once, for as long as the process lives: tasks may refer to it.
    let cli: &'static Cli = match Cli::try_parse() {
        Ok(cli) => Box::leak(Box::new(cli)),
        Err(told) => return usage(&told),
    };
    if let Command::Compile(args) = &cli.command {
        return compile(args);
    }
    let exit = match dispatch(&cli.command) {
        Ok(exit) => exit,
        Err(report) => {
            report.print();
            report.exit
        }
    };
    ExitCode::from(exit.code())
}

/// A child that compiles is no command: its exit code is for its parent.
fn compile(args: &cli::CompileArgs) -> ExitCode {
    ExitCode::from(runtime::compile_apart(&args.kind, args.memory, args.cpu))
}

/// `AIRLOCK_LOG=debug` (or `runtime=trace,…`) writes the host's log to stderr; without it there is none.
fn start_log() {
    if let Some(filter) = config::paths::of_process().said("AIRLOCK_LOG") {
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    }
}

/// Help and version go to stdout with 0, mistakes to stderr with 2.
fn usage(told: &clap::Error) -> ExitCode {
    // A closed pipe is no reason to fail differently.
    let _ = told.print();
    if told.use_stderr() { ExitCode::from(Exit::Usage.code()) } else { ExitCode::SUCCESS }
}

/// Commands that only read files need no runtime.
fn dispatch(command: &'static Command) -> Result<Exit, Report> {
    let well = |()| Exit::Well;
    match command {
        Command::Auth(command) => cli::auth::main(command).map(well),
        Command::Secret(command) => cli::secret::main(command).map(well),
        Command::Agents(args) => cli::agents::main(args).map(well),
        Command::Commands(args) => cli::commands::main(args).map(well),
        Command::Trust(args) => cli::trust::main(args).map(well),
        Command::Skills(args) => cli::skills::main(args).map(well),
        // Dealt with before anything else.
        Command::Compile(_) => Ok(Exit::Well),
        Command::Completions(args) => cli::completions::main(args).map(well),
        Command::Config(command) => block_on(cli::config::main(command)).map(well),
        Command::Run(args) => block_on(cli::run::main(args)),
        Command::Provider(command) => block_on(cli::provider::main(command)),
        Command::Plugin(command) => block_on(cli::plugin::main(command)),
        Command::Session(command) => block_on(cli::session::main(command)).map(well),
        Command::Permission(command) => block_on(cli::permission::main(command)).map(well),
        Command::Providers(args) => block_on(cli::providers::main(args)).map(well),
        Command::Models(args) => block_on(cli::models::main(args)).map(well),
        Command::Doctor(args) => block_on(cli::doctor::main(args)),
    }
}

/// One thread carries the loop, its connections and its timers: they wait far more than they compute, and between tasks of one
/// thread a message costs no switch of threads. What computes beside them has threads of its own (`runtime/lanes`, the ledger's writer).
fn block_on<T: Send + 'static>(work: impl Future<Output = Result<T, Report>> + Send + 'static) -> Result<T, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Report::internal(format!("the threads could not be started: {e}")))?;
    let task = runtime.spawn(work);
    let broke = |e: tokio::task::JoinError| Report::internal(format!("the command broke off: {e}"));
    let result = runtime.block_on(task).map_err(broke).flatten();
    // A thread that still waits for a line of the terminal must not hold up the end.
    runtime.shutdown_background();
    result
}
