//! What comes back: an answer, or a refusal that carries the facts its reader needs.

mod refusal;

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::command::SessionKey;
use crate::units::{
    ClaimNumber, EventNumber, JobId, MessageId, Name, RunId, SessionId, Timestamp, Token,
};

pub use refusal::{Kind, Refusal};

/// The outcome of a command that was understood and carried out.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// It is done, and there is nothing to add.
    #[n(0)]
    Done,
    /// A session was opened.
    #[n(1)]
    Opened(#[n(0)] SessionKey),
    /// A role was granted, by this entry or to this session before.
    #[n(2)]
    Granted(#[n(0)] Granted),
    /// The role is held; the session stands in line.
    #[n(3)]
    Waiting {
        /// Who holds it.
        #[n(0)]
        holder: SessionId,
        /// Under which token.
        #[n(1)]
        token: Token,
    },
    /// The role was released; who got it in the same entry, if somebody waited.
    #[n(4)]
    Released {
        /// The next grant.
        #[n(0)]
        next: Option<Granted>,
    },
    /// Jobs were accepted, in the order asked.
    #[n(5)]
    Enqueued(#[n(0)] Vec<Enqueued>),
    /// Jobs were handed out. Their contents are read from the state.
    #[n(6)]
    Claimed(#[n(0)] Vec<Claimed>),
    /// Claims were settled, each for itself, and the next jobs handed out.
    #[n(7)]
    Settled {
        /// One for each settlement, in the order asked.
        #[n(0)]
        results: Vec<Result<SettledAs, Refusal>>,
        /// The jobs handed out next.
        #[n(1)]
        claimed: Vec<Claimed>,
    },
    /// One outcome for each job, in the order asked.
    #[n(8)]
    Jobs(#[n(0)] Vec<Result<JobId, Refusal>>),
    /// Events were appended.
    #[n(9)]
    Appended {
        /// The number of the last one.
        #[n(0)]
        last: EventNumber,
    },
    /// A coordinator's step was taken.
    #[n(10)]
    Committed {
        /// The jobs accepted, in the order asked.
        #[n(0)]
        jobs: Vec<Enqueued>,
    },
    /// A drain is in force.
    #[n(11)]
    Draining {
        /// Jobs that the worker still holds.
        #[n(0)]
        held: u64,
        /// Queues that no other live worker serves.
        #[n(1)]
        unserved: Vec<Name>,
    },
    /// Nobody holds the role; the session stands in line, too far behind to be promoted.
    #[n(12)]
    Behind {
        /// Events it lags behind.
        #[n(0)]
        lag_events: u64,
        /// Events it may lag behind.
        #[n(1)]
        lag_events_max: u64,
    },
    /// Nobody holds the role; the session stands in line, and the role's policy keeps it vacant.
    #[n(13)]
    Withheld {
        /// The latest token.
        #[n(0)]
        latest: Token,
    },
    /// A definition is as was asked.
    #[n(14)]
    Defined {
        /// Its version.
        #[n(0)]
        version: u64,
        /// Whether it is new.
        #[n(1)]
        added: bool,
        /// Whether this entry changed it.
        #[n(2)]
        changed: bool,
    },
    /// Definitions are as was asked.
    #[n(15)]
    Imported {
        /// Definitions that are new.
        #[n(0)]
        added: u64,
        /// Definitions that were changed.
        #[n(1)]
        changed: u64,
        /// Definitions that were removed.
        #[n(2)]
        removed: u64,
    },
    /// A run was asked for or moved. Where it is, is read from the state.
    #[n(16)]
    Run {
        /// The run.
        #[n(0)]
        run: RunId,
    },
    /// A message was written.
    #[n(17)]
    Posted {
        /// The message.
        #[n(0)]
        message: MessageId,
    },
    /// A silence is in force.
    #[n(18)]
    Silenced {
        /// Its number.
        #[n(0)]
        silence: u64,
    },
}

/// A role as it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Granted {
    /// To whom.
    #[n(0)]
    pub session: SessionId,
    /// The fencing token: the position of the granting entry.
    #[n(1)]
    pub token: Token,
    /// Milliseconds of the lease from the last renewal on.
    #[n(2)]
    pub ttl_ms: u64,
}

/// A job as it was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Enqueued {
    /// The job.
    #[n(0)]
    pub job: JobId,
    /// Whether a live job with the same unique key was there before.
    #[n(1)]
    pub existing: bool,
}

/// A job as it was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Claimed {
    /// The job.
    #[n(0)]
    pub job: JobId,
    /// The claim: every later call about this run names it.
    #[n(1)]
    pub claim: ClaimNumber,
}

/// Where a settled job went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SettledAs {
    /// It is completed.
    #[n(0)]
    Completed,
    /// It will be tried again at this moment.
    #[n(1)]
    RetryAt(#[n(0)] Timestamp),
    /// It is dead: failed for good.
    #[n(2)]
    Failed,
    /// It waits in its queue, before the new ones.
    #[n(3)]
    Returned,
    /// It is cancelled, as was asked while it ran.
    #[n(4)]
    Cancelled,
}

/// Where a job is. It is in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum JobState {
    /// It waits for its time.
    #[n(0)]
    Scheduled,
    /// It waits for a worker.
    #[n(1)]
    Queued,
    /// It came back from a worker and waits before the new ones.
    #[n(2)]
    Returned,
    /// A session holds it under a claim.
    #[n(3)]
    Running,
    /// It ended well.
    #[n(4)]
    Completed,
    /// It ended badly: a dead letter.
    #[n(5)]
    Failed,
    /// It was called off.
    #[n(6)]
    Cancelled,
}

impl JobState {
    /// Every state, in the order of the log's numbers.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Queued,
        Self::Returned,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Tells whether a job in this state has ended.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the word for this state, as people and the wire use it.
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
}

impl core::fmt::Display for JobState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a worker is doing, by the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum WorkerState {
    /// It gets jobs.
    #[n(0)]
    Active,
    /// It gets no new job and returns what it holds.
    #[n(1)]
    Draining,
    /// It holds nothing and gets nothing.
    #[n(2)]
    Drained,
    /// It ended its session in good order.
    #[n(3)]
    Left,
    /// It was not heard of in time.
    #[n(4)]
    Lost,
}

impl WorkerState {
    /// Returns the word for this state, as people and the wire use it.
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

impl core::fmt::Display for WorkerState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}
