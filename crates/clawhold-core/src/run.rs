//! Runs: plans under way, one step after the other, each recorded.
//!
//! What a step changes in the state happens in the entry that takes it, so no step is taken twice
//! and none is lost with a server. A step that waits is looked at again when what it waits for
//! changes, and at its deadline.

mod act;
mod advance;
mod backtest;
mod check;
mod confirm;
mod consider;
mod decision;
mod guard;
mod params;
mod start;
mod tell;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::catalog::Noun;
use crate::command::Showed;
use crate::operation::Plan;
use crate::units::{
    EventNumber, JobId, MessageId, Name, Position, RunId, SessionId, Stamp, Text, Timestamp, Title,
    Token,
};

pub use act::agent_queue;
pub use backtest::{FixBacktest, backtest};
pub use decision::{Decision, Instance, Reason};
pub use guard::{Block, Checked};

/// What a rule, a fix or a run is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Target {
    /// A role.
    #[n(0)]
    Role(#[n(0)] Name),
    /// A worker.
    #[n(1)]
    Worker(#[n(0)] SessionId),
    /// A queue.
    #[n(2)]
    Queue(#[n(0)] Name),
    /// A job.
    #[n(3)]
    Job(#[n(0)] JobId),
}

/// What a run is about, found when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Params {
    /// The role.
    #[n(0)]
    pub role: Option<Name>,
    /// The worker.
    #[n(1)]
    pub worker: Option<SessionId>,
    /// The queue.
    #[n(2)]
    pub queue: Option<Name>,
    /// The job.
    #[n(3)]
    pub job: Option<JobId>,
    /// What people call the worker.
    #[n(4)]
    pub worker_label: Option<Name>,
}

/// Why a run was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Origin {
    /// A fix's condition held.
    #[n(0)]
    Condition,
    /// Somebody typed its trigger.
    #[n(1)]
    Trigger,
    /// Somebody ran it by name.
    #[n(2)]
    Hand,
}

impl Origin {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Condition => "condition",
            Self::Trigger => "trigger",
            Self::Hand => "hand",
        }
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum RunState {
    /// It waits for people to agree.
    #[n(0)]
    Asking,
    /// A step is under way.
    #[n(1)]
    Running,
    /// Every step did what it says.
    #[n(2)]
    Succeeded,
    /// A step failed.
    #[n(3)]
    Failed,
    /// Every step was taken, and of one it is not known how it ended.
    #[n(4)]
    Unknown,
    /// Somebody called it off.
    #[n(5)]
    Cancelled,
    /// The condition cleared while it waited for people to agree.
    #[n(6)]
    Withdrawn,
    /// Nobody answered in time.
    #[n(7)]
    Expired,
    /// Somebody said no.
    #[n(8)]
    Rejected,
}

impl RunState {
    /// Tells whether nothing follows.
    #[must_use]
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Asking | Self::Running)
    }

    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }
}

impl core::fmt::Display for RunState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a step is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum StepState {
    /// It has not begun.
    #[default]
    #[n(0)]
    Pending,
    /// It is under way.
    #[n(1)]
    Running,
    /// A person or an agent is to do it.
    #[n(2)]
    Waiting,
    /// It did what it says.
    #[n(3)]
    Done,
    /// It did not.
    #[n(4)]
    Failed,
    /// It is not known whether it did.
    #[n(5)]
    Unknown,
    /// It was left out.
    #[n(6)]
    Skipped,
}

impl StepState {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        }
    }
}

/// One step of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct StepRecord {
    /// What it is doing.
    #[n(0)]
    pub state: StepState,
    /// When it began.
    #[n(1)]
    pub started: Option<Stamp>,
    /// When it ended.
    #[n(2)]
    pub ended: Option<Stamp>,
    /// How often it was tried.
    #[n(3)]
    pub attempts: u32,
    /// What it did and found, a line each, at most `OUTPUT_LINES_MAX`.
    #[n(4)]
    pub output: Vec<Text>,
    /// The job that an agent has for it.
    #[n(5)]
    pub job: Option<JobId>,
    /// The message that it sent.
    #[n(6)]
    pub message: Option<MessageId>,
}

