//! Runbooks: what is done when a person asks.

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{Runbook as Body, RunbookPatch};
use crate::cli::definition::{self, How, NewName, list, list_if, verbs};
use crate::cli::run;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;

/// Runbooks: what is done when a person asks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold runbook list --tag queue")]
pub(crate) struct Runbook {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::Runbook, "runbook", "'Rebalance Workers'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add a runbook
    ///
    /// Its steps are said in words, a sentence each, which are read strictly: what is not
    /// understood is kept as a step that a person confirms, and the nearest operation is offered.
    #[command(
        after_help = "Example:\n  clawhold runbook add --name 'Rebalance Workers' \\\n    --trigger '/runbook rebalance' --tags development,queue \\\n    --steps 'Stop the leaving worker from taking new work. Hand back its held jobs.'"
    )]
    Add(Add),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold runbook edit 'Rebalance Workers' --accept 2=1 --tags queue"
    )]
    Edit(Edit),
    /// Run one now
    #[command(
        after_help = "Example:\n  clawhold runbook run 'Rebalance Workers' --param worker=w-3 --follow"
    )]
    Run(run::ByName),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// The words that start it, beginning with a slash
    #[arg(long, value_name = "/WORDS")]
    trigger: Option<String>,
    /// What it is found by
    #[arg(long, value_name = "TAG,…")]
    tags: Vec<String>,
    /// What is done, in words, a sentence each
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    steps: String,
    /// A step in the exact form, such as `job.return_held worker=w-3`; several times for more
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    step: Vec<String>,
    /// Take the offered operation for a sentence that is not understood: `2=1`
    #[arg(long, value_name = "SENTENCE=OPERATION")]
    accept: Vec<String>,
    /// What happens to a run when a step fails: stop, continue or ask
    #[arg(long, value_name = "WHAT")]
    on_fail: Option<String>,
    /// The channels it is told to
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Vec<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// The words that start it; empty for none
    #[arg(long, value_name = "/WORDS")]
    trigger: Option<String>,
    /// What it is found by; empty for nothing
    #[arg(long, value_name = "TAG,…")]
    tags: Option<Vec<String>>,
    /// What is done, in words, a sentence each
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    steps: Option<String>,
    /// Steps in the exact form, instead of the exact steps there are
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    step: Option<Vec<String>>,
    /// Take the offered operation for a sentence that is not understood: `2=1`
    #[arg(long, value_name = "SENTENCE=OPERATION")]
    accept: Option<Vec<String>>,
    /// What happens to a run when a step fails: stop, continue or ask
    #[arg(long, value_name = "WHAT")]
    on_fail: Option<String>,
    /// The channels it is told to; empty for none
    #[arg(long, value_name = "CHANNEL,…")]
    notify: Option<Vec<String>>,
    #[command(flatten)]
    how: How,
}

impl Runbook {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let body = Body {
                    name: add.name.get(),
                    trigger: add.trigger,
                    tags: list(add.tags),
                    steps: add.steps,
                    step: add.step,
                    accept: list(add.accept),
                    on_fail: add.on_fail,
                    notify: list(add.notify),
                    enabled: None,
                };
                definition::add(Noun::Runbook, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let patch = RunbookPatch {
                    trigger: edit.trigger,
                    tags: list_if(edit.tags),
                    steps: edit.steps,
                    step: edit.step,
                    accept: list_if(edit.accept),
                    on_fail: edit.on_fail,
                    notify: list_if(edit.notify),
                    version: None,
                };
                definition::edit(Noun::Runbook, &edit.name, &patch, edit.how, context).await
            }
            Word::Run(by_name) => by_name.run(Noun::Runbook, context).await,
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}
