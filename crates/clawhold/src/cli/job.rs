//! Jobs: one or many are added, looked at, and directed by hand.

mod add;
mod bulk;
mod file;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use clawhold_client::Client;

use crate::api::job::{Job as View, JobQuery, JobState};
use crate::cli::list::Limit;
use crate::context::Context;
use crate::duration::Span;
use crate::failure::Failure;
use crate::number;
use crate::output::Reply;
use crate::table::{Sheet, Table};

/// Jobs: accepted once, held by one worker at a time, ended once
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold job add mail --text hello")]
pub(crate) struct Job {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Add a job, or many from a file
    ///
    /// A file has one job a line: NDJSON objects, or CSV whose columns are named in its first
    /// line. Fields and columns: queue, payload (JSON) or text, priority, delay_ms or run_at,
    /// unique_key, order_key, attempts_max, backoff_ms, backoff_max_ms, timeout_ms. What a line
    /// does not say is taken from the flags. A file is read to its end before the first job is
    /// added, so a bad line adds nothing; of standard input, what came before the bad line is
    /// added.
    #[command(
        after_help = "Examples:\n  clawhold job add mail --text hello\n  clawhold job add mail --payload '{\"to\":\"ana\"}' --unique ana --delay 5m\n  clawhold job add mail --file jobs.csv"
    )]
    Add(Box<add::Add>),
    /// List jobs, without their payloads
    #[command(after_help = "Example:\n  clawhold job list --queue mail --state failed")]
    List(List),
    /// Show one job with its payload, result and errors
    #[command(after_help = "Example:\n  clawhold job show 41")]
    Show(One),
    /// Cancel jobs; a running one is asked to stop first
    #[command(
        after_help = "Examples:\n  clawhold job cancel 41 42\n  clawhold job cancel --queue mail --state queued --yes"
    )]
    Cancel(bulk::Cancel),
    /// Put ended jobs back to their queue
    #[command(
        after_help = "Examples:\n  clawhold job retry 41\n  clawhold job retry --queue mail --yes"
    )]
    Retry(bulk::Retry),
    /// Take running jobs from their holders and return them
    #[command(
        after_help = "Examples:\n  clawhold job hand-back 41\n  clawhold job hand-back --queue mail --yes"
    )]
    HandBack(bulk::HandBack),
}

#[derive(Debug, Args)]
struct List {
    /// Those of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Those in this state
    #[arg(long, value_name = "STATE", value_parser = state_parser())]
    state: Option<JobState>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct One {
    /// The job's id
    #[arg(value_name = "JOB", allow_negative_numbers = true, value_parser = number::id())]
    id: u64,
}

impl Job {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => add.run(context).await,
            Word::List(list) => self::list(context.client().await?, list).await,
            Word::Show(One { id }) => Ok(show(&context.client().await?.job(id).await?)),
            Word::Cancel(cancel) => cancel.run(context).await,
            Word::Retry(retry) => retry.run(context).await,
            Word::HandBack(hand_back) => hand_back.run(context).await,
        }
    }
}

/// Returns what reads the word for a job's state.
fn state_parser() -> impl TypedValueParser<Value = JobState> {
    let words = PossibleValuesParser::new(JobState::ALL.map(JobState::as_str));
    words.try_map(|word| {
        let state = JobState::ALL.into_iter().find(|state| state.as_str() == word);
        state.ok_or("is no state of a job")
    })
}

async fn list(client: &Client, list: List) -> Result<Reply, Failure> {
    let query = JobQuery {
        queue: list.queue,
        state: list.state,
        limit: list.limit.page(),
        ..JobQuery::default()
    };
    let rows = list.limit.rows(client.jobs(&query)).await?;
    let mut table =
        Table::new(&["JOB", "QUEUE", "STATE", "WORKER", "PRIORITY", "ATTEMPTS", "SINCE"]);
    for job in &rows.items {
        table.row([
            job.id.to_string(),
            job.queue.clone(),
            job.state.as_str().to_owned(),
            job.worker.map_or(String::new(), |worker| worker.to_string()),
            job.priority.to_string(),
            format!("{}/{}", job.attempts, job.attempts_max),
            job.since.clone(),
        ]);
    }
    Ok(rows.reply(table, "there is no job that fits"))
}

fn show(job: &View) -> Reply {
    let mut sheet = Sheet::default();
    sheet
        .field("job", job.id.to_string())
        .field("queue", &job.queue)
        .field("state", format!("{} since {}", job.state.as_str(), job.since))
        .field_if("cancel", job.cancel_asked.then_some("asked, the handler has yet to stop"))
        .field_if(
            "worker",
            job.worker.map(|worker| format!("session {worker}, claim {}", job.claim)),
        )
        .field("priority", job.priority.to_string())
        .field("attempts", format!("{} of {}", job.attempts, job.attempts_max))
        .field("losses", job.losses.to_string())
        .field("hand-backs", job.hand_backs.to_string())
        .field("accepted", &job.created)
        .field_if("runs at", job.run_at.as_ref())
        .field_if("unique key", job.unique_key.as_ref())
        .field_if("order key", job.order_key.as_ref())
        .field_if("timeout", job.timeout_ms.map(|ms| Span(ms).to_string()))
        .field_if("progress", job.percent.map(|percent| format!("{percent}%")))
        .field_if("note", job.note.as_ref())
        .field_if(
            "returned",
            job.returned.as_ref().map(|returned| {
                let cause = returned.cause.replace('_', " ");
                format!(
                    "{} by session {}, {cause}: {}",
                    returned.at, returned.worker, returned.reason
                )
            }),
        )
        .field_if("payload", job.payload.as_ref().map(|payload| payload.get()))
        .field_if("checkpoint", job.checkpoint.as_ref().map(|checkpoint| checkpoint.get()))
        .field_if("result", job.result.as_ref().map(|result| result.get()));
    let reply = Reply::of(job).sheet(sheet);
    if job.errors.is_empty() {
        return reply;
    }
    let mut table = Table::new(&["AT", "ATTEMPT", "WORKER", "ERROR"]);
    for error in &job.errors {
        table.row([
            error.at.clone(),
            error.attempt.to_string(),
            error.worker.map_or(String::new(), |worker| worker.to_string()),
            error.error.clone(),
        ]);
    }
    reply.line("").table(table)
}
