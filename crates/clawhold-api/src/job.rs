//! Jobs: accepted once, held by one claim at a time, ended once.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::Problem;
use crate::json::Json;
use crate::session::SessionKey;

/// Where a job is. It is in exactly one of these.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its time.
    Scheduled,
    /// It waits for a worker.
    Queued,
    /// It came back from a worker and waits before the new ones.
    Returned,
    /// A session holds it under a claim.
    Running,
    /// It ended well.
    Completed,
    /// It ended badly: a dead letter.
    Failed,
    /// It was called off.
    Cancelled,
}

impl JobState {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Queued,
        Self::Returned,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the word for this state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Returned => "returned",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Tells whether a job in this state has ended.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Accepts jobs, all or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Enqueue {
    /// The jobs in their order, 1 to 1000.
    pub jobs: Vec<NewJob>,
}

/// A job as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// The queue; made when it is missing.
    pub queue: String,
    /// What the handler gets, at most 262144 bytes.
    pub payload: Json,
    /// Higher goes first, -100 to 100; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Milliseconds before it may run; excludes `run_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The moment before which it may not run; excludes `delay_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<String>,
    /// While a live job of the queue bears this key, an equal job is that job; 1 to 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<String>,
    /// Jobs of one queue that bear the same key run one after the other; 1 to 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_key: Option<String>,
    /// Failed runs after which it is dead, 1 to 10000; 5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u64>,
    /// Milliseconds before the first retry, doubled with each; 1000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// Milliseconds that no retry's delay exceeds; 3600000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_max_ms: Option<u64>,
    /// Milliseconds one run may take; no limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl NewJob {
    /// Returns a job with every default.
    #[must_use]
    pub fn new(queue: impl Into<String>, payload: Json) -> Self {
        Self {
            queue: queue.into(),
            payload,
            priority: None,
            delay_ms: None,
            run_at: None,
            unique_key: None,
            order_key: None,
            attempts_max: None,
            backoff_ms: None,
            backoff_max_ms: None,
            timeout_ms: None,
        }
    }
}

/// Jobs as they were accepted, in the order asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enqueued {
    /// One for each job asked.
    pub jobs: Vec<EnqueuedJob>,
}

/// One job as it was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnqueuedJob {
    /// The job.
    pub id: u64,
    /// Whether a live job with the same unique key was there before.
    pub existing: bool,
}

/// Which jobs are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Those of this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Those in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its id.
    pub id: u64,
    /// Its queue.
    pub queue: String,
    /// Where it is.
    pub state: JobState,
    /// Higher goes first.
    pub priority: i64,
    /// Runs that failed.
    pub attempts: u64,
    /// Failed runs after which it is dead.
    pub attempts_max: u64,
    /// Holders that vanished with it.
    pub losses: u64,
    /// Times it came back unfinished.
    pub hand_backs: u64,
    /// The number of its latest claim; 0 before the first.
    pub claim: u64,
    /// The worker that holds it.
    pub worker: Option<u64>,
    /// When it was accepted.
    pub created: String,
    /// When it entered its state.
    pub since: String,
    /// The moment before which it does not run, while it is scheduled.
    pub run_at: Option<String>,
    /// Its unique key.
    pub unique_key: Option<String>,
    /// Its ordering key.
    pub order_key: Option<String>,
    /// Milliseconds one run may take.
    pub timeout_ms: Option<u64>,
    /// Percent done, as its handler last said.
    pub percent: Option<u64>,
    /// What its handler last said.
    pub note: Option<String>,
    /// What went wrong, the latest last; at most 5.
    pub errors: Vec<JobError>,
    /// How it last came back unfinished.
    pub returned: Option<JobReturn>,
    /// Whether it was cancelled while it ran and has yet to stop.
    pub cancel_asked: bool,
    /// What the handler gets; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// What came out; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What the next holder gets to go on from; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Json>,
}

/// How a job last came back unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobReturn {
    /// When.
    pub at: String,
    /// The worker that held it.
    pub worker: u64,
    /// Why, in one word: `handed_back`, `session_closed`, `session_lost`, `drain_deadline`,
    /// `never_received` or `operator`.
    pub cause: String,
    /// What was said about it.
    pub reason: String,
}

/// What went wrong in one run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// When.
    pub at: String,
    /// Runs that had failed by then.
    pub attempt: u64,
    /// The worker that held it.
    pub worker: Option<u64>,
    /// What.
    pub error: String,
}

