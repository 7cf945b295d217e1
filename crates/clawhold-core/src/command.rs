//! What can be asked of the state, one type for each request.
//!
//! Every variant and field has a number that is never used again; a field added later is an
//! `Option`. What a command means is decided beside its noun.

use alloc::boxed::Box;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::units::{
    Bytes, ClaimNumber, Epoch, EventNumber, JobId, Key, Name, RequestId, SessionId, Text,
    Timestamp, Token,
};

/// A command as the log keeps it: who asked, under which request id, for what.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Request {
    /// The caller's request id; a repeat gets the first answer.
    #[n(0)]
    pub id: Option<RequestId>,
    /// Who asked, for the record: a token's name, a session's label, or the server itself.
    #[n(1)]
    pub actor: Option<Name>,
    /// What is asked.
    #[n(2)]
    pub command: Command,
}

/// Proof of being a session: its id and the secret that was issued with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct SessionKey {
    /// The session.
    #[n(0)]
    pub id: SessionId,
    /// The secret issued with it; a guess is refused.
    #[n(1)]
    pub secret: u64,
}

/// Everything that changes the state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// A server becomes the active one.
    #[n(0)]
    TakeOver(#[n(0)] TakeOver),
    /// The active server steps down in good order; its hold ends here.
    #[n(1)]
    StepDown,
    /// Time passes: whatever is due happens.
    #[n(2)]
    Tick,
    /// The active server says that the engine's presence lock is its own.
    #[n(3)]
    Present(#[n(0)] Present),

    /// Opens a session.
    #[n(10)]
    OpenSession(#[n(0)] OpenSession),
    /// Ends a session in good order: what it still holds goes back.
    #[n(11)]
    CloseSession(#[n(0)] CloseSession),
    /// Ends a session that was not heard of in time. Only the active server asks this.
    #[n(12)]
    ExpireSession(#[n(0)] ExpireSession),
    /// Records that sessions were heard of since the takeover. Only the active server asks this.
    #[n(13)]
    Heard(#[n(0)] Heard),
    /// Sends a worker home: it gets no new job, and returns what it holds until the deadline.
    #[n(14)]
    DrainWorker(#[n(0)] DrainWorker),
    /// Takes a drain back: the worker gets jobs again.
    #[n(15)]
    ResumeWorker(#[n(0)] ResumeWorker),

    /// Sets what is known of a role before anybody holds it.
    #[n(20)]
    SetRole(#[n(0)] SetRole),
    /// Removes a role that nobody holds; its token floor stays.
    #[n(21)]
    RemoveRole(#[n(0)] RemoveRole),
    /// Asks for a role.
    #[n(22)]
    Acquire(#[n(0)] Acquire),
    /// Stops waiting for a role.
    #[n(23)]
    Withdraw(#[n(0)] Withdraw),
    /// Gives a role up; the next candidate gets it in the same entry.
    #[n(24)]
    Release(#[n(0)] Release),
    /// Gives a role to a candidate, in one entry.
    #[n(25)]
    HandOver(#[n(0)] HandOver),
    /// Asks the holder to finish and hand over.
    #[n(26)]
    AskHandOver(#[n(0)] AskHandOver),
    /// Ends a lease that was not renewed in time. Only the active server asks this.
    #[n(27)]
    ExpireRole(#[n(0)] ExpireRole),
    /// Records how far the candidates of a role have come. Only the active server asks this,
    /// right before an entry that may choose among them.
    #[n(28)]
    Standings(#[n(0)] Standings),

    /// Sets what is known of a queue.
    #[n(30)]
    SetQueue(#[n(0)] SetQueue),
    /// Stops handing out the jobs of a queue; returns and enqueues go on.
    #[n(31)]
    PauseQueue(#[n(0)] PauseQueue),
    /// Hands the jobs of a queue out again.
    #[n(32)]
    ResumeQueue(#[n(0)] ResumeQueue),
    /// Removes a queue that has no live job.
    #[n(33)]
    RemoveQueue(#[n(0)] RemoveQueue),
    /// Closes the gate of a queue: new jobs wait behind returned ones until those are placed.
    #[n(34)]
    CloseGate(#[n(0)] CloseGate),
    /// Opens the gate of a queue.
    #[n(35)]
    OpenGate(#[n(0)] OpenGate),

    /// Accepts jobs, all or none.
    #[n(40)]
    Enqueue(#[n(0)] Enqueue),
    /// Hands out jobs.
    #[n(41)]
    Claim(#[n(0)] Claim),
    /// Ends claims, each with its own outcome, and hands out the next jobs.
    #[n(42)]
    Settle(#[n(0)] Settle),
    /// Records that a handler moves.
    #[n(43)]
    Progress(#[n(0)] Progress),
    /// Keeps what the next holder needs to go on from here.
    #[n(44)]
    Checkpoint(#[n(0)] Checkpoint),
    /// Cancels jobs.
    #[n(45)]
    CancelJobs(#[n(0)] CancelJobs),
    /// Puts ended jobs back to the queue.
    #[n(46)]
    RetryJobs(#[n(0)] RetryJobs),
    /// Takes running jobs from their holders and returns them.
    #[n(47)]
    TakeBack(#[n(0)] TakeBack),

    /// Creates a stream or changes its retention.
    #[n(50)]
    SetStream(#[n(0)] SetStream),
    /// Removes a stream with all its events.
    #[n(51)]
    RemoveStream(#[n(0)] RemoveStream),
    /// Adds events to a stream, which is created when it is missing.
    #[n(52)]
    Append(#[n(0)] Append),
    /// The atomic step of a coordinator.
    #[n(53)]
    Commit(#[n(0)] Box<Commit>),
}

/// See [`Command::TakeOver`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TakeOver {
    /// The server's term: one more than the one before.
    #[n(0)]
    pub epoch: Epoch,
    /// The URL under which other processes reach this server; empty when they cannot.
    #[n(1)]
    pub advertise: Text,
    /// Milliseconds without a record after which another server may take over.
    #[n(2)]
    pub hold_ms: u64,
    /// A number drawn by the server, so that it knows its own takeover when it reads it.
    #[n(3)]
    pub nonce: u64,
    /// Whether the engine's presence lock is its own, so that the lock's release tells its end.
    #[n(4)]
    pub present: bool,
    /// Whether the former active server is known to be gone, not only silent.
    #[n(5)]
    pub former_gone: bool,
}

/// See [`Command::Present`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Present {
    /// The number that the server drew for its takeover.
    #[n(0)]
    pub nonce: u64,
}

/// See [`Command::OpenSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OpenSession {
    /// Drawn by the server; given to the caller and to nobody else.
    #[n(0)]
    pub secret: u64,
    /// What people call it. A label is no identity: several sessions may bear the same.
    #[n(1)]
    pub label: Name,
    /// Milliseconds without a beat after which the session is lost.
    #[n(2)]
    pub ttl_ms: u64,
    /// The queues it works on; a session with queues is a worker.
    #[n(3)]
    pub queues: Vec<Name>,
    /// Jobs it may hold at once; 0 for a session that is no worker.
    #[n(4)]
    pub slots: u32,
    /// The agent that does its work, if it says so.
    #[n(5)]
    pub agent: Option<Name>,
    /// Where it runs, for people: host and pid.
    #[n(6)]
    pub place: Text,
}

/// See [`Command::CloseSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CloseSession {
    /// The session, by its key.
    #[n(0)]
    pub session: SessionKey,
}

/// See [`Command::ExpireSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpireSession {
    /// The session.
    #[n(0)]
    pub session: SessionId,
}

/// See [`Command::Heard`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Heard {
    /// The sessions heard of.
    #[n(0)]
    pub sessions: Vec<SessionId>,
}

/// See [`Command::DrainWorker`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DrainWorker {
    /// The worker's session.
    #[n(0)]
    pub session: SessionId,
    /// Milliseconds until what it still holds is taken back. A repeated drain only shortens.
    #[n(1)]
    pub deadline_ms: u64,
    /// Why.
    #[n(2)]
    pub reason: Text,
}

/// See [`Command::ResumeWorker`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResumeWorker {
    /// The worker's session.
    #[n(0)]
    pub session: SessionId,
}

/// See [`Command::SetRole`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetRole {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Milliseconds of a lease when the one who asks says nothing.
    #[n(1)]
    pub ttl_ms: Option<u64>,
    /// Events that a standby may lag behind and still be promoted.
    #[n(2)]
    pub lag_events_max: Option<u64>,
}

/// See [`Command::RemoveRole`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveRole {
    /// The role.
    #[n(0)]
    pub role: Name,
}

/// See [`Command::Acquire`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Acquire {
    /// The role; made when it is missing.
    #[n(0)]
    pub role: Name,
    /// Who asks.
    #[n(1)]
    pub session: SessionKey,
    /// Milliseconds of the lease; the role's own when nothing is said.
    #[n(2)]
    pub ttl_ms: Option<u64>,
    /// Whether to stand in line when the role is held.
    #[n(3)]
    pub wait: bool,
    /// The stream that leader and standby consume, if there is one.
    #[n(4)]
    pub stream: Option<Name>,
}

/// See [`Command::Withdraw`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Withdraw {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who waits.
    #[n(1)]
    pub session: SessionKey,
}

/// See [`Command::Release`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Release {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who holds it.
    #[n(1)]
    pub session: SessionKey,
    /// The token of the grant.
    #[n(2)]
    pub token: Token,
}

/// Who gets a role that is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Successor {
    /// The candidate that has come furthest; among equals the one that has waited longest.
    #[n(0)]
    MostCaughtUp,
    /// This candidate and no other.
    #[n(1)]
    Session(#[n(0)] SessionId),
}

/// See [`Command::HandOver`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HandOver {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// The holder's key and token when the holder hands over; `None` when an operator does.
    #[n(1)]
    pub holder: Option<SessionKey>,
    /// The token that the caller believes to be current; `None` skips the check.
    #[n(2)]
    pub token: Option<Token>,
    /// Who gets it.
    #[n(3)]
    pub to: Successor,
}

/// See [`Command::AskHandOver`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AskHandOver {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who gets it.
    #[n(1)]
    pub to: Successor,
    /// Milliseconds until the request lapses and the holder keeps the role.
    #[n(2)]
    pub within_ms: u64,
}

/// See [`Command::ExpireRole`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpireRole {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// The token that lapsed; another one is left alone.
    #[n(1)]
    pub token: Token,
}

/// See [`Command::Standings`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Standings {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// One line for each candidate that was heard of.
    #[n(1)]
    pub lines: Vec<Standing>,
}

/// How far a candidate has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Standing {
    /// The candidate.
    #[n(0)]
    pub session: SessionId,
    /// The last event it has consumed.
    #[n(1)]
    pub consumed: Option<EventNumber>,
    /// Milliseconds since its last beat.
    #[n(2)]
    pub silent_ms: u64,
}

/// See [`Command::SetQueue`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Jobs that may run at once; 0 for no limit.
    #[n(1)]
    pub running_max: Option<u32>,
    /// Milliseconds a handler may go without progress; 0 for no deadline.
    #[n(2)]
    pub progress_ms: Option<u64>,
    /// Ended jobs kept.
    #[n(3)]
    pub retain_count: Option<u64>,
    /// Milliseconds for which ended jobs are kept.
    #[n(4)]
    pub retain_ms: Option<u64>,
    /// Holders that may vanish with a job before it is dead.
    #[n(5)]
    pub losses_max: Option<u32>,
    /// Hand-backs after which a job is dead.
    #[n(6)]
    pub hand_backs_max: Option<u32>,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own.
    #[n(7)]
    pub live_max: Option<u64>,
}

/// See [`Command::PauseQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PauseQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Why.
    #[n(1)]
    pub reason: Text,
}

/// See [`Command::ResumeQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResumeQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}

/// See [`Command::RemoveQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}

/// See [`Command::CloseGate`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CloseGate {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Milliseconds after which the gate opens by itself.
    #[n(1)]
    pub within_ms: u64,
}

/// See [`Command::OpenGate`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OpenGate {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}

/// See [`Command::Enqueue`].
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

/// See [`Command::Claim`].
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

/// See [`Command::Settle`].
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

/// See [`Command::Progress`].
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

/// See [`Command::Checkpoint`].
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

/// See [`Command::CancelJobs`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CancelJobs {
    /// The jobs.
    #[n(0)]
    pub jobs: Vec<JobId>,
    /// Milliseconds a running handler has to stop; 0 fences it at once.
    #[n(1)]
    pub grace_ms: u64,
}

/// See [`Command::RetryJobs`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RetryJobs {
    /// The jobs: failed or cancelled ones, or scheduled ones that should not wait.
    #[n(0)]
    pub jobs: Vec<JobId>,
}

/// See [`Command::TakeBack`].
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

/// See [`Command::SetStream`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetStream {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// Events kept.
    #[n(1)]
    pub events_max: Option<u64>,
    /// Bytes kept.
    #[n(2)]
    pub bytes_max: Option<u64>,
    /// Milliseconds for which events are kept; 0 for no limit.
    #[n(3)]
    pub age_ms_max: Option<u64>,
}

/// See [`Command::RemoveStream`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveStream {
    /// The stream.
    #[n(0)]
    pub stream: Name,
}

/// See [`Command::Append`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Append {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// The events, in their order.
    #[n(1)]
    pub events: Vec<Bytes>,
    /// The number that the first of them must get; a mismatch is refused.
    #[n(2)]
    pub expected: Option<EventNumber>,
}

/// See [`Command::Commit`].
///
/// Checks the token, records the position, enqueues jobs and appends events: all of it or none.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Commit {
    /// The role under which the caller acts.
    #[n(0)]
    pub role: Name,
    /// The session that holds it.
    #[n(1)]
    pub session: SessionKey,
    /// The token of the grant.
    #[n(2)]
    pub token: Token,
    /// The position to record, if there is one.
    #[n(3)]
    pub position: Option<NewPosition>,
    /// Jobs to accept.
    #[n(4)]
    pub jobs: Vec<NewJob>,
    /// Events to append.
    #[n(5)]
    pub appends: Vec<Append>,
}

/// A position to record: every event up to it, itself included, has been dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NewPosition {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// The last event dealt with; must be beyond the recorded one.
    #[n(1)]
    pub through: EventNumber,
}
