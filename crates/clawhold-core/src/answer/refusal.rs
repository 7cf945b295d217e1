//! Why a command is declined, with the facts that its reader needs.

use alloc::boxed::Box;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::{JobState, WorkerState};
use crate::catalog::Noun;
use crate::run::{Reason, RunState};
use crate::units::{
    ClaimNumber, Epoch, EventNumber, JobId, Name, Position, RunId, SessionId, Text, Timestamp,
    Token,
};

/// Why a command was declined. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Encode, Decode)]
pub enum Refusal {
    /// The caller's token has been overtaken.
    #[error("token {presented} is stale, the latest of this role is {latest}")]
    #[n(0)]
    StaleToken {
        /// The token that came with the request.
        #[n(0)]
        presented: Token,
        /// The latest one.
        #[n(1)]
        latest: Token,
    },
    /// Another session holds the role.
    #[error("the role is held by session {holder} under token {token}")]
    #[n(1)]
    RoleHeld {
        /// Who holds it.
        #[n(0)]
        holder: SessionId,
        /// Under which token.
        #[n(1)]
        token: Token,
    },
    /// Nobody holds the role.
    #[error("nobody holds the role; its latest token is {latest}")]
    #[n(2)]
    RoleVacant {
        /// The latest token.
        #[n(0)]
        latest: Token,
    },
    /// The successor named does not wait for the role.
    #[error("session {session} does not stand by for this role")]
    #[n(3)]
    NotCandidate {
        /// The one that was named.
        #[n(0)]
        session: SessionId,
    },
    /// Nobody can take the role over.
    #[error("no standby can take the role over")]
    #[n(4)]
    NoCandidate,
    /// There is no live session with this id and secret.
    #[error("session {session} is over or was never issued")]
    #[n(5)]
    NoSession {
        /// The one that was named.
        #[n(0)]
        session: SessionId,
    },
    /// The thing named does not exist.
    #[error("there is no {kind} {name}")]
    #[n(6)]
    NotFound {
        /// What kind of thing.
        #[n(0)]
        kind: Kind,
        /// Its name or number, as text.
        #[n(1)]
        name: Box<str>,
    },
    /// The claim is not, or no more, the one under which the job runs.
    #[error("claim {presented} of job {job} is superseded, the latest is {latest}")]
    #[n(7)]
    Superseded {
        /// The job.
        #[n(0)]
        job: JobId,
        /// The claim that came with the request.
        #[n(1)]
        presented: ClaimNumber,
        /// The latest one.
        #[n(2)]
        latest: ClaimNumber,
    },
    /// The job is not in a state that allows it.
    #[error("job {job} is {state}")]
    #[n(8)]
    JobState {
        /// The job.
        #[n(0)]
        job: JobId,
        /// Its state.
        #[n(1)]
        state: JobState,
    },
    /// A live job bears the same unique key and another payload.
    #[error("job {job} bears this unique key with another payload")]
    #[n(9)]
    KeyConflict {
        /// The one that is there.
        #[n(0)]
        job: JobId,
    },
    /// The checkpoint is older than the one that is kept.
    #[error("checkpoint {presented} is not newer than {latest}, the one kept")]
    #[n(10)]
    OldCheckpoint {
        /// The number that came with the request.
        #[n(0)]
        presented: u64,
        /// The number kept.
        #[n(1)]
        latest: u64,
    },
    /// The worker leaves and gets no new job.
    #[error("the worker is draining and gets no new job")]
    #[n(11)]
    Draining,
    /// A limit of the state is reached.
    #[error("{what} is full: {count} of at most {max}")]
    #[n(12)]
    Full {
        /// Which limit.
        #[n(0)]
        what: Box<str>,
        /// How many there are.
        #[n(1)]
        count: u64,
        /// How many there may be.
        #[n(2)]
        max: u64,
    },
    /// A field lies outside its range.
    #[error("{field} is {value}, allowed is {allowed}")]
    #[n(13)]
    OutOfRange {
        /// The field.
        #[n(0)]
        field: Box<str>,
        /// Its value.
        #[n(1)]
        value: Box<str>,
        /// The range.
        #[n(2)]
        allowed: Box<str>,
    },
    /// The same request id came before with another request.
    #[error("this request id was used at position {first} for another request")]
    #[n(14)]
    RequestConflict {
        /// Where.
        #[n(0)]
        first: Position,
    },
    /// The position would not move forward.
    #[error("the recorded position is {recorded}, {presented} is not beyond it")]
    #[n(15)]
    PositionBehind {
        /// The position that came with the request.
        #[n(0)]
        presented: EventNumber,
        /// The recorded one.
        #[n(1)]
        recorded: EventNumber,
    },
    /// The position or the number read from lies beyond the end of the stream.
    #[error("{presented} is beyond the stream's end, its last event is {last}")]
    #[n(16)]
    BeyondEnd {
        /// What was asked.
        #[n(0)]
        presented: EventNumber,
        /// The last event.
        #[n(1)]
        last: EventNumber,
    },
    /// The events asked for are no longer kept.
    #[error("event {presented} is no longer kept, the first one kept is {first}")]
    #[n(17)]
    BelowFloor {
        /// What was asked.
        #[n(0)]
        presented: EventNumber,
        /// The first event kept.
        #[n(1)]
        first: EventNumber,
    },
    /// Events would have to go that a role has not dealt with.
    #[error("the stream is full, and role {role} has dealt with events up to {through} only")]
    #[n(18)]
    StreamFull {
        /// The role that is behind.
        #[n(0)]
        role: Name,
        /// How far it is.
        #[n(1)]
        through: EventNumber,
    },
    /// The stream ends elsewhere than the caller expects.
    #[error("the next event is {next}, not {expected}")]
    #[n(19)]
    NotNext {
        /// The number that was expected.
        #[n(0)]
        expected: EventNumber,
        /// The number that the next event gets.
        #[n(1)]
        next: EventNumber,
    },
    /// It is in use.
    #[error("the {kind} is in use: {count} {by}")]
    #[n(20)]
    InUse {
        /// What kind of thing.
        #[n(0)]
        kind: Kind,
        /// How many use it.
        #[n(1)]
        count: u64,
        /// What uses it.
        #[n(2)]
        by: Box<str>,
    },
    /// The worker is not in a state that allows it.
    #[error("the worker is {state}")]
    #[n(21)]
    WorkerState {
        /// Its state.
        #[n(0)]
        state: WorkerState,
    },
    /// The takeover does not follow the current term.
    #[error("the current term is {current}")]
    #[n(22)]
    WrongEpoch {
        /// The current term.
        #[n(0)]
        current: Epoch,
    },
    /// The lease has not lapsed by the log's own time.
    #[error("it has not lapsed")]
    #[n(23)]
    NotLapsed,
    /// A definition of this name is there.
    #[error("there is {noun} {title:?} already, at version {version}")]
    #[n(24)]
    Exists {
        /// Its kind.
        #[n(0)]
        noun: Noun,
        /// Its name.
        #[n(1)]
        title: Box<str>,
        /// Its version.
        #[n(2)]
        version: u64,
    },
    /// A definition is there whose name a person would take for this one.
    #[error(
        "there is {noun} {like:?}, which differs from {title:?} only in case, spaces or dashes"
    )]
    #[n(25)]
    Similar {
        /// Its kind.
        #[n(0)]
        noun: Noun,
        /// The name that came with the request.
        #[n(1)]
        title: Box<str>,
        /// The name that is there.
        #[n(2)]
        like: Box<str>,
    },
    /// The definition was changed in the meantime.
    #[error("its version is {latest}, not {presented}")]
    #[n(26)]
    WrongVersion {
        /// The version that came with the request.
        #[n(0)]
        presented: u64,
        /// The version in force.
        #[n(1)]
        latest: u64,
    },
    /// The words start something else, or cannot be told apart from those that do.
    #[error("{trigger:?} is the trigger of {noun} {title:?}")]
    #[n(27)]
    TriggerTaken {
        /// The trigger.
        #[n(0)]
        trigger: Box<str>,
        /// The kind of what it starts.
        #[n(1)]
        noun: Noun,
        /// The name of what it starts.
        #[n(2)]
        title: Box<str>,
    },
    /// A run does not know what it is about, and does not guess.
    #[error("which {param}?")]
    #[n(28)]
    NeedsParam {
        /// The parameter: `role`, `worker`, `queue` or `job`.
        #[n(0)]
        param: Name,
        /// What it may be, at most 20 of them.
        #[n(1)]
        choices: Vec<Text>,
    },
    /// A fix is kept from running.
    #[error("it may not run ({}): {detail}", reason.as_str())]
    #[n(29)]
    Blocked {
        /// Why.
        #[n(0)]
        reason: Reason,
        /// The facts.
        #[n(1)]
        detail: Box<str>,
        /// When it may run, if that is known.
        #[n(2)]
        free_at: Option<Timestamp>,
    },
    /// The run is not in a state that allows it.
    #[error("run {run} is {state}")]
    #[n(30)]
    RunState {
        /// The run.
        #[n(0)]
        run: RunId,
        /// Its state.
        #[n(1)]
        state: RunState,
    },
    /// Somebody was first.
    #[error("{by} has {} already", if *agreed { "agreed" } else { "said no" })]
    #[n(31)]
    AlreadyDecided {
        /// Who.
        #[n(0)]
        by: Name,
        /// What they said.
        #[n(1)]
        agreed: bool,
        /// When.
        #[n(2)]
        at: Timestamp,
    },
    /// The plan is not the one that was seen.
    #[error("the plan is {latest} by now, not {presented}")]
    #[n(32)]
    PlanChanged {
        /// The hash that came with the request.
        #[n(0)]
        presented: Box<str>,
        /// The hash of the plan.
        #[n(1)]
        latest: Box<str>,
    },
    /// This person's word does not count here.
    #[error("{actor} may not decide this: {why}")]
    #[n(33)]
    NotAllowed {
        /// Who asked.
        #[n(0)]
        actor: Name,
        /// Why not.
        #[n(1)]
        why: Box<str>,
    },
    /// A parameter names something that is not what the run needs, or several things.
    #[error("{param} {value:?}: {why}")]
    #[n(34)]
    BadParam {
        /// The parameter.
        #[n(0)]
        param: Name,
        /// Its value.
        #[n(1)]
        value: Box<str>,
        /// What is wrong, and what it may be.
        #[n(2)]
        why: Box<str>,
    },
}

