//! What is asked of jobs.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::SessionKey;
use crate::units::{Bytes, ClaimNumber, JobId, Key, Name, Text, Timestamp};

/// See [`super::Command::Enqueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Enqueue {
    /// The jobs, in their order.
    #[n(0)]
    pub jobs: Vec<NewJob>,
}

/// When a job may run first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Due {
    /// At once.
    #[default]
    #[n(0)]
    Now,
    /// After this many milliseconds.
    #[n(1)]
    After(#[n(0)] u64),
    /// At this moment; one that has passed means at once.
    #[n(2)]
    At(#[n(0)] Timestamp),
}

/// A job as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NewJob {
    /// The queue; made when it is missing.
    #[n(0)]
    pub queue: Name,
    /// What the handler gets.
    #[n(1)]
    pub payload: Bytes,
    /// Higher goes first.
    #[n(2)]
    pub priority: i8,
    /// When it may run first.
    #[n(3)]
    pub due: Due,
    /// While a live job of the queue bears this key, an equal job is that job.
    #[n(4)]
    pub unique: Option<Key>,
    /// Jobs of one queue that bear the same key run one after the other, in order.
    #[n(5)]
    pub order: Option<Key>,
    /// How often it may fail.
    #[n(6)]
    pub retry: RetryRule,
    /// Milliseconds one run may take; `None` for no limit.
    #[n(7)]
    pub timeout_ms: Option<u64>,
}

/// How a failed run is repeated: after `first_ms`, doubled each time up to `ceiling_ms`, with a
/// fifth of it as jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RetryRule {
    /// Failed runs after which the job is dead.
    #[n(0)]
    pub attempts_max: u32,
    /// Milliseconds before the first retry.
    #[n(1)]
    pub first_ms: u64,
    /// Milliseconds that no delay exceeds.
    #[n(2)]
    pub ceiling_ms: u64,
}

impl Default for RetryRule {
    fn default() -> Self {
        Self {
            attempts_max: crate::limits::ATTEMPTS_MAX_DEFAULT,
            first_ms: crate::limits::BACKOFF_MS_DEFAULT,
            ceiling_ms: crate::limits::BACKOFF_MS_MAX_DEFAULT,
        }
    }
}

/// See [`super::Command::Claim`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Claim {
    /// Who asks.
    #[n(0)]
    pub session: SessionKey,
    /// From which queues and how many.
    #[n(1)]
    pub wanted: Wanted,
}

/// Which jobs are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Wanted {
    /// The queues, taken in turn.
    #[n(0)]
    pub queues: Vec<Name>,
    /// Jobs at most.
    #[n(1)]
    pub count_max: u32,
}

/// See [`super::Command::Settle`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Settle {
    /// Who asks.
    #[n(0)]
    pub session: SessionKey,
    /// Each is decided by itself; one that is refused leaves the others alone.
    #[n(1)]
    pub settlements: Vec<Settlement>,
    /// The jobs wanted next.
    #[n(2)]
    pub next: Option<Wanted>,
}

/// How one claim ends.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Settlement {
    /// The job.
    #[n(0)]
    pub job: JobId,
    /// The claim under which it is held.
    #[n(1)]
    pub claim: ClaimNumber,
    /// What became of it.
    #[n(2)]
    pub outcome: RunOutcome,
}

/// What became of one run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RunOutcome {
    /// The work is done.
    #[n(0)]
    Completed {
        /// What came out.
        #[n(0)]
        result: Bytes,
    },
    /// The handler failed; the job is tried again while its rule allows.
    #[n(1)]
    Failed {
        /// What went wrong.
        #[n(0)]
        error: Text,
        /// Milliseconds until the next try, instead of the rule's.
        #[n(1)]
        retry_after_ms: Option<u64>,
    },
    /// Trying again is pointless: the job is dead.
    #[n(2)]
    Dead {
        /// What went wrong.
        #[n(0)]
        error: Text,
    },
    /// The worker hands the job back unfinished; no attempt is burned.
    #[n(3)]
    HandedBack {
        /// What the next holder needs; `None` keeps the checkpoint there is.
        #[n(0)]
        checkpoint: Option<Bytes>,
        /// Why.
        #[n(1)]
        reason: Text,
    },
    /// The job waits for a while and holds no slot; no attempt is burned.
    #[n(4)]
    Snoozed {
        /// Milliseconds to wait.
        #[n(0)]
        for_ms: u64,
        /// What the next holder needs; `None` keeps the checkpoint there is.
        #[n(1)]
        checkpoint: Option<Bytes>,
    },
}

/// See [`super::Command::Progress`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Progress {
    /// Who asks.
    #[n(0)]
    pub session: SessionKey,
    /// The job.
    #[n(1)]
    pub job: JobId,
    /// The claim under which it is held.
    #[n(2)]
    pub claim: ClaimNumber,
    /// Percent done, 0 to 100, if that can be said.
    #[n(3)]
    pub percent: Option<u8>,
    /// What people should read.
    #[n(4)]
    pub note: Text,
}

/// See [`super::Command::Checkpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Checkpoint {
    /// Who asks.
    #[n(0)]
    pub session: SessionKey,
    /// The job.
    #[n(1)]
    pub job: JobId,
    /// The claim under which it is held.
    #[n(2)]
    pub claim: ClaimNumber,
    /// Rises with each checkpoint of a claim; an older one is refused.
    #[n(3)]
    pub number: u64,
    /// What the next holder needs.
    #[n(4)]
    pub bytes: Bytes,
}

/// See [`super::Command::CancelJobs`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CancelJobs {
    /// The jobs.
    #[n(0)]
    pub jobs: Vec<JobId>,
    /// Milliseconds a running handler has to stop; 0 fences it at once.
    #[n(1)]
    pub grace_ms: u64,
}

/// See [`super::Command::RetryJobs`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RetryJobs {
    /// The jobs: failed or cancelled ones, or scheduled ones that should not wait.
    #[n(0)]
    pub jobs: Vec<JobId>,
}

/// See [`super::Command::TakeBack`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TakeBack {
    /// The jobs, each with the claim that is meant; `None` means whichever runs.
    #[n(0)]
    pub jobs: Vec<TakeBackJob>,
    /// Why.
    #[n(1)]
    pub cause: ReturnCause,
}

/// One job of a [`TakeBack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TakeBackJob {
    /// The job.
    #[n(0)]
    pub job: JobId,
    /// The claim that is meant.
    #[n(1)]
    pub claim: Option<ClaimNumber>,
}

/// Why a job came back from a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum ReturnCause {
    /// Its holder handed it back.
    #[n(0)]
    HandedBack,
    /// Its holder closed its session while holding it.
    #[n(1)]
    SessionClosed,
    /// Its holder was not heard of in time: a loss.
    #[n(2)]
    SessionLost,
    /// The drain's deadline passed.
    #[n(3)]
    DrainDeadline,
    /// Its holder never listed it: the answer to the claim was lost on the way.
    #[n(4)]
    NeverReceived,
    /// An operator took it back.
    #[n(5)]
    Operator,
}
