//! Queues: their limits, the gate of a rebalance, the ownership audit.

mod rebalance;

use clap::{Args, Subcommand};
use clawhold_client::{Client, ClientError};
use serde::Serialize;

use crate::api::page::PageQuery;
use crate::api::queue::{Audit, Mismatch, PauseQueue, Queue as View, SetQueue};
use crate::cli::list::{Limit, meant};
use crate::context::Context;
use crate::duration::{ANY, Span, rough};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Reply, Style};
use crate::table::{Sheet, Table};
use crate::text::counted;

/// Queues: their limits, the gate of a rebalance, the ownership audit
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold queue list")]
pub(crate) struct Queue {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the queues with their jobs in numbers
    #[command(after_help = "Example:\n  clawhold queue list")]
    List(Limit),
    /// Show one queue: its jobs, limits and what it has seen
    #[command(after_help = "Example:\n  clawhold queue show mail")]
    Show(Named),
    /// Make a queue or set its limits; what is not named stays as it is
    #[command(after_help = "Example:\n  clawhold queue set mail --running-max 8 --retain 2d")]
    Set(Set),
    /// Stop handing out the jobs of a queue
    #[command(after_help = "Example:\n  clawhold queue pause mail --reason 'provider is down'")]
    Pause(Pause),
    /// Hand out the jobs of a queue again
    #[command(after_help = "Example:\n  clawhold queue resume mail")]
    Resume(Named),
    /// Place every returned job before new ones are admitted, and prove it
    ///
    /// Closes the gate, waits until the returned jobs are placed, audits, and admits. The gate
    /// opens by itself after --within.
    #[command(after_help = "Example:\n  clawhold queue rebalance mail --within 1m")]
    Rebalance(rebalance::Rebalance),
    /// Check that every job has exactly one owner; ends with 1 if not
    ///
    /// Compares the record with what the workers report, at one position of the log.
    #[command(after_help = "Examples:\n  clawhold queue audit\n  clawhold queue audit mail --json")]
    Audit(Audited),
    /// Remove a queue without live jobs
    #[command(after_help = "Example:\n  clawhold queue remove mail")]
    Remove(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The queue
    queue: String,
}

#[derive(Debug, Args)]
struct Audited {
    /// The queue; all of them when absent
    queue: Option<String>,
}

#[derive(Debug, Args)]
struct Pause {
    /// The queue
    queue: String,
    /// Why, for people
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct Set {
    /// The queue
    queue: String,
    /// Jobs that may run at once; 0 for no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    running_max: Option<u64>,
    /// How long a handler may go without progress; 0s for no deadline
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    progress: Option<Span>,
    /// Ended jobs kept
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    retain_count: Option<u64>,
    /// How long ended jobs are kept
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    retain: Option<Span>,
    /// Holders that may vanish with a job before it is dead
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    losses_max: Option<u64>,
    /// Hand-backs after which a job is dead
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    hand_backs_max: Option<u64>,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    live_max: Option<u64>,
}

/// A queue that was changed.
#[derive(Serialize)]
struct Changed<'a> {
    queue: &'a str,
    position: Option<u64>,
}

impl Queue {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::List(limit) => list(client, limit).await,
            Word::Show(Named { queue }) => Ok(show(&view(client, &queue).await?)),
            Word::Set(set) => self::set(client, set).await,
            Word::Pause(pause) => self::pause(client, pause).await,
            Word::Resume(Named { queue }) => {
                let done = client.resume_queue(&queue).await;
                changed(client, &queue, done.map(|done| done.position), "hands out jobs").await
            }
            Word::Rebalance(rebalance) => rebalance.run(client, context).await,
            Word::Audit(Audited { queue }) => audit(client, queue.as_deref()).await,
            Word::Remove(Named { queue }) => {
                let done = client.remove_queue(&queue).await;
                changed(client, &queue, done.map(|done| done.position), "is removed").await
            }
        }
    }
}

async fn view(client: &Client, queue: &str) -> Result<View, Failure> {
    match client.queue(queue).await {
        Ok(view) => Ok(view),
        Err(error) => Err(missing(error, client, queue).await),
    }
}

async fn missing(error: ClientError, client: &Client, queue: &str) -> Failure {
    meant(error, queue, client.queues(&PageQuery::default()), |queue| queue.name.as_str()).await
}

async fn changed(
    client: &Client,
    queue: &str,
    done: Result<Option<u64>, ClientError>,
    what: &str,
) -> Result<Reply, Failure> {
    match done {
        Ok(position) => Ok(Reply::of(&Changed { queue, position }).line(format!("{queue} {what}"))),
        Err(error) => Err(missing(error, client, queue).await),
    }
}

async fn list(client: &Client, limit: Limit) -> Result<Reply, Failure> {
    let query = PageQuery { limit: limit.page(), ..PageQuery::default() };
    let rows = limit.rows(client.queues(&query)).await?;
    let mut table = Table::new(&[
        "QUEUE",
        "SCHEDULED",
        "QUEUED",
        "RETURNED",
        "RUNNING",
        "FAILED",
        "WORKERS",
        "OLDEST",
        "STATE",
    ]);
    for queue in &rows.items {
        let jobs = &queue.jobs;
        table.row([
            queue.name.clone(),
            jobs.scheduled.to_string(),
            jobs.queued.to_string(),
            jobs.returned.to_string(),
            jobs.running.to_string(),
            jobs.failed.to_string(),
            queue.workers.to_string(),
            queue.oldest_waiting_ms.map_or(String::new(), rough),
            standing(queue).to_owned(),
        ]);
    }
    Ok(rows.reply(table, "there is no queue"))
}