/// A kind of thing that can be missing or in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Kind {
    /// A role.
    #[n(0)]
    Role,
    /// A queue.
    #[n(1)]
    Queue,
    /// A job.
    #[n(2)]
    Job,
    /// A stream.
    #[n(3)]
    Stream,
    /// A worker.
    #[n(4)]
    Worker,
    /// An agent.
    #[n(5)]
    Agent,
    /// A command of a chat.
    #[n(6)]
    Command,
    /// An alert rule.
    #[n(7)]
    AlertRule,
    /// An alert route.
    #[n(8)]
    AlertRoute,
    /// An auto-fix.
    #[n(9)]
    AutoFix,
    /// A runbook.
    #[n(10)]
    Runbook,
    /// A channel.
    #[n(11)]
    Channel,
    /// A source.
    #[n(12)]
    Source,
    /// A run.
    #[n(13)]
    Run,
    /// An alert.
    #[n(14)]
    Alert,
    /// A silence.
    #[n(15)]
    Silence,
    /// A message.
    #[n(16)]
    Message,
    /// A version of a definition.
    #[n(17)]
    Version,
}

impl Kind {
    /// Returns the kind of thing that a definition is.
    #[must_use]
    pub fn of(noun: Noun) -> Self {
        match noun {
            Noun::Agent => Self::Agent,
            Noun::Command => Self::Command,
            Noun::AlertRule => Self::AlertRule,
            Noun::AlertRoute => Self::AlertRoute,
            Noun::AutoFix => Self::AutoFix,
            Noun::Runbook => Self::Runbook,
            Noun::Channel => Self::Channel,
            Noun::Source => Self::Source,
        }
    }
}

impl core::fmt::Display for Kind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Role => "role",
            Self::Queue => "queue",
            Self::Job => "job",
            Self::Stream => "stream",
            Self::Worker => "worker",
            Self::Agent => "agent",
            Self::Command => "command",
            Self::AlertRule => "alert-rule",
            Self::AlertRoute => "alert-route",
            Self::AutoFix => "auto-fix",
            Self::Runbook => "runbook",
            Self::Channel => "channel",
            Self::Source => "source",
            Self::Run => "run",
            Self::Alert => "alert",
            Self::Silence => "silence",
            Self::Message => "message",
            Self::Version => "version",
        })
    }
}
