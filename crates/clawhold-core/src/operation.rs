//! Typed operations: what one step of a fix or a runbook does, as data.
//!
//! A plan is made once, when it is added, and kept with the version of the table that made it; a
//! later table never changes it. What an operation does to the state is decided in `run`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::condition::Condition;
use crate::units::{Text, Title};

/// Whom an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Subject {
    /// The one that the run is about: the target of its trigger, a parameter, or the only one
    /// there is.
    #[n(0)]
    Run,
    /// This one, by its name or number.
    #[n(1)]
    Named(#[n(0)] Text),
}

/// What one step does.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Operation {
    /// `lease.promote_standby`: gives a vacant role to the standby that has come furthest, under
    /// a token above any seen.
    #[n(0)]
    PromoteStandby {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `lease.acquire`: the same as promoting, or for this worker when one is named.
    #[n(1)]
    Acquire {
        /// The role.
        #[n(0)]
        role: Subject,
        /// Who gets it, by label or session; the standby that has come furthest when not said.
        #[n(1)]
        worker: Option<Text>,
    },
    /// `lease.release`: ends the lease of the holder.
    #[n(2)]
    Release {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `lease.hand_over`: asks the holder to finish and hand over to the standby that has come
    /// furthest.
    #[n(3)]
    HandOver {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `stream.resume`: the holder goes on from the recorded position.
    #[n(4)]
    ResumeStream {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `worker.stop_intake`: the worker gets no new job.
    #[n(5)]
    StopIntake {
        /// The worker.
        #[n(0)]
        worker: Subject,
    },
    /// `worker.resume_intake`: the worker gets jobs again.
    #[n(6)]
    ResumeIntake {
        /// The worker.
        #[n(0)]
        worker: Subject,
    },
    /// `job.return_held`: every job that the worker holds goes back to its queue.
    #[n(7)]
    ReturnHeld {
        /// The worker.
        #[n(0)]
        worker: Subject,
        /// Milliseconds that the worker has to finish or return them itself; 0 for at once.
        #[n(1)]
        within_ms: u64,
    },
    /// `job.place_returned`: waits until every returned job of the run's queues has an owner;
    /// new jobs wait behind them.
    #[n(8)]
    PlaceReturned {
        /// The queue; every queue of the run's worker when it is [`Subject::Run`].
        #[n(0)]
        queue: Subject,
    },
    /// `queue.pause`: hands nothing out.
    #[n(9)]
    PauseQueue {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `queue.resume`: hands jobs out again.
    #[n(10)]
    ResumeQueue {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `queue.pause_new`: closes the gate, new jobs wait behind returned ones.
    #[n(11)]
    PauseNew {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `queue.admit_new`: opens the gate.
    #[n(12)]
    AdmitNew {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `worker.stop`: takes everything from the worker at once and gives it nothing more.
    #[n(13)]
    StopWorker {
        /// The worker.
        #[n(0)]
        worker: Subject,
    },
    /// `job.retry`: puts an ended job back to its queue.
    #[n(14)]
    RetryJob {
        /// The job.
        #[n(0)]
        job: Subject,
    },
    /// `job.dead_letter`: takes a waiting job out of its queue for good.
    #[n(15)]
    DeadLetter {
        /// The job.
        #[n(0)]
        job: Subject,
    },
    /// `job.cancel`: calls a job off.
    #[n(16)]
    CancelJob {
        /// The job.
        #[n(0)]
        job: Subject,
    },
    /// `check.…`: confirms a fact and changes nothing.
    #[n(17)]
    Check(#[n(0)] Check),
    /// `show.…`: tells a fact and changes nothing.
    #[n(18)]
    Show(#[n(0)] Show),
    /// `notify.send`: sends a message to a channel.
    #[n(19)]
    Notify {
        /// The channel; those of the rule when not said.
        #[n(0)]
        channel: Option<Title>,
        /// What is said; a summary of the run when not said.
        #[n(1)]
        text: Option<Text>,
    },
    /// `wait.for`: lets time pass.
    #[n(20)]
    WaitFor {
        /// Milliseconds.
        #[n(0)]
        ms: u64,
    },
    /// `wait.until`: waits for a condition about the run's target.
    #[n(21)]
    WaitUntil(#[n(0)] Box<Condition>),
    /// `manual.confirm`: a person confirms that it was done.
    #[n(22)]
    Confirm,
    /// `agent.job`: a job for an agent; its answer is evidence, never authority.
    #[n(23)]
    AgentJob {
        /// The agent.
        #[n(0)]
        agent: Title,
    },
    /// `webhook.call`: a signed call to a channel of kind webhook.
    #[n(24)]
    Webhook {
        /// The channel.
        #[n(0)]
        channel: Title,
    },
}

/// A fact that a step confirms.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Check {
    /// `check.one_owner`: each job that the run returned, or of the run's queues, has exactly one
    /// owner, by the record and by what workers report.
    #[n(0)]
    OneOwner {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `check.queue_owns`: each job that the run returned waits in its queue or has another owner.
    #[n(1)]
    QueueOwns {
        /// The worker that held them.
        #[n(0)]
        worker: Subject,
    },
    /// `check.no_held`: the worker holds nothing.
    #[n(2)]
    NoHeld {
        /// The worker.
        #[n(0)]
        worker: Subject,
    },
    /// `check.not_renewed`: the lease is over, or its holder has stopped renewing it.
    #[n(3)]
    NotRenewed {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `check.stopped_acting`: the leader before has stopped acting.
    #[n(4)]
    StoppedActing {
        /// The role.
        #[n(0)]
        role: Subject,
    },
}

/// A fact that a step or a command tells.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Show {
    /// `show.holder`: who holds the role, until when, under which token.
    #[n(0)]
    Holder {
        /// The role; all of them when it is [`Subject::Run`] and none is given.
        #[n(0)]
        role: Subject,
    },
    /// `show.held`: the jobs that a worker holds, or all that are held.
    #[n(1)]
    Held {
        /// The worker.
        #[n(0)]
        worker: Subject,
    },
    /// `show.workers`: who works, on what, and who leaves.
    #[n(2)]
    Workers,
    /// `show.lag`: how far the standbys are behind.
    #[n(3)]
    Lag {
        /// The role.
        #[n(0)]
        role: Subject,
    },
    /// `show.queue`: the jobs of a queue in numbers.
    #[n(4)]
    Queue {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `show.failed`: the jobs that failed for good.
    #[n(5)]
    Failed {
        /// The queue.
        #[n(0)]
        queue: Subject,
    },
    /// `show.alerts`: what is firing.
    #[n(6)]
    Alerts,
    /// `show.runs`: what runs and what ran last.
    #[n(7)]
    Runs,
}

/// What an alert rule watches for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Detector {
    /// `two_leaders`: a claim to lead was made after a higher token was granted, or one token was
    /// claimed by two.
    #[n(0)]
    TwoLeaders,
    /// `leaderless`: a role has no holder.
    #[n(1)]
    Leaderless,
    /// `stale_writes`: writes with an overtaken token were refused.
    #[n(2)]
    StaleWrites {
        /// How many within the window.
        #[n(0)]
        count: u64,
    },
    /// `held_by_gone`: a worker was lost while it held jobs.
    #[n(3)]
    HeldByGone,
    /// `orphan`: a job is neither running nor queued: no worker holds what the record says is
    /// running, its holder is gone, or it came back and is not placed within the window.
    #[n(4)]
    Orphan,
    /// `double_owner`: a job has two owners.
    #[n(5)]
    DoubleOwner,
    /// `standby_lag`: every standby of a role is behind by so many events.
    #[n(6)]
    StandbyLag {
        /// How many events.
        #[n(0)]
        events: u64,
    },
    /// `no_standby`: a role that is held has no standby.
    #[n(7)]
    NoStandby,
    /// `flapping_lease`: the holder of a role changed so often within the window.
    #[n(8)]
    FlappingLease {
        /// How often.
        #[n(0)]
        changes: u64,
    },
    /// `missed_reports`: a worker was lost.
    #[n(9)]
    MissedReports,
    /// `backlog`: so many jobs wait in a queue, or one waits for so long.
    #[n(10)]
    Backlog {
        /// How many; 0 for no limit.
        #[n(0)]
        jobs: u64,
        /// Milliseconds; 0 for no limit.
        #[n(1)]
        age_ms: u64,
    },
    /// `job_failed`: a job failed for good.
    #[n(11)]
    JobFailed,
    /// `run_failed`: a run failed.
    #[n(12)]
    RunFailed,
    /// `fix_blocked`: a fix was kept from running by its limits.
    #[n(13)]
    FixBlocked,
    /// `sink_down`: a channel's sink takes nothing.
    #[n(14)]
    SinkDown,
}

/// How much an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It changes nothing.
    Read,
    /// It is idempotent and fenced by tokens and claims.
    Safe,
    /// It takes something away from one who has it.
    Disruptive,
    /// It acts outside, where nothing fences it.
    External,
}

/// What happens to a run when a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum OnFail {
    /// The run ends as failed.
    #[default]
    #[n(0)]
    Stop,
    /// The next step follows.
    #[n(1)]
    Continue,
    /// A person is asked whether to go on.
    #[n(2)]
    Ask,
}

/// How a sentence became a step.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Reading {
    /// Every word of it is explained.
    #[n(0)]
    Understood,
    /// It was given in the exact form.
    #[n(1)]
    Exact,
    /// It was accepted as the nearest operation by a person.
    #[n(2)]
    Accepted,
    /// It names an agent, who gets it as a job.
    #[n(3)]
    Agent,
    /// It was not understood; a person confirms it.
    #[n(4)]
    NotUnderstood {
        /// What is not understood, and what is near, in words.
        #[n(0)]
        why: Text,
    },
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PlannedStep {
    /// What it does.
    #[n(0)]
    pub operation: Operation,
    /// The sentence that asks for it, as it was typed.
    #[n(1)]
    pub sentence: Text,
    /// How the sentence became this step.
    #[n(2)]
    pub reading: Reading,
    /// Milliseconds that the step may take; the operation's own bound when not said.
    #[n(3)]
    pub timeout_ms: Option<u64>,
    /// What happens to the run when it fails.
    #[n(4)]
    pub on_fail: OnFail,
}

/// What a fix or a runbook does, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Plan {
    /// The version of the table that made it.
    #[n(0)]
    pub table: u32,
    /// The steps.
    #[n(1)]
    pub steps: Vec<PlannedStep>,
}

impl Operation {
    /// Returns its name, as the exact form and the history use it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::PromoteStandby { .. } => "lease.promote_standby",
            Self::Acquire { .. } => "lease.acquire",
            Self::Release { .. } => "lease.release",
            Self::HandOver { .. } => "lease.hand_over",
            Self::ResumeStream { .. } => "stream.resume",
            Self::StopIntake { .. } => "worker.stop_intake",
            Self::ResumeIntake { .. } => "worker.resume_intake",
            Self::ReturnHeld { .. } => "job.return_held",
            Self::PlaceReturned { .. } => "job.place_returned",
            Self::PauseQueue { .. } => "queue.pause",
            Self::ResumeQueue { .. } => "queue.resume",
            Self::PauseNew { .. } => "queue.pause_new",
            Self::AdmitNew { .. } => "queue.admit_new",
            Self::StopWorker { .. } => "worker.stop",
            Self::RetryJob { .. } => "job.retry",
            Self::DeadLetter { .. } => "job.dead_letter",
            Self::CancelJob { .. } => "job.cancel",
            Self::Check(check) => check.name(),
            Self::Show(show) => show.name(),
            Self::Notify { .. } => "notify.send",
            Self::WaitFor { .. } => "wait.for",
            Self::WaitUntil(_) => "wait.until",
            Self::Confirm => "manual.confirm",
            Self::AgentJob { .. } => "agent.job",
            Self::Webhook { .. } => "webhook.call",
        }
    }

    /// Returns how much it may do.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Check(_)
            | Self::Show(_)
            | Self::WaitFor { .. }
            | Self::WaitUntil(_)
            | Self::Confirm => Class::Read,
            Self::PromoteStandby { .. }
            | Self::Acquire { .. }
            | Self::HandOver { .. }
            | Self::ResumeStream { .. }
            | Self::StopIntake { .. }
            | Self::ResumeIntake { .. }
            | Self::ReturnHeld { .. }
            | Self::PlaceReturned { .. }
            | Self::PauseQueue { .. }
            | Self::ResumeQueue { .. }
            | Self::PauseNew { .. }
            | Self::AdmitNew { .. }
            | Self::RetryJob { .. }
            | Self::Notify { .. } => Class::Safe,
            Self::Release { .. }
            | Self::StopWorker { .. }
            | Self::DeadLetter { .. }
            | Self::CancelJob { .. } => Class::Disruptive,
            Self::AgentJob { .. } | Self::Webhook { .. } => Class::External,
        }
    }
}

impl Check {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OneOwner { .. } => "check.one_owner",
            Self::QueueOwns { .. } => "check.queue_owns",
            Self::NoHeld { .. } => "check.no_held",
            Self::NotRenewed { .. } => "check.not_renewed",
            Self::StoppedActing { .. } => "check.stopped_acting",
        }
    }
}

impl Show {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Holder { .. } => "show.holder",
            Self::Held { .. } => "show.held",
            Self::Workers => "show.workers",
            Self::Lag { .. } => "show.lag",
            Self::Queue { .. } => "show.queue",
            Self::Failed { .. } => "show.failed",
            Self::Alerts => "show.alerts",
            Self::Runs => "show.runs",
        }
    }
}