fn standing(queue: &View) -> &'static str {
    match (&queue.paused, &queue.gate) {
        (Some(_), _) => "paused",
        (None, Some(_)) => "gate closed",
        (None, None) => "open",
    }
}

fn show(queue: &View) -> Reply {
    let (jobs, totals, set) = (&queue.jobs, &queue.totals, &queue.settings);
    let unless_0 =
        |number: u64, text: String| if number == 0 { "no limit".to_owned() } else { text };
    let mut sheet = Sheet::default();
    sheet
        .field("queue", &queue.name)
        .field("state", standing(queue))
        .field_if(
            "paused",
            queue
                .paused
                .as_ref()
                .map(|paused| format!("since {}: {}", paused.since, paused.reason)),
        )
        .field_if(
            "gate",
            queue
                .gate
                .map(|gate| format!("{} unplaced, {} left", gate.unplaced, rough(gate.left_ms))),
        )
        .field("workers", queue.workers.to_string())
        .field(
            "live jobs",
            format!(
                "{} scheduled, {} queued, {} returned, {} running",
                jobs.scheduled, jobs.queued, jobs.returned, jobs.running
            ),
        )
        .field(
            "ended jobs",
            format!(
                "{} completed, {} failed, {} cancelled",
                jobs.completed, jobs.failed, jobs.cancelled
            ),
        )
        .field_if("oldest waits", queue.oldest_waiting_ms.map(rough))
        .field(
            "seen",
            format!(
                "{} enqueued, {} completed, {} failed, {} cancelled, {} returned",
                totals.enqueued, totals.completed, totals.failed, totals.cancelled, totals.returned
            ),
        )
        .field("running at once", unless_0(set.running_max, set.running_max.to_string()))
        .field("progress within", unless_0(set.progress_ms, Span(set.progress_ms).to_string()))
        .field("ended jobs kept", format!("{} for {}", set.retain_count, Span(set.retain_ms)))
        .field(
            "dead after",
            format!("{} losses or {} hand-backs", set.losses_max, set.hand_backs_max),
        )
        .field("live at most", unless_0(set.live_max, set.live_max.to_string()));
    Reply::of(queue).sheet(sheet)
}

async fn set(client: &Client, set: Set) -> Result<Reply, Failure> {
    let request = SetQueue {
        running_max: set.running_max,
        progress_ms: set.progress.map(|span| span.0),
        retain_count: set.retain_count,
        retain_ms: set.retain.map(|span| span.0),
        losses_max: set.losses_max,
        hand_backs_max: set.hand_backs_max,
        live_max: set.live_max,
    };
    client.set_queue(&set.queue, &request).await?;
    Ok(show(&view(client, &set.queue).await?))
}

async fn pause(client: &Client, pause: Pause) -> Result<Reply, Failure> {
    // A mistyped name must not make a paused queue.
    if let Err(error) = client.queue(&pause.queue).await {
        return Err(missing(error, client, &pause.queue).await);
    }
    let done = client.pause_queue(&pause.queue, &PauseQueue { reason: pause.reason }).await;
    changed(client, &pause.queue, done.map(|done| done.position), "hands out nothing").await
}

async fn audit(client: &Client, queue: Option<&str>) -> Result<Reply, Failure> {
    let audit = match (client.audit(queue).await, queue) {
        (Ok(audit), _) => audit,
        (Err(error), Some(queue)) => return Err(missing(error, client, queue).await),
        (Err(error), None) => return Err(error.into()),
    };
    Ok(audit_reply(&audit))
}

/// Returns what an audit found, as a reply that ends with 1 if that is anything.
fn audit_reply(audit: &Audit) -> Reply {
    let jobs = &audit.jobs;
    let counts = format!(
        "{} at position {}: {} running, {} returned, {} queued, {} scheduled",
        counted(audit.live, "live job"),
        audit.position,
        jobs.running,
        jobs.returned,
        jobs.queued,
        jobs.scheduled
    );
    let reply = Reply::of(audit).line(counts);
    let reply = if audit.unheard_count == 0 {
        reply
    } else {
        let unheard = counted(audit.unheard_count, "session");
        reply.line(format!(
            "{unheard} not heard of yet: what they hold is known by the record alone"
        ))
    };
    if audit.ok {
        return reply.styled(Style::Good, "every job has one owner");
    }
    let found = counted(audit.mismatches_count, "mismatch");
    reply.styled(Style::Bad, found).table(mismatches(&audit.mismatches)).exit(Exit::Failed)
}

/// Returns mismatches as rows.
pub(crate) fn mismatches(found: &[Mismatch]) -> Table {
    let mut table = Table::new(&["JOB", "QUEUE", "WORKER", "CLAIM", "KIND", "WHAT"]);
    for mismatch in found {
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        table.row([
            number(mismatch.job),
            mismatch.queue.clone().unwrap_or_default(),
            number(mismatch.worker),
            number(mismatch.claim),
            mismatch.kind.clone(),
            mismatch.detail.clone(),
        ]);
    }
    table
}
