//! `work`: runs a program for each job of some queues.
//!
//! The client claims, beats, settles and drains; this word turns a job into a process and the end
//! of that process into what became of the job.

mod briefing;
mod files;
mod launcher;
mod outcome;
mod run;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clawhold_client::api::job::Outcome;
use clawhold_client::{Changes, Client, Summary, Worker, WorkerError, stop_signal};
use serde::Serialize;
use tempfile::TempDir;
use tokio::runtime::Handle;

use self::briefing::Briefing;
use self::launcher::Launcher;
use crate::context::Context;
use crate::duration::{self, Span};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Reply};
use crate::runnable;
use crate::text::counted;

/// Run a program for each job of some queues
///
/// CMD gets the payload on its standard input (a JSON string as its text, anything else as JSON)
/// and leaves its result, JSON or text, in the file CLAWHOLD_RESULT_FILE. What it leaves in
/// CLAWHOLD_CHECKPOINT_FILE is kept, and is there for the next try. SIGTERM drains: no new jobs,
/// what was not begun goes back at once, programs get SIGTERM, and SIGKILL at the deadline.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  clawhold work mail -- ./send-mail\n  \
    clawhold work index thumbs --concurrency 4 --timeout 5m -- python3 job.py\n  \
    clawhold work --agent 'DevOps Monitor' -- ./agent\n\n\
    CMD ends with 0: done · 75: try later · 65: dead letter · 99: hand back untouched · anything \
    else: a failed try, with the last lines of its standard error.\n\
    CMD finds CLAWHOLD_JOB, CLAWHOLD_CLAIM, CLAWHOLD_QUEUE, CLAWHOLD_ATTEMPT, CLAWHOLD_TIMEOUT_MS, \
    CLAWHOLD_RESULT_FILE, CLAWHOLD_CHECKPOINT_FILE and CLAWHOLD_SERVER in its environment, and with \
    --agent CLAWHOLD_AGENT, CLAWHOLD_AGENT_VERSION and CLAWHOLD_AGENT_MESSAGES: the file with what \
    the agent is told, replaced when that changes.")]
pub(crate) struct Args {
    /// The queues, taken in turn; the agent's own when absent
    #[arg(value_name = "QUEUE", required_unless_present = "agent")]
    queues: Vec<String>,
    /// Programs that run at once
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1_000))]
    concurrency: u64,
    /// Jobs that are claimed ahead
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(0..=999))]
    prefetch: u64,
    /// Work as this agent: do the jobs of its queue, and find what it is told with each
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What others see in lists; host and process id when absent
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The time without a beat after which this worker is lost and its jobs go to others
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = duration::TTL.parser())]
    ttl: Span,
    /// The time that programs get to end when the worker leaves
    #[arg(long, value_name = "SPAN", default_value = "25s", value_parser = duration::DAY.parser())]
    drain_deadline: Span,
    /// The time that one run may take; a job's own limit counts when it is shorter
    #[arg(long, value_name = "SPAN", value_parser = duration::SOME.parser())]
    timeout: Option<Span>,
    /// The time that a job waits after its program ended with 75
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = duration::SOME.parser())]
    later: Span,
    /// The program and its arguments
    #[arg(value_name = "CMD", last = true, required = true)]
    command: Vec<OsString>,
}

/// What the handler of each job works with.
#[derive(Debug)]
struct Settings {
    command: Vec<OsString>,
    launcher: Launcher,
    folder: TempDir,
    briefing: Option<Briefing>,
    servers: String,
    timeout: Option<Duration>,
    later: Span,
    json: bool,
}

/// What a worker did, as `--json` writes it.
#[derive(Debug, Serialize)]
struct Report {
    claimed: u64,
    completed: u64,
    failed: u64,
    snoozed: u64,
    handed_back: u64,
    superseded: u64,
    unsettled: u64,
}

