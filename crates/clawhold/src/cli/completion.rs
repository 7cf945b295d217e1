//! Completion scripts for shells.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use serde::Serialize;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Reply;
use crate::passthrough::{AGENT, OURS};

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold completion bash > ~/.local/share/bash-completion/completions/clawhold\n  clawhold completion bash --name openclaw > ~/.local/share/bash-completion/completions/openclaw"
)]
pub(crate) struct Completion {
    /// The shell
    shell: Shell,
    /// The name that is completed; for `openclaw`, the words that are ours under that name
    #[arg(long, value_name = "NAME", default_value = "clawhold", value_parser = ["clawhold", "openclaw"])]
    name: String,
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
        let mut command = match self.name.as_str() {
            "openclaw" => openclaw(),
            _ => Cli::command(),
        };
        clap_complete::generate(self.shell, &mut command, self.name.clone(), &mut bytes);
        let script = String::from_utf8(bytes)
            .map_err(|error| Failure::failed("the script is no UTF-8").because(&error))?;
        Ok(Reply::of(&Script { shell: self.shell.to_string(), script: &script }).raw(script))
    }
}

/// Returns the words that are ours under the other name.
fn openclaw() -> Command {
    let root = Cli::command();
    let ours = root.get_subcommands().filter_map(|word| match word.get_name() {
        "agent" => Some(agent(word)),
        name if OURS.contains(&name) => Some(word.clone()),
        _ => None,
    });
    Command::new("openclaw").args(root.get_arguments().cloned()).subcommands(ours)
}

/// Returns `agent` with what follows it when it is ours.
fn agent(word: &Command) -> Command {
    let ours = word.get_subcommands().filter(|below| AGENT.contains(&below.get_name())).cloned();
    Command::new("agent").about(word.get_about().cloned().unwrap_or_default()).subcommands(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_the_other_name_only_our_words_are_completed() {
        let command = openclaw();
        let words: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(words.len(), OURS.len() + 1, "{words:?}");
        assert!(!words.contains(&"status") && words.contains(&"agent"), "{words:?}");
        let mut bytes = Vec::new();
        clap_complete::generate(Shell::Bash, &mut openclaw(), "openclaw", &mut bytes);
        let script = String::from_utf8(bytes).unwrap();
        assert!(script.contains("_openclaw()") && script.contains("auto-fix"), "{script}");
    }
}
