//! Jobs: units of work that are in exactly one place until they end, once.
//!
//! A job waits (scheduled, queued, returned), or one live session holds it under one claim, or it
//! has ended. Each claim has a number that is never repeated; only the latest claim may report,
//! checkpoint or settle. Three counters, each with its own cap: attempts (the handler failed),
//! losses (the holder vanished), hand-backs. What a queue may be told is decided in `queue`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

use crate::answer::{JobState, Kind, Refusal};
use crate::change::What;
use crate::command::{RetryRule, ReturnCause};
use crate::limits;
use crate::queue::{Queue, QueueId};
use crate::shared::Shared;
use crate::state::Step;
use crate::units::{
    Bytes, ClaimNumber, JobId, Key, Name, Served, SessionId, Stamp, Text, Timestamp,
};

use self::index::Index;
use self::table::Table;

mod check;
mod claim;
mod due;
mod enqueue;
mod hold;
mod index;
mod list;
mod operate;
mod settle;
mod table;

#[cfg(test)]
pub(crate) mod tests;

pub use self::index::Counts;
pub use self::list::Filter;

/// One job.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Job {
    /// Its id, in the order of acceptance.
    #[n(0)]
    pub id: JobId,
    /// Its queue.
    #[n(1)]
    pub queue: QueueId,
    /// Higher goes first.
    #[n(2)]
    pub priority: i8,
    /// Where it is.
    #[n(3)]
    pub state: JobState,
    /// What the handler gets.
    #[n(4)]
    pub payload: Bytes,
    /// The latest claim; 0 while there was none. Never falls.
    #[n(5)]
    pub claim: ClaimNumber,
    /// Runs that failed.
    #[n(6)]
    pub attempts: u32,
    /// Holders that vanished with it.
    #[n(7)]
    pub losses: u32,
    /// Times it was handed back or taken back.
    #[n(8)]
    pub hand_backs: u32,
    /// Not before this may it run.
    #[n(9)]
    pub due: Timestamp,
    /// When it was accepted.
    #[n(10)]
    pub created: Stamp,
    /// When it entered its state; for an ended job, when it ended.
    #[n(11)]
    pub since: Stamp,
    /// How it is repeated and how long it may run; `None` for the defaults.
    #[n(12)]
    pub rule: Option<Box<Rule>>,
    /// Its unique and ordering keys, if it has any.
    #[n(13)]
    pub keys: Option<Box<Keys>>,
    /// The run under way. There is one exactly while the job is running.
    #[n(14)]
    pub run: Option<Box<Run>>,
    /// What earlier runs left behind.
    #[n(15)]
    pub past: Option<Box<Past>>,
}

/// How a job is repeated and how long one run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Rule {
    /// How often it may fail.
    #[n(0)]
    pub retry: RetryRule,
    /// Milliseconds one run may take; `None` for no limit.
    #[n(1)]
    pub timeout_ms: Option<u64>,
}

/// The keys of a job, both within its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Keys {
    /// No two jobs that have not ended bear the same.
    #[n(0)]
    pub unique: Option<Key>,
    /// Jobs that bear the same run one after the other.
    #[n(1)]
    pub order: Option<Key>,
}

/// One run of a job: who holds it, and how it goes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Run {
    /// Who holds it.
    #[n(0)]
    pub session: SessionId,
    /// When it was handed out.
    #[n(1)]
    pub started: Stamp,
    /// When the handler was last seen to move.
    #[n(2)]
    pub moved: Served,
    /// Milliseconds it may go without moving; 0 for no deadline.
    #[n(3)]
    pub progress_ms: u64,
    /// When the run has lasted too long, if there is a limit.
    #[n(4)]
    pub timeout: Option<Served>,
    /// When the claim is fenced, if the job was cancelled meanwhile. Only ever shrinks.
    #[n(5)]
    pub cancel: Option<Served>,
    /// Percent done, if the handler said so.
    #[n(6)]
    pub percent: Option<u8>,
    /// What the handler last said.
    #[n(7)]
    pub note: Text,
}

