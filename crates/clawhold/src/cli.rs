//! The words of the command line, one module for each noun.

mod agent;
mod alert;
mod alert_route;
mod alert_rule;
mod auto_fix;
mod automation;
mod backtest;
mod backup;
mod channel;
mod command;
mod completion;
mod condition;
mod definition;
mod doctor;
mod inbox;
mod job;
mod lines;
mod list;
mod log;
mod man;
mod migrate;
mod notify;
mod queue;
mod restore;
mod role;
mod run;
mod runbook;
mod serve;
mod source;
mod status;
mod store;
mod stream;
mod token;
mod transfer;
mod worker;

use clap::{ArgMatches, Args, Parser, Subcommand};

use clawhold_client::Client;

use crate::api::Noun;
use crate::api::automation::definition::Definition;
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
    /// Auto-fixes: what is done when a condition holds, under which limits
    AutoFix(auto_fix::AutoFix),
    /// Runbooks: what is done when a person asks
    Runbook(runbook::Runbook),
    /// Run what words start, and see to what runs
    Run(run::Run),
    /// Commands: what is answered to a word in a chat or a shell
    Command(command::Command),
    /// Alert rules: what is worth a person's attention
    AlertRule(alert_rule::AlertRule),
    /// Alert routes: where alerts go
    AlertRoute(alert_route::AlertRoute),
    /// Alerts: what deserves a person's attention
    Alert(alert::Alert),
    /// Agents: who gets the jobs that are written in words
    Agent(agent::Agent),
    /// Channels: where messages go
    Channel(channel::Channel),
    /// Sources: clusters that commands ask
    Source(source::Source),
    /// The inbox: every message there is
    Inbox(inbox::Inbox),
    /// Messages on their way to sinks, and those that none took
    Notify(notify::Notify),
    /// Conditions: what auto-fixes and alert rules wait for
    Condition(condition::Condition),
    /// All automation: its pause, and what it is doing
    Automation(automation::Automation),
    /// Write all definitions as one file
    Export(transfer::Export),
    /// Make definitions as a file says
    Import(transfer::Import),
    /// The log of a store: what was asked, what came of it, and whether it is whole
    Log(log::Log),
    /// Write all of a store into one file, beside a running server or without one
    Backup(backup::Backup),
    /// Make a store of a backup, where none is
    Restore(restore::Restore),
    /// Stores: where a cluster keeps its log
    Store(migrate::Store),
    /// Say what is wrong with a store and what to do about it
    Doctor(doctor::Doctor),
    /// Watch a leader die, a standby resume and workers come and go, on real files
    Drill(drill::Args),
    /// Make tokens for a server that listens beyond this host
    Token(token::Token),
    /// Print the completion script for a shell
    Completion(completion::Completion),
    /// Print the manual page, or write all of them to a folder
    Man(man::Man),
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
        Word::Log(log) => log.run(context).await,
        Word::Backup(backup) => backup.run(context).await,
        Word::Restore(restore) => restore.run(context).await,
        Word::Store(store) => store.run(context).await,
        Word::Doctor(doctor) => doctor.run(context).await,
        Word::Token(token) => token.run(),
        Word::Completion(completion) => completion.run(),
        Word::Man(man) => man.run(),
        Word::AutoFix(fix) => fix.run(context).await,
        Word::Runbook(runbook) => runbook.run(context).await,
        Word::Run(run) => run.run(context).await,
        Word::Command(command) => command.run(context).await,
        Word::AlertRule(rule) => rule.run(context).await,
        Word::AlertRoute(route) => route.run(context).await,
        Word::Alert(alert) => alert.run(context).await,
        Word::Agent(agent) => agent.run(context).await,
        Word::Channel(channel) => channel.run(context).await,
        Word::Source(source) => source.run(context).await,
        Word::Inbox(inbox) => inbox.run(context).await,
        Word::Notify(notify) => notify.run(context).await,
        Word::Condition(condition) => condition.run(context).await,
        Word::Automation(automation) => automation.run(context).await,
        Word::Export(export) => export.run(context).await,
        Word::Import(import) => import.run(context).await,
    }
}

/// Returns the agent of this name.
///
/// # Errors
/// Why it cannot be read, with the name that was probably meant.
pub(crate) async fn agent_named(client: &Client, name: &str) -> Result<Definition, Failure> {
    definition::definition(client, Noun::Agent, name).await
}

impl Word {
    /// Gives a flag of every command to the word that means something else by it.
    pub(crate) fn take_flags(&mut self, place: &mut Place) {
        if let Self::Source(source) = self {
            source.take_token_file(place);
        }
    }

    /// Tells whether the command answers to Ctrl-C and SIGTERM by itself.
    pub(crate) fn minds_signals(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Lead(_) | Self::Work(_) | Self::Drill(_))
    }
}

/// Tells whether a command changes nothing, by its last word.
pub(crate) fn only_reads(matches: &ArgMatches) -> bool {
    let mut matches = matches;
    let mut last = "";
    while let Some((word, below)) = matches.subcommand() {
        (last, matches) = (word, below);
    }
    READS.contains(&last)
}

/// The last words of the commands that change nothing.
const READS: [&str; 17] = [
    "audit", "backtest", "check", "explain", "export", "failed", "fields", "follow", "history",
    "list", "position", "read", "show", "silences", "status", "test", "waiting",
];

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