impl Report {
    fn of(summary: &Summary) -> Self {
        Self {
            claimed: summary.claimed,
            completed: summary.completed,
            failed: summary.failed,
            snoozed: summary.snoozed,
            handed_back: summary.handed_back,
            superseded: summary.superseded,
            unsettled: summary.unsettled,
        }
    }
}

/// Works until it is asked to leave.
///
/// # Errors
/// When the server does not let it work.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    runnable::check(&args.command)?;
    let client = tokio::select! {
        client = context.client() => client?,
        () = stop_signal() => return Ok(Exit::Done),
    };
    let no_process = |error: std::io::Error| {
        Failure::failed("cannot start the processes of a worker").because(&error)
    };
    let folder = tempfile::Builder::new().prefix("clawhold-work-").tempdir().map_err(no_process)?;
    let (briefing, changes) = match &args.agent {
        Some(agent) => {
            let (briefing, changes) = Briefing::start(client, agent, folder.path()).await?;
            (Some(briefing), Some(changes))
        }
        None => (None, None),
    };
    let own = || briefing.iter().map(|briefing| briefing.queue.clone()).collect();
    let queues = if args.queues.is_empty() { own() } else { args.queues };
    let label = briefing.as_ref().map(Briefing::label);
    let settings = Arc::new(Settings {
        command: args.command,
        launcher: Launcher::start(Handle::current(), folder.path()).map_err(no_process)?,
        folder,
        briefing,
        servers: client.urls().join(","),
        timeout: args.timeout.map(Span::duration),
        later: args.later,
        json: context.output.is_json(),
    });
    let mut builder = Worker::builder(client, queues)
        .ttl(args.ttl.duration())
        .concurrency(args.concurrency)
        .prefetch(args.prefetch)
        .drain_deadline(args.drain_deadline.duration());
    if let Some(label) = args.label {
        builder = builder.label(label);
    }
    if let Some(agent) = label {
        builder = builder.agent(agent);
    }
    let handled = Arc::clone(&settings);
    let worker = builder.handler(move |job| {
        let settings = Arc::clone(&handled);
        async move {
            let outcome = run::run(job, &settings).await;
            put_off(outcome, settings.later)
        }
    })?;
    let summary = tokio::select! {
        summary = Box::pin(worker.run(stop_signal())) => summary.map_err(cannot_work)?,
        () = brief(&settings, client, changes, &context.output) => return Ok(Exit::Failed),
        // Who asks twice does not want to wait: programs are killed, the server returns the jobs.
        () = asked_twice() => return Ok(Exit::Interrupted),
    };
    let report = Report::of(&summary);
    let line = format!(
        "left: {} completed, {} failed, {} put off, {} handed back, {} superseded",
        counted(report.completed, "job"),
        report.failed,
        report.snoozed,
        report.handed_back,
        report.superseded
    );
    Ok(context.output.reply(Reply::of(&report).line(line)))
}

/// Keeps what the agent is told up to date, if there is one. Does not end.
async fn brief(settings: &Settings, client: &Client, changes: Option<Changes>, output: &Output) {
    match (&settings.briefing, changes) {
        (Some(briefing), Some(changes)) => briefing.keep(client, changes, output).await,
        (_, _) => std::future::pending().await,
    }
}

/// Sets for how long a job waits that was put off.
fn put_off(outcome: Outcome, later: Span) -> Outcome {
    match outcome {
        Outcome::Snoozed { checkpoint, .. } => Outcome::Snoozed { for_ms: later.0, checkpoint },
        outcome @ (Outcome::Completed { .. }
        | Outcome::Failed { .. }
        | Outcome::Dead { .. }
        | Outcome::HandedBack { .. }) => outcome,
    }
}

fn cannot_work(error: WorkerError) -> Failure {
    match error {
        WorkerError::Client(error) => error.into(),
        error => Failure::failed("the worker cannot work").because(&error),
    }
}

async fn asked_twice() {
    stop_signal().await;
    stop_signal().await;
}
