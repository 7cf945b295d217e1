//! Queues: their jobs in numbers, their limits, the gate of a rebalance and the ownership audit.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Mismatches that one audit lists; `mismatches_count` counts them all.
pub const MISMATCHES_LISTED_MAX: usize = 1_000;

/// Jobs in numbers, one for each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobCounts {
    /// They wait for their time.
    pub scheduled: u64,
    /// They wait for a worker.
    pub queued: u64,
    /// They came back from a worker and wait before the new ones.
    pub returned: u64,
    /// A session holds them.
    pub running: u64,
    /// They ended well and are still kept.
    pub completed: u64,
    /// They ended badly and are still kept: dead letters.
    pub failed: u64,
    /// They were called off and are still kept.
    pub cancelled: u64,
}

/// What a queue has seen since it was made. Never falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueTotals {
    /// Jobs accepted.
    pub enqueued: u64,
    /// Jobs that ended well.
    pub completed: u64,
    /// Jobs that ended badly.
    pub failed: u64,
    /// Jobs that were called off.
    pub cancelled: u64,
    /// Ended jobs that are kept no more.
    pub purged: u64,
    /// Ended jobs that were put back by hand.
    pub retried: u64,
    /// Times a job was handed out.
    pub claimed: u64,
    /// Times a job came back unfinished.
    pub returned: u64,
}

/// The limits of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueSettings {
    /// Jobs that may run at once; 0 for no limit.
    pub running_max: u64,
    /// Milliseconds a handler may go without progress; 0 for no deadline.
    pub progress_ms: u64,
    /// Ended jobs kept.
    pub retain_count: u64,
    /// Milliseconds for which ended jobs are kept.
    pub retain_ms: u64,
    /// Holders that may vanish with a job before it is dead.
    pub losses_max: u64,
    /// Hand-backs after which a job is dead.
    pub hand_backs_max: u64,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own.
    pub live_max: u64,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Its jobs by state.
    pub jobs: JobCounts,
    /// What it has seen.
    pub totals: QueueTotals,
    /// Milliseconds since the oldest waiting job was accepted; null when none waits.
    pub oldest_waiting_ms: Option<u64>,
    /// Its limits.
    pub settings: QueueSettings,
    /// Set while it hands out nothing.
    pub paused: Option<Paused>,
    /// Set while new jobs wait behind the returned ones.
    pub gate: Option<Gate>,
    /// Returned jobs that were still not placed when the gate last reached its bound; 0 once all
    /// are.
    pub unplaced: u64,
    /// Live workers that serve it and get jobs.
    pub workers: u64,
}

/// Why a queue hands out nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Paused {
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: String,
}

/// The gate of a rebalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// Returned jobs that are not placed yet.
    pub unplaced: u64,
    /// Milliseconds until the gate opens by itself.
    pub left_ms: u64,
}

/// Sets the limits of a queue. What is absent stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetQueue {
    /// Jobs that may run at once; 0 for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_max: Option<u64>,
    /// Milliseconds a handler may go without progress; 0 for no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_ms: Option<u64>,
    /// Ended jobs kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain_count: Option<u64>,
    /// Milliseconds for which ended jobs are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain_ms: Option<u64>,
    /// Holders that may vanish with a job before it is dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses_max: Option<u64>,
    /// Hand-backs after which a job is dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_backs_max: Option<u64>,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_max: Option<u64>,
}

/// Stops handing out the jobs of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseQueue {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Closes the gate of a queue: new jobs wait behind the returned ones until those are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseGate {
    /// Milliseconds after which the gate opens by itself, 1 to 86400000; 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
}

/// What is audited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The queue; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

/// The ownership audit: the record against what workers report, at one position of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    /// The position it was read at.
    pub position: u64,
    /// When.
    pub at: String,
    /// The queue; null for all of them.
    pub queue: Option<String>,
    /// Whether every job has exactly one owner.
    pub ok: bool,
    /// Queues that were looked at.
    pub queues: u64,
    /// Their jobs by state.
    pub jobs: JobCounts,
    /// Jobs that have not ended.
    pub live: u64,
    /// Jobs on their way from one place to another.
    pub in_transit: u64,
    /// What does not match, at most 1000.
    pub mismatches: Vec<Mismatch>,
    /// How many mismatches there are.
    pub mismatches_count: u64,
    /// Live sessions that were not heard of since the active server took over, at most 1000: what
    /// they hold is known by the record alone.
    pub unheard: Vec<u64>,
    /// How many such sessions there are.
    pub unheard_count: u64,
}

/// One thing that does not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mismatch {
    /// What is wrong: `job without owner`, `held by a worker, not by the record`,
    /// `returned but not placed`, `held by a session that is over`, `not in exactly one place` or
    /// `counters do not add up`.
    pub kind: String,
    /// The job, if it is about one.
    pub job: Option<u64>,
    /// The queue, if it is known.
    pub queue: Option<String>,
    /// The worker, if it is about one.
    pub worker: Option<u64>,
    /// The claim that the record or the worker names.
    pub claim: Option<u64>,
    /// The facts as a sentence.
    pub detail: String,
}