/// One person's word about a run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Vote {
    /// Who.
    #[n(0)]
    pub actor: Name,
    /// Whether they agree.
    #[n(1)]
    pub agrees: bool,
    /// What they said.
    #[n(2)]
    pub reason: Text,
    /// When.
    #[n(3)]
    pub stamp: Stamp,
}

/// One plan under way, or one that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Run {
    /// Its number.
    #[n(0)]
    pub id: RunId,
    /// Whether it is of a fix, a runbook or a command.
    #[n(1)]
    pub noun: Noun,
    /// The name of that.
    #[n(2)]
    pub title: Title,
    /// The version of that.
    #[n(3)]
    pub version: u64,
    /// What the fix was about.
    #[n(4)]
    pub target: Option<Target>,
    /// What its steps are about.
    #[n(5)]
    pub params: Params,
    /// Why it was asked for.
    #[n(6)]
    pub origin: Origin,
    /// Who asked.
    #[n(7)]
    pub actor: Option<Name>,
    /// What is done.
    #[n(8)]
    pub plan: Plan,
    /// The plan's hash, to which an approval is bound: 16 hexadecimal digits.
    #[n(9)]
    pub plan_hash: Text,
    /// What it is doing.
    #[n(10)]
    pub state: RunState,
    /// Its steps, one for each of the plan.
    #[n(11)]
    pub steps: Vec<StepRecord>,
    /// The step under way.
    #[n(12)]
    pub cursor: u32,
    /// When it was asked for.
    #[n(13)]
    pub asked: Stamp,
    /// When it started, after people agreed.
    #[n(14)]
    pub started: Option<Stamp>,
    /// When it ended.
    #[n(15)]
    pub ended: Option<Stamp>,
    /// The fields and values that made the condition hold.
    #[n(16)]
    pub evidence: Text,
    /// Why limits were set aside, if they were.
    #[n(17)]
    pub override_reason: Option<Text>,
    /// What people said.
    #[n(18)]
    pub votes: Vec<Vote>,
    /// When an approval that nobody gave is void.
    #[n(19)]
    pub answer_by: Option<Timestamp>,
    /// The latest token of the role when the run was asked for.
    #[n(20)]
    pub token_before: Option<Token>,
    /// The holder of the role when the run was asked for.
    #[n(21)]
    pub holder_before: Option<SessionId>,
    /// The position from which a new leader went on.
    #[n(22)]
    pub resumed: Option<EventNumber>,
    /// The jobs that it returned, at most `RUN_JOBS_MAX`.
    #[n(23)]
    pub returned: Vec<JobId>,
    /// Where its result is told, besides the channels.
    #[n(24)]
    pub reply_url: Option<Text>,
    /// The channels that it tells.
    #[n(25)]
    pub notify: Vec<Title>,
    /// Why it ended, if there is more to say than its state.
    #[n(26)]
    pub why: Text,
    /// What the active server saw last, and for which step.
    #[n(27)]
    pub seen: Option<(u32, Seen)>,
}

/// All runs, and what the limits count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Runs {
    /// Those that have not ended.
    #[n(0)]
    pub(crate) live: BTreeMap<RunId, Run>,
    /// Those that have, the latest.
    #[n(1)]
    pub(crate) ended: BTreeMap<RunId, Run>,
    /// The last number given.
    #[n(2)]
    pub(crate) latest: RunId,
    /// What is known of each fix and target.
    #[n(3)]
    pub(crate) instances: BTreeMap<(Title, Target), Instance>,
    /// When runs of each fix started, as far as its limits look back.
    #[n(4)]
    pub(crate) starts: BTreeMap<Title, VecDeque<Timestamp>>,
    /// When the last run of each fix ended.
    #[n(5)]
    pub(crate) last_ends: BTreeMap<Title, Timestamp>,
    /// The latest decisions, oldest first.
    #[n(6)]
    pub(crate) decisions: VecDeque<Decision>,
    /// When to look at something by wall time.
    #[n(7)]
    pub(crate) due: BTreeSet<(Timestamp, Due)>,
    /// When too many targets of a fix last matched at once.
    #[n(8)]
    pub(crate) storms: BTreeMap<Title, Timestamp>,
    /// The latest beliefs to lead under an overtaken token, oldest first.
    #[n(9)]
    pub(crate) beliefs: VecDeque<Belief>,
}

