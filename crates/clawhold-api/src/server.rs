//! The server itself: what it is, what the whole holds in numbers, and what changes.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::job::JobState;
use crate::queue::JobCounts;
use crate::worker::WorkerState;

/// The server and what it holds, in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// The server that answers.
    pub server: Server,
    /// The URL of the active server, if it is known and can be reached.
    pub active_url: Option<String>,
    /// Roles in numbers.
    pub roles: RoleTotals,
    /// Live workers in numbers.
    pub workers: WorkerTotals,
    /// Live sessions, workers included.
    pub sessions: u64,
    /// Queues in numbers.
    pub queues: QueueNumbers,
    /// Jobs by state.
    pub jobs: JobCounts,
    /// Streams.
    pub streams: u64,
    /// Messages in the inbox that nobody has read.
    #[serde(default)]
    pub unread: u64,
    /// Alerts that fire.
    #[serde(default)]
    pub alerts_firing: u64,
    /// Runs that have not ended.
    #[serde(default)]
    pub runs_live: u64,
    /// Whether no run starts of itself.
    #[serde(default)]
    pub automation_paused: bool,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Server {
    /// What it is doing.
    pub state: ServerState,
    /// The current term.
    pub epoch: u64,
    /// The last entry it has applied.
    pub position: u64,
    /// When that entry was written.
    pub at: String,
    /// The URL under which others reach it.
    pub advertise: Option<String>,
    /// Milliseconds of its hold on the log; null when it is not active.
    pub hold_left_ms: Option<u64>,
    /// The log it works on, without any password.
    pub store: String,
}

/// What a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It alone appends to the log.
    Active,
    /// It follows the log and is ready to take over.
    Standby,
    /// It is reading the log.
    Starting,
}

impl ServerState {
    /// Returns the word for this state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Standby => "standby",
            Self::Starting => "starting",
        }
    }
}

/// Roles in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleTotals {
    /// Somebody holds them.
    pub held: u64,
    /// Nobody holds them.
    pub vacant: u64,
}

/// Live workers in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerTotals {
    /// They get jobs.
    pub active: u64,
    /// They get no new job and return what they hold.
    pub draining: u64,
    /// They hold nothing and get nothing.
    pub drained: u64,
}

/// Queues in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueNumbers {
    /// All of them.
    pub count: u64,
    /// Those that hand out nothing.
    pub paused: u64,
    /// Those whose gate is closed.
    pub gated: u64,
}

/// The hash of everything true at one position: equal on every server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StateHash {
    /// The position.
    pub position: u64,
    /// SHA-256 as 64 hex digits.
    pub hash: String,
}

/// One part of a server and whether it is well, as `/readyz?verbose` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Whether all is well.
    pub ok: bool,
    /// The parts; empty unless `verbose` was asked.
    pub checks: Vec<Check>,
}

/// One part of a server and whether it is well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// The part.
    pub name: String,
    /// Whether it is well.
    pub ok: bool,
    /// What is seen.
    pub detail: String,
}

/// Whether the parts of a health check are listed: `?verbose`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HealthQuery {
    /// Present, or `1` or `true`, to list the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbose: Option<String>,
}

/// From where the changes are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Changes after this position; from the present on when absent. The header `Last-Event-ID`
    /// goes before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// One change, as an event of `/v1/events`: the event's name is `kind`.
///
/// All changes of one position come together; the last of them alone carries the id, so that a
/// reader that was cut off between them gets all of them again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// Where in the log.
    pub position: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// Another server is the active one, or it stepped down.
    Server,
    /// A role was granted.
    RoleGranted {
        /// The role.
        role: String,
        /// To whom.
        session: u64,
        /// Under which token.
        token: u64,
    },
    /// A role has no holder.
    RoleVacant {
        /// The role.
        role: String,
    },
    /// A role changed in another way: its line, its settings, a hand-over asked.
    Role {
        /// The role.
        role: String,
    },
    /// A worker's state changed.
    Worker {
        /// Its session.
        session: u64,
        /// The state it is in.
        state: WorkerState,
    },
    /// A session that is no worker opened or ended.
    Session {
        /// The session.
        session: u64,
    },
    /// A job changed its state.
    Job {
        /// The job.
        job: u64,
        /// Its queue.
        queue: String,
        /// The state it is in.
        state: JobState,
    },
    /// A queue was paused, resumed, set, or its gate moved.
    Queue {
        /// The queue.
        queue: String,
    },
    /// A stream has more events.
    Stream {
        /// The stream.
        stream: String,
        /// Its last event.
        last: u64,
    },
    /// A position was recorded.
    Recorded {
        /// The stream.
        stream: String,
        /// The role.
        role: String,
        /// The position.
        through: u64,
    },
    /// A definition was added, changed or removed.
    Definition {
        /// Its kind: `agent`, `command`, `alert-rule`, `auto-fix`, `runbook` …
        noun: String,
        /// Its name.
        name: String,
    },
    /// A run moved.
    Run {
        /// The run.
        run: u64,
        /// The state it is in.
        state: String,
    },
    /// An alert changed.
    Alert {
        /// The alert.
        alert: u64,
    },
    /// A message was written, or something became of it.
    Message {
        /// The message.
        message: u64,
    },
    /// Automation was paused or goes on.
    Automation,
}

impl What {
    /// Returns the name of this kind of change, which is the name of its event.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::RoleGranted { .. } => "role_granted",
            Self::RoleVacant { .. } => "role_vacant",
            Self::Role { .. } => "role",
            Self::Worker { .. } => "worker",
            Self::Session { .. } => "session",
            Self::Job { .. } => "job",
            Self::Queue { .. } => "queue",
            Self::Stream { .. } => "stream",
            Self::Recorded { .. } => "recorded",
            Self::Definition { .. } => "definition",
            Self::Run { .. } => "run",
            Self::Alert { .. } => "alert",
            Self::Message { .. } => "message",
            Self::Automation => "automation",
        }
    }
}

/// The name of the event that says: changes were skipped, read everything again.
pub const RESET_EVENT: &str = "reset";

/// The data of a `reset` event: changes are missing before this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// Read the lists again, then follow from here.
    pub position: u64,
}
