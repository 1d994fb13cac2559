//! `airlock completions SHELL`.

use super::{Cli, print};
use crate::report::Report;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

pub fn main(args: &CompletionsArgs) -> Result<(), Report> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "airlock", &mut script);
    print(&String::from_utf8_lossy(&script))
}
