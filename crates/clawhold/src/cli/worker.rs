//! Workers: who they are, and how they leave.

mod drain;

use clap::{Args, Subcommand};
use clawhold_client::{Client, ClientError};
use serde::Serialize;

use crate::api::worker::{Worker as View, WorkerQuery, WorkerState};
use crate::cli::list::{Limit, meant};
use crate::context::Context;
use crate::duration::rough;
use crate::failure::Failure;
use crate::output::Reply;
use crate::table::{Sheet, Table};

/// Workers: who does the jobs, and how they leave
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold worker list")]
pub(crate) struct Worker {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the workers
    #[command(after_help = "Example:\n  clawhold worker list --queue mail")]
    List(List),
    /// Show one worker and the jobs it holds
    #[command(after_help = "Example:\n  clawhold worker show mailer-1")]
    Show(Named),
    /// Send a worker home: it gets no new job and returns what it holds
    ///
    /// What it still holds at the deadline is taken back. The command waits until nothing is
    /// held, then audits the worker's queues.
    #[command(
        after_help = "Example:\n  clawhold worker drain mailer-1 --deadline 1m --reason 'new kernel'"
    )]
    Drain(drain::Drain),
    /// Take a drain back: the worker gets jobs again
    #[command(after_help = "Example:\n  clawhold worker resume mailer-1")]
    Resume(Named),
}

#[derive(Debug, Args)]
struct List {
    /// Those that work on this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Those in this state; left and lost list the workers that ended last
    #[arg(long, value_name = "STATE", value_parser = ["active", "draining", "drained", "left", "lost"])]
    state: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct Named {
    /// The worker, by id or by a label that it alone bears
    worker: String,
}

#[derive(Serialize)]
struct Resumed {
    worker: u64,
    position: Option<u64>,
}

impl Worker {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::List(list) => self::list(client, list).await,
            Word::Show(Named { worker }) => Ok(show(&view(client, &worker).await?)),
            Word::Drain(drain) => drain.run(client, context).await,
            Word::Resume(Named { worker }) => resume(client, &worker).await,
        }
    }
}

/// Returns one worker.
///
/// # Errors
/// As every call; a name that nobody bears comes with the one that was probably meant.
async fn view(client: &Client, worker: &str) -> Result<View, Failure> {
    match client.worker(worker).await {
        Ok(view) => Ok(view),
        Err(error) => Err(missing(error, client, worker).await),
    }
}

async fn missing(error: ClientError, client: &Client, worker: &str) -> Failure {
    let pages = client.workers(&WorkerQuery::default());
    meant(error, worker, pages, |worker| worker.label.as_str()).await
}

fn state(word: &str) -> Option<WorkerState> {
    let states = [
        WorkerState::Active,
        WorkerState::Draining,
        WorkerState::Drained,
        WorkerState::Left,
        WorkerState::Lost,
    ];
    states.into_iter().find(|state| state.as_str() == word)
}

async fn list(client: &Client, list: List) -> Result<Reply, Failure> {
    let query = WorkerQuery {
        queue: list.queue,
        state: list.state.as_deref().and_then(state),
        limit: list.limit.page(),
        ..WorkerQuery::default()
    };
    let rows = list.limit.rows(client.workers(&query)).await?;
    let mut table = Table::new(&["ID", "LABEL", "STATE", "HELD", "SLOTS", "QUEUES", "LAST BEAT"]);
    for worker in &rows.items {
        table.row([
            worker.id.to_string(),
            worker.label.clone(),
            worker.state.as_str().to_owned(),
            worker.held.to_string(),
            worker.slots.to_string(),
            worker.queues.join(" "),
            worker.silent_ms.map_or(String::new(), |ms| format!("{} ago", rough(ms))),
        ]);
    }
    Ok(rows.reply(table, "there is no worker"))
}

fn show(worker: &View) -> Reply {
    let held: Vec<_> = worker
        .held_jobs
        .iter()
        .flatten()
        .map(|hold| format!("{} (claim {})", hold.job, hold.claim))
        .collect();
    let drain = worker.drain.as_ref();
    let mut sheet = Sheet::default();
    sheet
        .field("worker", format!("{} (session {})", worker.label, worker.id))
        .field("state", format!("{} since {}", worker.state.as_str(), worker.since))
        .field("queues", worker.queues.join(" "))
        .field("slots", worker.slots.to_string())
        .field_if("agent", worker.agent.as_ref())
        .field("place", &worker.place)
        .field("opened", &worker.opened)
        .field_if("last beat", worker.silent_ms.map(|ms| format!("{} ago", rough(ms))))
        .field("held", worker.held.to_string())
        .field_if("reports", worker.reports.map(|count| count.to_string()))
        .field_if("jobs", Some(held.join(", ")).filter(|held| !held.is_empty()))
        .field_if(
            "drain",
            drain.map(|drain| format!("{} left; {}", rough(drain.left_ms), drain.reason)),
        );
    Reply::of(worker).sheet(sheet)
}

async fn resume(client: &Client, worker: &str) -> Result<Reply, Failure> {
    let id = view(client, worker).await?.id;
    let position = client.resume_worker(&id.to_string()).await?.position;
    let line = format!("{worker} gets jobs again");
    Ok(Reply::of(&Resumed { worker: id, position }).line(line))
}
