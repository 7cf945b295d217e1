//! Completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde::Serialize;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Reply;

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  clawhold completion bash > ~/.local/share/bash-completion/completions/clawhold"
)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
}

#[derive(Serialize)]
struct Script<'a> {
    shell: String,
    script: &'a str,
}

impl Completion {
    /// Returns the script.
    pub(crate) fn run(self) -> Result<Reply, Failure> {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "clawhold", &mut bytes);
        let script = String::from_utf8(bytes)
            .map_err(|error| Failure::failed("the script is no UTF-8").because(&error))?;
        Ok(Reply::of(&Script { shell: self.shell.to_string(), script: &script }).raw(script))
    }
}