/// Asks for jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Who asks.
    pub session: SessionKey,
    /// The queues, taken in turn, 1 to 100.
    pub queues: Vec<String>,
    /// Jobs at most, 1 to 1000; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Milliseconds to wait for the first job, 0 to 60000; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Jobs as they were handed out; empty when there was none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Claimed {
    /// The jobs.
    pub jobs: Vec<ClaimedJob>,
}

/// One job as it was handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimedJob {
    /// The job.
    pub id: u64,
    /// The claim: every later call about this run names it.
    pub claim: u64,
    /// Its queue.
    pub queue: String,
    /// What the handler gets.
    pub payload: Json,
    /// Its priority.
    pub priority: i64,
    /// Which try this is: 1 for the first. Losses and hand-backs do not count.
    pub attempt: u64,
    /// Holders that vanished with it.
    pub losses: u64,
    /// Times it came back unfinished.
    pub hand_backs: u64,
    /// What the holder before left to go on from.
    pub checkpoint: Option<Json>,
    /// Milliseconds this run may take.
    pub timeout_ms: Option<u64>,
    /// Milliseconds the handler may go without progress.
    pub progress_ms: Option<u64>,
    /// When the job was accepted.
    pub created: String,
}

/// Ends claims, each with its own outcome, and asks for the next jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Who holds the jobs.
    pub session: SessionKey,
    /// Each is decided by itself, 1 to 1000; one that is refused leaves the others alone.
    pub settlements: Vec<Settlement>,
    /// The jobs wanted next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Wanted>,
}

/// Which jobs are wanted next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The queues, taken in turn, 1 to 100.
    pub queues: Vec<String>,
    /// Jobs at most, 1 to 1000.
    pub max: u64,
}

/// How one claim ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    /// The job.
    pub job: u64,
    /// The claim under which it is held.
    pub claim: u64,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of one run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The work is done.
    Completed {
        /// What came out, at most 262144 bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
    },
    /// The handler failed; the job is tried again while its rule allows.
    Failed {
        /// What went wrong, at most 2048 bytes.
        error: String,
        /// Milliseconds until the next try, instead of the rule's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// Trying again is pointless: the job is dead.
    Dead {
        /// What went wrong, at most 2048 bytes.
        error: String,
    },
    /// The job goes back unfinished; no attempt is burned.
    HandedBack {
        /// What the next holder needs; absent keeps the checkpoint there is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<Json>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The job waits for a while and holds no slot; no attempt is burned.
    Snoozed {
        /// Milliseconds to wait.
        for_ms: u64,
        /// What the next holder needs; absent keeps the checkpoint there is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<Json>,
    },
}

/// What became of each settlement, and the jobs handed out next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Settled {
    /// One for each settlement, in the order asked.
    pub results: Vec<SettleResult>,
    /// The jobs handed out next.
    pub jobs: Vec<ClaimedJob>,
}

/// What became of one settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettleResult {
    /// The job.
    pub job: u64,
    /// Where it is; absent when it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Says that a handler moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Who holds the job.
    pub session: SessionKey,
    /// The job.
    pub job: u64,
    /// The claim under which it is held.
    pub claim: u64,
    /// Percent done, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u64>,
    /// What people should read, at most 2048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Keeps what the next holder needs to go on from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Who holds the job.
    pub session: SessionKey,
    /// The job.
    pub job: u64,
    /// The claim under which it is held.
    pub claim: u64,
    /// Rises with each checkpoint of a claim; an older one is refused.
    pub number: u64,
    /// What the next holder needs, at most 262144 bytes.
    pub checkpoint: Json,
}

/// Cancels jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelJobs {
    /// The jobs, 1 to 1000.
    pub jobs: Vec<u64>,
    /// Milliseconds a running handler has to stop; 0 fences it at once; 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// Puts ended jobs back to their queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryJobs {
    /// The jobs, 1 to 1000: failed or cancelled ones, or scheduled ones that should not wait.
    pub jobs: Vec<u64>,
}

/// Takes running jobs from their holders and returns them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandBackJobs {
    /// The jobs, 1 to 1000.
    pub jobs: Vec<HandBackJob>,
}

/// One job to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandBackJob {
    /// The job.
    pub job: u64,
    /// The claim that is meant; whichever runs when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u64>,
}

/// What became of each job, in the order asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobResults {
    /// One for each job.
    pub results: Vec<JobResult>,
}

/// What became of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobResult {
    /// The job.
    pub job: u64,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
