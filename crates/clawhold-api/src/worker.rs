//! Workers: sessions that work on queues, and how they leave.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::session::{Drain, Hold};

/// Held jobs that one reply lists; `held` counts them all.
pub const HELD_LISTED_MAX: usize = 1_000;

/// What a worker is doing, by the record.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It gets jobs.
    Active,
    /// It gets no new job and returns what it holds.
    Draining,
    /// It holds nothing and gets nothing.
    Drained,
    /// It ended its session in good order.
    Left,
    /// It was not heard of in time.
    Lost,
}

impl WorkerState {
    /// Returns the word for this state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Drained => "drained",
            Self::Left => "left",
            Self::Lost => "lost",
        }
    }
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// Its session's id.
    pub id: u64,
    /// What people call it.
    pub label: String,
    /// What it is doing.
    pub state: WorkerState,
    /// The queues it works on.
    pub queues: Vec<String>,
    /// Jobs it may hold at once.
    pub slots: u64,
    /// The agent that does its work.
    pub agent: Option<String>,
    /// Where it runs, for people.
    pub place: String,
    /// When its session was opened.
    pub opened: String,
    /// When it entered its state.
    pub since: String,
    /// Jobs it holds by the record.
    pub held: u64,
    /// The first of them, at most 1000; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_jobs: Option<Vec<Hold>>,
    /// The drain in force.
    pub drain: Option<Drain>,
    /// Milliseconds since its last beat; null when the active server has not heard of it since
    /// it took over.
    pub silent_ms: Option<u64>,
    /// Jobs it reported to hold in its last beat; null like `silent_ms`.
    pub reports: Option<u64>,
}

/// Which workers are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkerQuery {
    /// Those that work on this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Those in this state. `left` and `lost` list the workers that ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<WorkerState>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}

/// Sends a worker home: it gets no new job and returns what it holds until the deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainWorker {
    /// Milliseconds until what it still holds is taken back, 0 to 86400000; 30000 when absent. A
    /// repeated drain only shortens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A drain as it came into force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DrainReply {
    /// Jobs that the worker still holds.
    pub held: u64,
    /// Queues that no other live worker serves.
    pub unserved: Vec<String>,
}
