//! What can be asked of the state, one type for each request.
//!
//! Every variant and field has a number that is never used again; a field added later is an
//! `Option`. What a command means is decided beside its noun.

mod automation;
mod job;
mod queue;
mod role;
mod session;
mod stream;

use alloc::boxed::Box;

use minicbor::{Decode, Encode};

use crate::units::{Epoch, Name, Position, RequestId, SessionId, Text};

pub use automation::{
    AckAlert, AddSilence, AppendMessage, Automate, Believed, CancelRun, Decide, Define,
    EnableDefinition, Expect, ExpireSilence, Import, Param, PauseAutomation, Post, ReadInbox,
    RecordSent, RemoveDefinition, ResetFix, ResumeRun, RetryDelivery, RevertDefinition, Sending,
    Showed, StartRun, Witness,
};
pub use job::{
    CancelJobs, Checkpoint, Claim, Due, Enqueue, NewJob, Progress, RetryJobs, RetryRule,
    ReturnCause, RunOutcome, Settle, Settlement, TakeBack, TakeBackJob, Wanted,
};
pub use queue::{CloseGate, OpenGate, PauseQueue, RemoveQueue, ResumeQueue, SetQueue};
pub use role::{
    Acquire, AskHandOver, ExpireRole, HandOver, Release, RemoveRole, SetRole, Standing, Standings,
    Successor, Withdraw,
};
pub use session::{CloseSession, DrainWorker, ExpireSession, Heard, OpenSession, ResumeWorker};
pub use stream::{Append, Commit, NewPosition, RemoveStream, SetStream};

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

    /// The state was read from a backup: what was after it is lost. Only a restore writes this.
    #[n(4)]
    Restore(#[n(0)] Restore),

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

    /// What is asked of automation.
    #[n(60)]
    Automate(#[n(0)] Box<Automate>),
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

/// See [`Command::Restore`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Restore {
    /// Every number given from here on lies above this one.
    #[n(0)]
    pub floor: Position,
    /// A number drawn at the restore: with it the secrets of all sessions change.
    #[n(1)]
    pub drawn: u64,
    /// Which backup it was, for people.
    #[n(2)]
    pub reason: Text,
}