/// A belief to lead under an overtaken token.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Belief {
    /// Who.
    #[n(0)]
    pub session: SessionId,
    /// The role.
    #[n(1)]
    pub role: Name,
    /// The token.
    #[n(2)]
    pub token: Token,
    /// How it was shown.
    #[n(3)]
    pub showed: Showed,
    /// When.
    #[n(4)]
    pub stamp: Stamp,
}

/// What is looked at when its time comes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Due {
    /// A run: a step's deadline, an approval's end, a wait's end.
    #[n(0)]
    Run(#[n(0)] RunId),
    /// A fix that may run on a target again.
    #[n(1)]
    Fix(#[n(0)] Title, #[n(1)] Target),
    /// An alert rule and its group.
    #[n(2)]
    Alert(#[n(0)] Title, #[n(1)] Text),
    /// Everything that reads a field that changes by time alone.
    #[n(3)]
    Sweep,
    /// The pause of all automation ends.
    #[n(4)]
    Pause,
}

/// What only the active server knows and a step asks for: evidence, put into the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Seen {
    /// For `check.not_renewed`: the lease as it is renewed.
    #[n(0)]
    Lease {
        /// Its token.
        #[n(0)]
        token: Token,
        /// Milliseconds since it was last renewed; `None` when it never was since the takeover.
        #[n(1)]
        renewed_ago_ms: Option<u64>,
    },
    /// For `check.stopped_acting`: the leader before, as it reports.
    #[n(1)]
    Former {
        /// Whether its latest report, made after the grant, still claims the role.
        #[n(0)]
        claims: Option<bool>,
        /// Milliseconds since that report.
        #[n(1)]
        heard_ago_ms: Option<u64>,
    },
    /// For `check.one_owner`: the audit of the run's queues.
    #[n(2)]
    Owners {
        /// Jobs that were looked at.
        #[n(0)]
        jobs: u64,
        /// What does not agree.
        #[n(1)]
        mismatches: Vec<Text>,
        /// Sessions not heard of since the takeover.
        #[n(2)]
        unheard: u64,
    },
}

/// What a run waits to be told by the active server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: u32,
    /// What is asked.
    pub about: About,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// How the lease of a role is renewed.
    Lease(Name),
    /// What the leader before reports, and the position of the grant after it.
    Former(Name, SessionId, Position),
    /// Whether each job of these queues has one owner.
    Owners(Vec<Name>),
}

impl Runs {
    /// Returns a run.
    #[must_use]
    pub fn get(&self, id: RunId) -> Option<&Run> {
        self.live.get(&id).or_else(|| self.ended.get(&id))
    }

    /// Returns the runs that have not ended, oldest first.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.live.values()
    }

    /// Returns the runs that have ended, oldest first.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.ended.values()
    }

    /// Returns the latest decisions, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Decision> {
        self.decisions.iter()
    }

    /// Returns what is known of a fix on each target.
    pub fn instances<'a>(
        &'a self,
        title: &'a Title,
    ) -> impl Iterator<Item = (&'a Target, &'a Instance)> {
        let all = self.instances.iter().filter(move |((fix, _), _)| fix == title);
        all.map(|((_, target), instance)| (target, instance))
    }

    /// Returns when runs of a fix started, as far as its limits look back, oldest first.
    pub fn starts(&self, title: &Title) -> impl DoubleEndedIterator<Item = Timestamp> {
        self.starts.get(title).into_iter().flatten().copied()
    }
}
