//! The words of the command line, one module for each noun.

mod completion;
mod job;
mod later;
mod lines;
mod list;
mod man;
mod queue;
mod role;
mod serve;
mod status;
mod stream;
mod token;
mod worker;

use clap::{Args, Parser, Subcommand};

use crate::config::Place;
use crate::context::Context;
use crate::exit;
use crate::failure::Failure;
use crate::output::{Color, Reply};
use crate::{drill, lead, work};

/// One leader per role, no lost jobs.
///
/// Roles with one holder each, queues whose jobs always have one owner, and streams with recorded
/// positions, on one durable log.
#[derive(Debug, Parser)]
#[command(
    name = "clawhold",
    bin_name = "clawhold",
    version,
    max_term_width = 100,
    propagate_version = true,
    infer_long_args = false,
    after_help = root_help()
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) word: Word,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Write one JSON document to standard output, also on error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour; NO_COLOR and CLICOLOR_FORCE count for `auto`
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// The first word.
#[derive(Debug, Subcommand)]
pub(crate) enum Word {
    /// Run a server: the active one, or a standby of it
    Serve(serve::Serve),
    /// Show the server and what it holds, in numbers
    Status(status::Status),
    /// Roles: one holder each, under a token that only rises
    Role(role::Role),
    /// Run a program only while it holds a role
    Lead(lead::Args),
    /// Record a position and add jobs under a role's token: all of it or nothing
    Commit(lead::commit::Args),
    /// Workers: who does the jobs, and how they leave
    Worker(worker::Worker),
    /// Run a program for each job of some queues
    Work(work::Args),
    /// Queues: their limits, the gate of a rebalance, the ownership audit
    Queue(queue::Queue),
    /// Jobs: accepted once, held by one worker at a time, ended once
    Job(job::Job),
    /// Streams: events in order, and how far each role has come
    Stream(stream::Stream),
    /// Watch a leader die, a standby resume and workers come and go, on real files
    Drill(drill::Args),
    /// Make tokens for a server that listens beyond this host
    Token(token::Token),
    /// Print the completion script for a shell
    Completion(completion::Completion),
    /// Print the manual page, or write all of them to a folder
    Man(man::Man),
    #[command(hide = true, disable_help_flag = true)]
    Command(later::Later),
    #[command(hide = true, disable_help_flag = true)]
    AlertRule(later::Later),
    #[command(hide = true, disable_help_flag = true)]
    AlertRoute(later::Later),
    #[command(hide = true, disable_help_flag = true)]
    AutoFix(later::Later),
    #[command(hide = true, disable_help_flag = true)]
    Runbook(later::Later),
    #[command(hide = true, disable_help_flag = true)]
    Agent(later::Later),
}

/// Carries out what was asked.
///
/// # Errors
/// Why it could not be done.
pub(crate) async fn run(word: Word, context: &Context) -> Result<Reply, Failure> {
    match word {
        Word::Serve(serve) => serve.run(context).await,
        Word::Status(status) => status.run(context).await,
        Word::Role(role) => role.run(context).await,
        Word::Lead(args) => lead::run(args, context).await.map(Reply::silent),
        Word::Commit(args) => args.run(context).await,
        Word::Worker(worker) => worker.run(context).await,
        Word::Work(args) => work::run(args, context).await.map(Reply::silent),
        Word::Queue(queue) => queue.run(context).await,
        Word::Job(job) => job.run(context).await,
        Word::Stream(stream) => stream.run(context).await,
        Word::Drill(args) => drill::run(args, context).await.map(Reply::silent),
        Word::Token(token) => token.run(),
        Word::Completion(completion) => completion.run(),
        Word::Man(man) => man.run(),
        Word::Command(_) => Err(later::failure("command")),
        Word::AlertRule(_) => Err(later::failure("alert-rule")),
        Word::AlertRoute(_) => Err(later::failure("alert-route")),
        Word::AutoFix(_) => Err(later::failure("auto-fix")),
        Word::Runbook(_) => Err(later::failure("runbook")),
        Word::Agent(_) => Err(later::failure("agent")),
    }
}

impl Word {
    /// Tells whether `--json` stands among words that are not looked into.
    pub(crate) fn asks_for_json(&self) -> bool {
        match self {
            Self::Command(later)
            | Self::AlertRule(later)
            | Self::AlertRoute(later)
            | Self::AutoFix(later)
            | Self::Runbook(later)
            | Self::Agent(later) => later.asks_for_json(),
            Self::Serve(_)
            | Self::Status(_)
            | Self::Role(_)
            | Self::Lead(_)
            | Self::Commit(_)
            | Self::Worker(_)
            | Self::Work(_)
            | Self::Queue(_)
            | Self::Job(_)
            | Self::Stream(_)
            | Self::Drill(_)
            | Self::Token(_)
            | Self::Completion(_)
            | Self::Man(_) => false,
        }
    }

    /// Tells whether the command answers to Ctrl-C and SIGTERM by itself.
    pub(crate) fn minds_signals(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Lead(_) | Self::Work(_) | Self::Drill(_))
    }
}

fn root_help() -> String {
    format!(
        "Examples:\n  clawhold drill\n  clawhold serve\n  clawhold job add mail --text hello\n\n\
         Without --server a command works on the store by the server that runs on it, or by one \
         of its own for a moment.\n\n{}",
        exit::help()
    )
}

#[cfg(test)]
mod tests;