/// What earlier runs of a job left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Past {
    /// What the next holder needs to go on.
    #[n(0)]
    pub checkpoint: Option<KeptCheckpoint>,
    /// The latest errors, oldest first, at most `ERRORS_KEPT_MAX`.
    #[n(1)]
    pub errors: Vec<JobError>,
    /// How it last came back, if it ever did.
    #[n(2)]
    pub returned: Option<Return>,
    /// What came out, if it completed.
    #[n(3)]
    pub result: Option<Bytes>,
    /// When its last finished run was handed out.
    #[n(4)]
    pub started: Option<Stamp>,
    /// Who held it in its last finished run.
    #[n(5)]
    pub holder: Option<SessionId>,
}

/// A checkpoint as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeptCheckpoint {
    /// What the next holder needs.
    #[n(0)]
    pub bytes: Bytes,
    /// Its number, rising within one claim.
    #[n(1)]
    pub number: u64,
    /// The claim that wrote it.
    #[n(2)]
    pub claim: ClaimNumber,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct JobError {
    /// Failed runs at that moment, this one included if it was one.
    #[n(0)]
    pub attempt: u32,
    /// When.
    #[n(1)]
    pub stamp: Stamp,
    /// Who held the job then, if anybody did.
    #[n(2)]
    pub session: Option<SessionId>,
    /// What.
    #[n(3)]
    pub text: Text,
}

/// How a job came back from its holder.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Return {
    /// Who held it.
    #[n(0)]
    pub session: SessionId,
    /// Why it came back.
    #[n(1)]
    pub cause: ReturnCause,
    /// When.
    #[n(2)]
    pub stamp: Stamp,
    /// What the holder said.
    #[n(3)]
    pub reason: Text,
}

/// All queues and their jobs.
///
/// The indexes are derived from what is kept, so a snapshot holds each fact once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    pub(crate) kept: Kept,
    pub(crate) index: Index,
}

/// What a snapshot keeps of the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Kept {
    /// The last id issued. Never falls.
    #[n(0)]
    pub(crate) last: JobId,
    /// The last queue id issued. Never falls.
    #[n(1)]
    pub(crate) last_queue: QueueId,
    /// Every queue.
    #[n(2)]
    pub(crate) queues: BTreeMap<QueueId, Shared<Queue>>,
    /// Every job that has not ended, and the ended ones that are kept.
    #[n(3)]
    pub(crate) jobs: Table,
}

impl<C> Encode<C> for Jobs {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        self.kept.encode(e, context)
    }
}

impl<'b, C> Decode<'b, C> for Jobs {
    fn decode(d: &mut Decoder<'b>, context: &mut C) -> Result<Self, DecodeError> {
        let kept = Kept::decode(d, context)?;
        if kept.jobs.listed(JobId(0)).any(|job| !kept.queues.contains_key(&job.queue)) {
            return Err(DecodeError::message("a job without its queue"));
        }
        Ok(Self::of(kept))
    }
}

impl Job {
    /// Returns how the job is repeated and how long one run may take.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule.as_deref().copied().unwrap_or_default()
    }

    /// Returns who holds the job.
    #[must_use]
    pub fn holder(&self) -> Option<SessionId> {
        self.run.as_ref().map(|run| run.session)
    }

    /// Returns what the next holder needs to go on.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&KeptCheckpoint> {
        self.past.as_ref().and_then(|past| past.checkpoint.as_ref())
    }

    /// Returns the latest errors, oldest first.
    #[must_use]
    pub fn errors(&self) -> &[JobError] {
        self.past.as_ref().map_or(&[], |past| &past.errors)
    }

    /// Returns how the job last came back, if it ever did.
    #[must_use]
    pub fn returned(&self) -> Option<&Return> {
        self.past.as_ref().and_then(|past| past.returned.as_ref())
    }

    /// Returns what came out, if the job completed.
    #[must_use]
    pub fn result(&self) -> Option<&Bytes> {
        self.past.as_ref().and_then(|past| past.result.as_ref())
    }

    /// Tells whether the job was cancelled while it runs.
    #[must_use]
    pub fn cancel_asked(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.cancel.is_some())
    }

    pub(crate) fn unique(&self) -> Option<&Key> {
        self.keys.as_ref().and_then(|keys| keys.unique.as_ref())
    }

    pub(crate) fn order(&self) -> Option<&Key> {
        self.keys.as_ref().and_then(|keys| keys.order.as_ref())
    }

    fn past_mut(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }

    /// Ends the run under way and remembers who held the job.
    fn leave_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let past = self.past_mut();
        past.started = Some(run.started);
        past.holder = Some(run.session);
    }

    fn add_error(&mut self, stamp: Stamp, text: Text) {
        let attempt = self.attempts;
        let past = self.past_mut();
        if past.errors.len() >= limits::ERRORS_KEPT_MAX {
            past.errors.remove(0);
        }
        past.errors.push(JobError { attempt, stamp, session: past.holder, text });
    }
}

