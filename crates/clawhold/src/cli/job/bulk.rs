//! Jobs directed by hand: some by id, or all that fit a filter.

use clap::Args;
use clawhold_client::Client;
use serde::Serialize;

use super::state_parser;
use crate::api::job::{
    CancelJobs, HandBackJob, HandBackJobs, JobQuery, JobResult, JobState, RetryJobs,
};
use crate::cli::lines::BATCH_ITEMS_MAX;
use crate::context::Context;
use crate::duration::{DAY, Span};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Progress, Reply, Style};
use crate::table::Table;
use crate::text::counted;

/// Refusals that a reply lists.
const REFUSALS_LISTED_MAX: usize = 20;
/// Jobs of a page.
const PAGE: u64 = 1_000;

/// Which jobs are meant.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = true)]
struct Meant {
    /// The jobs, by id
    #[arg(value_name = "JOB", conflicts_with_all = ["queue", "state"], allow_negative_numbers = true, value_parser = number::id())]
    ids: Vec<u64>,
    /// All of this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// All in this state
    #[arg(long, value_name = "STATE", value_parser = state_parser())]
    state: Option<JobState>,
}

/// Which jobs to cancel.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    meant: Meant,
    /// Do it for all that fit the filter
    #[arg(long)]
    yes: bool,
    /// How long a running handler has to stop; 0s fences it at once
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = DAY.parser())]
    grace: Option<Span>,
}

/// Which jobs to put back.
#[derive(Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    meant: Meant,
    /// Do it for all that fit the filter
    #[arg(long)]
    yes: bool,
}

/// Which jobs to take back.
#[derive(Debug, Args)]
pub(crate) struct HandBack {
    #[command(flatten)]
    meant: Meant,
    /// Do it for all that fit the filter
    #[arg(long)]
    yes: bool,
    /// The claim that is meant, with one job; whichever runs when absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::id())]
    claim: Option<u64>,
}

/// What is done to the jobs.
#[derive(Clone, Copy)]
enum Act {
    Cancel { grace_ms: Option<u64> },
    Retry,
    HandBack { claim: Option<u64> },
}

/// What became of the jobs.
#[derive(Serialize)]
struct Done<'a> {
    done: u64,
    refused: u64,
    refusals: &'a [JobResult],
}

impl Cancel {
    /// Cancels.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let act = Act::Cancel { grace_ms: self.grace.map(|span| span.0) };
        act.run(self.meant, self.yes, context).await
    }
}

impl Retry {
    /// Puts back.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        Act::Retry.run(self.meant, self.yes, context).await
    }
}

impl HandBack {
    /// Takes back.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        if self.claim.is_some() && self.meant.ids.len() != 1 {
            return Err(Failure::usage("--claim goes with exactly one job"));
        }
        Act::HandBack { claim: self.claim }.run(self.meant, self.yes, context).await
    }
}

impl Act {
    fn word(self) -> &'static str {
        match self {
            Self::Cancel { .. } => "cancel",
            Self::Retry => "retry",
            Self::HandBack { .. } => "hand back",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Cancel { .. } => "cancelled",
            Self::Retry => "put back",
            Self::HandBack { .. } => "taken back",
        }
    }

    /// Returns the states that are meant when none is named.
    fn states(self) -> &'static [JobState] {
        match self {
            Self::Cancel { .. } => {
                &[JobState::Scheduled, JobState::Queued, JobState::Returned, JobState::Running]
            }
            Self::Retry => &[JobState::Failed],
            Self::HandBack { .. } => &[JobState::Running],
        }
    }

    async fn run(self, meant: Meant, yes: bool, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        let progress = context.output.progress();
        let by_filter = meant.ids.is_empty();
        let ids = if by_filter { self.find(client, &meant, &progress).await? } else { meant.ids };
        if by_filter && !yes {
            progress.clear();
            let count = counted(ids.len() as u64, "job");
            let text = format!("this would {} {count}; nothing was done", self.word());
            return Err(
                Failure::new(Exit::Usage, "confirmation_needed", text).next("add --yes to do it")
            );
        }
        let mut done = 0;
        let mut refusals = Vec::new();
        for some in ids.chunks(BATCH_ITEMS_MAX) {
            let results = self.apply(client, some).await?;
            done += results.iter().filter(|result| result.problem.is_none()).count() as u64;
            refusals.extend(results.into_iter().filter(|result| result.problem.is_some()));
            progress.show(&format!("{done} of {} {}", ids.len(), self.done()));
        }
        drop(progress);
        self.reply(&ids, done, refusals)
    }

    /// Returns the ids of all jobs that fit the filter.
    async fn find(
        self,
        client: &Client,
        meant: &Meant,
        progress: &Progress<'_>,
    ) -> Result<Vec<u64>, Failure> {
        let named = meant.state.map(|state| vec![state]);
        let states = named.unwrap_or_else(|| self.states().to_vec());
        let mut ids = Vec::new();
        for state in states {
            let query = JobQuery {
                queue: meant.queue.clone(),
                state: Some(state),
                cursor: None,
                limit: Some(PAGE),
            };
            let mut pages = client.jobs(&query);
            while let Some(jobs) = pages.next().await? {
                ids.extend(jobs.iter().map(|job| job.id));
                progress.show(&format!("{} found", counted(ids.len() as u64, "job")));
            }
        }
        // A job that moved on while the states were listed may stand in two of them.
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    async fn apply(self, client: &Client, ids: &[u64]) -> Result<Vec<JobResult>, Failure> {
        let done = match self {
            Self::Cancel { grace_ms } => {
                client.cancel_jobs(&CancelJobs { jobs: ids.to_vec(), grace_ms }).await?
            }
            Self::Retry => client.retry_jobs(&RetryJobs { jobs: ids.to_vec() }).await?,
            Self::HandBack { claim } => {
                let jobs = ids.iter().map(|job| HandBackJob { job: *job, claim }).collect();
                client.hand_back_jobs(&HandBackJobs { jobs }).await?
            }
        };
        Ok(done.reply.results)
    }

    fn reply(self, ids: &[u64], done: u64, refusals: Vec<JobResult>) -> Result<Reply, Failure> {
        if let ([_], [JobResult { problem: Some(problem), .. }]) = (ids, refusals.as_slice()) {
            return Err(Failure::of(problem.clone()));
        }
        let answer = Done { done, refused: refusals.len() as u64, refusals: &refusals };
        let reply = Reply::of(&answer);
        let line = format!("{} {}", counted(done, "job"), self.done());
        if refusals.is_empty() {
            return Ok(reply.styled(Style::Good, line));
        }
        let mut table = Table::new(&["JOB", "REFUSED BECAUSE"]);
        for refusal in refusals.iter().take(REFUSALS_LISTED_MAX) {
            let why =
                refusal.problem.as_ref().map_or(String::new(), |problem| problem.detail.clone());
            table.row([refusal.job.to_string(), why]);
        }
        let line = format!("{line}, {} refused", refusals.len());
        Ok(reply.styled(Style::Warn, line).table(table).exit(Exit::Refused))
    }
}