impl Detector {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::TwoLeaders => "two_leaders",
            Self::Leaderless => "leaderless",
            Self::StaleWrites { .. } => "stale_writes",
            Self::HeldByGone => "held_by_gone",
            Self::Orphan => "orphan",
            Self::DoubleOwner => "double_owner",
            Self::StandbyLag { .. } => "standby_lag",
            Self::NoStandby => "no_standby",
            Self::FlappingLease { .. } => "flapping_lease",
            Self::MissedReports => "missed_reports",
            Self::Backlog { .. } => "backlog",
            Self::JobFailed => "job_failed",
            Self::RunFailed => "run_failed",
            Self::FixBlocked => "fix_blocked",
            Self::SinkDown => "sink_down",
        }
    }
}

impl Plan {
    /// Tells whether every sentence became an operation that the program carries out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.reading, Reading::NotUnderstood { .. }))
    }

    /// Tells whether it gives a vacant role to a standby.
    #[must_use]
    pub fn promotes(&self) -> bool {
        let mut operations = self.steps.iter().map(|step| &step.operation);
        operations.any(|operation| {
            matches!(operation, Operation::PromoteStandby { .. } | Operation::Acquire { .. })
        })
    }

    /// Tells whether it changes anything at all.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.steps.iter().any(|step| step.operation.class() != Class::Read)
    }

    /// Returns how much its boldest step may do.
    #[must_use]
    pub fn class(&self) -> Class {
        let classes = self.steps.iter().map(|step| step.operation.class());
        classes.max().unwrap_or(Class::Read)
    }
}