impl Run {
    /// Returns the first moment at which this run ends without being asked.
    #[must_use]
    pub fn deadline(&self) -> Option<Served> {
        [self.cancel, self.timeout, self.progress_deadline()].into_iter().flatten().min()
    }

    fn progress_deadline(&self) -> Option<Served> {
        (self.progress_ms > 0).then(|| self.moved.after(self.progress_ms))
    }
}

impl Jobs {
    /// Returns what is kept with its indexes made anew.
    pub(crate) fn of(kept: Kept) -> Self {
        let index = Index::build(&kept);
        Self { kept, index }
    }

    fn find(&self, id: JobId) -> Result<&Job, Refusal> {
        self.job(id).ok_or_else(|| Refusal::NotFound {
            kind: Kind::Job,
            name: alloc::format!("{id}").into(),
        })
    }

    /// Changes one job and keeps every index in step.
    fn change<R>(&mut self, id: JobId, edit: impl FnOnce(&mut Job) -> R) -> R {
        let index = &mut self.index;
        let edited = self.kept.jobs.edit(id, |job| {
            index.remove(job);
            let result = edit(job);
            index.add(job);
            result
        });
        edited.expect("the caller found the job")
    }

    /// Moves a job to another state, whatever run it was in ends, and everything follows that must
    /// follow in the same entry.
    fn move_to(
        &mut self,
        step: &mut Step,
        id: JobId,
        state: JobState,
        edit: impl FnOnce(&mut Job),
    ) {
        let stamp = step.stamp;
        let (queue, before) = self.change(id, |job| {
            let before = job.state;
            job.leave_run();
            job.state = state;
            job.since = stamp;
            edit(job);
            (job.queue, before)
        });
        self.note_move(step, Move { id, queue, before, after: state });
    }

    fn note_move(&mut self, step: &mut Step, moved: Move) {
        let queue = self.kept.queues.get_mut(&moved.queue).expect("a job has a queue");
        if moved.before.is_ended() && !moved.after.is_ended() {
            queue.counters.retried = queue.counters.retried.saturating_add(1);
        }
        queue.counters.count_end(moved.after);
        let (job, state) = (moved.id, moved.after);
        step.note(What::Job { job, queue: queue.name.clone(), state });
        if moved.before == JobState::Returned {
            self.open_gate_if_placed(step, moved.queue);
        }
        if moved.before.is_ended() || moved.after.is_ended() {
            self.trim(moved.queue);
        }
    }

    /// Lets the oldest ended jobs of a queue go while it keeps too many, a few at a time.
    fn trim(&mut self, id: QueueId) {
        for _ in 0..2 {
            let queue = &self.kept.queues[&id];
            let Some(oldest) = self.index.oldest_beyond(id, queue.settings.retain_count) else {
                break;
            };
            self.purge(oldest);
        }
        self.index.retime(id, &self.kept.queues[&id]);
    }

    fn purge(&mut self, id: JobId) {
        let Some(job) = self.kept.jobs.remove(id) else { return };
        self.index.remove(&job);
        if let Some(queue) = self.kept.queues.get_mut(&job.queue) {
            queue.counters.purged = queue.counters.purged.saturating_add(1);
        }
    }

    /// Returns the name of a job's queue.
    ///
    /// # Panics
    /// When the job is none of these.
    #[must_use]
    pub fn queue_of(&self, job: &Job) -> &Name {
        &self.kept.queues.get(&job.queue).expect("a job has a queue").name
    }
}

/// One job's way from one state to another.
#[derive(Clone, Copy, Debug)]
struct Move {
    id: JobId,
    queue: QueueId,
    before: JobState,
    after: JobState,
}
