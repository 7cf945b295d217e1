//! Commands: what is answered to a word in a chat or a shell.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{Command as Body, CommandPatch};
use crate::cli::definition::{self, How, NewName, flag, list, list_if, verbs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;

/// Commands: what is answered to a word in a chat or a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold command list")]
pub(crate) struct Command {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::Command, "command", "'leader holder'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add a command
    ///
    /// What it shows is said in words, which are read strictly: what is not understood is told, and
    /// the nearest view is offered.
    #[command(
        after_help = "Example:\n  clawhold command add --name 'leader holder' --trigger /leader \\\n    --message 'Show which worker currently holds the lease.'"
    )]
    Add(Add),
    /// Change what is named
    #[command(after_help = "Example:\n  clawhold command edit 'leader holder' --trigger /who")]
    Edit(Edit),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// The word that starts it, beginning with a slash
    #[arg(long, value_name = "/WORD")]
    trigger: String,
    /// The clusters that are asked, by the names of sources, with commas between; this one when
    /// absent
    #[arg(long, value_name = "NAME,…")]
    source: Vec<String>,
    /// What is shown, in words
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    message: String,
    /// An exact view instead of words, such as `show.holder role=billing`; several times for more
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    step: Vec<String>,
    /// Take the offered view for a sentence that is not understood: `2=1`
    #[arg(long, value_name = "SENTENCE=VIEW")]
    accept: Vec<String>,
    /// Tell each use to a channel
    #[arg(long)]
    announce: bool,
    /// The kind of sink the channel is named with, such as `slack`
    #[arg(long, value_name = "KIND")]
    channel: Option<String>,
    /// The channel, such as `#ops-info`
    #[arg(long, value_name = "CHANNEL")]
    to: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// The word that starts it
    #[arg(long, value_name = "/WORD")]
    trigger: Option<String>,
    /// The clusters that are asked; empty for this one
    #[arg(long, value_name = "NAME,…")]
    source: Option<Vec<String>>,
    /// What is shown, in words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Exact views instead of words
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    step: Option<Vec<String>>,
    /// Take the offered view for a sentence that is not understood
    #[arg(long, value_name = "SENTENCE=VIEW")]
    accept: Option<Vec<String>>,
    /// Tell each use to a channel; --announce=false for no longer
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = flag)]
    announce: Option<bool>,
    /// The kind of sink the channel is named with
    #[arg(long, value_name = "KIND")]
    channel: Option<String>,
    /// The channel
    #[arg(long, value_name = "CHANNEL")]
    to: Option<String>,
    #[command(flatten)]
    how: How,
}

impl Command {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    trigger: add.trigger,
                    sources: list(add.source),
                    message: add.message,
                    steps: add.step,
                    accept: list(add.accept),
                    announce: add.announce,
                    channel: add.channel,
                    to: add.to,
                    enabled: None,
                };
                definition::add(Noun::Command, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let patch = CommandPatch {
                    trigger: edit.trigger,
                    sources: list_if(edit.source),
                    message: edit.message,
                    steps: edit.step,
                    accept: list_if(edit.accept),
                    announce: edit.announce,
                    channel: edit.channel,
                    to: edit.to,
                    version: None,
                };
                definition::edit(Noun::Command, &edit.name, &patch, edit.how, context).await
            }
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}
