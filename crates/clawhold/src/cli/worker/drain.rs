//! A worker on its way home, watched until nothing is held, and the proof.

use std::time::Duration;

use clap::Args;
use clawhold_client::Client;
use serde::Serialize;
use tokio::time::Instant;

use crate::api::Code;
use crate::api::job::JobReturn;
use crate::api::queue::Mismatch;
use crate::api::worker::{DrainWorker, Worker, WorkerState};
use crate::cli::queue::mismatches;
use crate::context::Context;
use crate::duration::{DAY, Span, rough};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::text::counted;

/// How often the worker is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after its deadline a drain is waited for.
const LATE_MAX: Duration = Duration::from_secs(10);

/// How to send a worker home.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// The worker, by id or by a label that it alone bears
    worker: String,
    /// How long it may hold on to what it holds
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value = "30s", value_parser = DAY.parser())]
    deadline: Span,
    /// Why, for people
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Wait until nothing is held and audit; this is what happens anyway
    #[arg(long, conflicts_with = "no_wait")]
    watch: bool,
    /// Ask for it and do not wait
    #[arg(long)]
    no_wait: bool,
}

/// What became of a drain.
#[derive(Serialize)]
struct Drained<'a> {
    worker: u64,
    state: WorkerState,
    held: u64,
    /// Absent when nobody waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<u64>,
    unserved: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_ok: Option<bool>,
    #[serde(skip_serializing_if = "<[Mismatch]>::is_empty")]
    mismatches: &'a [Mismatch],
}

impl Drain {
    /// Sends the worker home and waits for it unless told otherwise.
    pub(crate) async fn run(self, client: &Client, context: &Context) -> Result<Reply, Failure> {
        let worker = super::view(client, &self.worker).await?;
        let id = worker.id.to_string();
        let request =
            DrainWorker { deadline_ms: Some(self.deadline.0), reason: self.reason.clone() };
        let draining = client.drain_worker(&id, &request).await?.reply;
        let unserved = draining.unserved.as_slice();
        if !unserved.is_empty() {
            context.output.note(&format!("no other live worker serves {}", unserved.join(", ")));
        }
        if self.no_wait {
            let done = Drained {
                worker: worker.id,
                state: WorkerState::Draining,
                held: draining.held,
                returned: None,
                unserved,
                audit_ok: None,
                mismatches: &[],
            };
            let line = format!("{} drains, {} held", worker.label, counted(draining.held, "job"));
            return Ok(Reply::of(&done).line(line));
        }
        // From here on it gets no more: what it holds is what can come back.
        let sent = client.worker(&id).await?;
        let last = self.watch(client, &worker, context).await?;
        let returned = returned(client, &sent).await?;
        let found = audit(client, &worker.queues).await?;
        Ok(reply(&last, returned, unserved, &found))
    }

    /// Waits until the worker holds nothing, and returns it as it is then.
    async fn watch(
        &self,
        client: &Client,
        worker: &Worker,
        context: &Context,
    ) -> Result<Worker, Failure> {
        let progress = context.output.progress();
        let end = Instant::now() + self.deadline.duration() + LATE_MAX;
        loop {
            let view = client.worker(&worker.id.to_string()).await?;
            if view.held == 0 && view.state != WorkerState::Draining {
                return Ok(view);
            }
            if view.state == WorkerState::Active {
                let text = format!("the drain of {} was taken back", worker.label);
                return Err(Failure::new(Exit::Failed, "drain_taken_back", text));
            }
            if Instant::now() >= end {
                let text = format!("{} still holds {}", worker.label, counted(view.held, "job"));
                return Err(Failure::new(Exit::Failed, "drain_late", text)
                    .next(format!("see `clawhold worker show {}`", worker.id)));
            }
            let left = view.drain.map_or(0, |drain| drain.left_ms);
            let held = counted(view.held, "job");
            progress.show(&format!("{}: {held} held, {} left", worker.label, rough(left)));
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Returns how many of the jobs that the worker held came back from it unfinished since it was
/// sent home.
async fn returned(client: &Client, sent: &Worker) -> Result<u64, Failure> {
    let mut count = 0;
    for hold in sent.held_jobs.iter().flatten() {
        let job = match client.job(hold.job).await {
            Ok(job) => job,
            // It ended and is kept no more.
            Err(error) if error.is(Code::NotFound) => continue,
            Err(error) => return Err(error.into()),
        };
        // Moments of one server are written alike, so that their order is that of the text.
        let back = |back: &JobReturn| back.worker == sent.id && back.at >= sent.since;
        count += u64::from(job.returned.as_ref().is_some_and(back));
    }
    Ok(count)
}

/// Returns what the audits of these queues find.
async fn audit(client: &Client, queues: &[String]) -> Result<Vec<Mismatch>, Failure> {
    let mut found = Vec::new();
    for queue in queues {
        found.append(&mut client.audit(Some(queue)).await?.mismatches);
    }
    Ok(found)
}

fn reply(worker: &Worker, returned: u64, unserved: &[String], found: &[Mismatch]) -> Reply {
    let done = Drained {
        worker: worker.id,
        state: worker.state,
        held: worker.held,
        returned: Some(returned),
        unserved,
        audit_ok: Some(found.is_empty()),
        mismatches: found,
    };
    let head = format!(
        "{} is {}: {} held, {returned} returned",
        worker.label,
        worker.state.as_str(),
        worker.held
    );
    if found.is_empty() {
        return Reply::of(&done).styled(Style::Good, format!("{head}, every job has one owner"));
    }
    let line =
        format!("{head}, {} in the ownership audit", counted(found.len() as u64, "mismatch"));
    Reply::of(&done).styled(Style::Bad, line).table(mismatches(found)).exit(Exit::Failed)
}
