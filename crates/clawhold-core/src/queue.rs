//! Queues: where jobs wait, under settings, a pause and a gate.
//!
//! A queue is made by the first job or setting that names it. A paused queue hands nothing out and
//! takes everything in. What a closed gate holds back is told in `gate`.

use minicbor::{Decode, Encode};

use crate::answer::{Answer, JobState, Kind, Refusal};
use crate::change::What;
use crate::command::{PauseQueue, RemoveQueue, ResumeQueue, SetQueue};
use crate::job::Jobs;
use crate::limits;
use crate::request::check_range;
use crate::shared::Shared;
use crate::state::Step;
use crate::units::{Name, Stamp, Text};

mod gate;

pub use self::gate::{Closed, Gate};

/// A queue as the jobs refer to it. Never repeated, whatever is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct QueueId(#[n(0)] pub u32);

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Queue {
    /// As the jobs refer to it.
    #[n(0)]
    pub id: QueueId,
    /// Its name.
    #[n(1)]
    pub name: Name,
    /// What was set.
    #[n(2)]
    pub settings: Settings,
    /// The pause in force, if there is one.
    #[n(3)]
    pub paused: Option<Paused>,
    /// Whether the jobs that came back hold the others back.
    #[n(4)]
    pub gate: Gate,
    /// What happened so far.
    #[n(5)]
    pub counters: Counters,
    /// When it was made.
    #[n(6)]
    pub created: Stamp,
}

/// What can be set for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Settings {
    /// Jobs that may run at once; 0 for no limit.
    #[n(0)]
    pub running_max: u32,
    /// Milliseconds a handler may go without progress; 0 for no deadline. A run keeps the deadline
    /// it was handed out with until its next progress.
    #[n(1)]
    pub progress_ms: u64,
    /// Ended jobs kept. Dead letters go last.
    #[n(2)]
    pub retain_count: u64,
    /// Milliseconds for which ended jobs are kept; dead letters four times as long.
    #[n(3)]
    pub retain_ms: u64,
    /// Holders that may vanish with a job before it is dead.
    #[n(4)]
    pub losses_max: u32,
    /// Hand-backs after which a job is dead.
    #[n(5)]
    pub hand_backs_max: u32,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own.
    #[n(6)]
    pub live_max: u64,
}

/// A pause in force.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Paused {
    /// Why.
    #[n(0)]
    pub reason: Text,
    /// Since when.
    #[n(1)]
    pub since: Stamp,
}

/// What happened in a queue so far. `enqueued` is always what is live, kept and purged together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Counters {
    /// Jobs accepted.
    #[n(0)]
    pub enqueued: u64,
    /// Times a job was completed.
    #[n(1)]
    pub completed: u64,
    /// Times a job died.
    #[n(2)]
    pub failed: u64,
    /// Times a job was cancelled.
    #[n(3)]
    pub cancelled: u64,
    /// Ended jobs that are no longer kept.
    #[n(4)]
    pub purged: u64,
    /// Ended jobs that were put back to the queue.
    #[n(5)]
    pub retried: u64,
    /// Claims handed out.
    #[n(6)]
    pub claimed: u64,
    /// Times a job came back from its holder.
    #[n(7)]
    pub returned: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            running_max: 0,
            progress_ms: 0,
            retain_count: limits::RETAIN_COUNT_DEFAULT,
            retain_ms: limits::RETAIN_MS_DEFAULT,
            losses_max: limits::LOSSES_MAX_DEFAULT,
            hand_backs_max: limits::HAND_BACKS_MAX_DEFAULT,
            live_max: 0,
        }
    }
}

impl Settings {
    /// Returns the milliseconds for which dead letters are kept.
    #[must_use]
    pub fn retain_dead_ms(&self) -> u64 {
        self.retain_ms.saturating_mul(4)
    }

    fn set(&mut self, wanted: &SetQueue) {
        self.running_max = wanted.running_max.unwrap_or(self.running_max);
        self.progress_ms = wanted.progress_ms.unwrap_or(self.progress_ms);
        self.retain_count = wanted.retain_count.unwrap_or(self.retain_count);
        self.retain_ms = wanted.retain_ms.unwrap_or(self.retain_ms);
        self.losses_max = wanted.losses_max.unwrap_or(self.losses_max);
        self.hand_backs_max = wanted.hand_backs_max.unwrap_or(self.hand_backs_max);
        self.live_max = wanted.live_max.unwrap_or(self.live_max);
    }
}

impl Counters {
    pub(crate) fn count_end(&mut self, state: JobState) {
        let counter = match state {
            JobState::Completed => &mut self.completed,
            JobState::Failed => &mut self.failed,
            JobState::Cancelled => &mut self.cancelled,
            JobState::Returned => &mut self.returned,
            JobState::Running => &mut self.claimed,
            JobState::Scheduled | JobState::Queued => return,
        };
        *counter = counter.saturating_add(1);
    }
}

impl Queue {
    pub(crate) fn new(id: QueueId, name: Name, created: Stamp) -> Self {
        Self {
            id,
            name,
            settings: Settings::default(),
            paused: None,
            gate: Gate::default(),
            counters: Counters::default(),
            created,
        }
    }
}

impl Jobs {
    /// Sets what is known of a queue, which is made when it is missing.
    pub(crate) fn set_queue(
        &mut self,
        step: &mut Step,
        command: &SetQueue,
    ) -> Result<Answer, Refusal> {
        check_settings(command)?;
        self.can_make_queue(&command.queue)?;
        let id = self.make_queue(step, &command.queue);
        self.edit_queue(step, id, |queue| queue.settings.set(command));
        Ok(Answer::Done)
    }

    /// Stops handing out the jobs of a queue, which is made when it is missing.
    pub(crate) fn pause_queue(
        &mut self,
        step: &mut Step,
        command: &PauseQueue,
    ) -> Result<Answer, Refusal> {
        self.can_make_queue(&command.queue)?;
        let id = self.make_queue(step, &command.queue);
        let since = step.stamp;
        self.edit_queue(step, id, |queue| {
            let since = queue.paused.as_ref().map_or(since, |paused| paused.since);
            queue.paused = Some(Paused { reason: command.reason.clone(), since });
        });
        Ok(Answer::Done)
    }

    /// Hands the jobs of a queue out again.
    pub(crate) fn resume_queue(
        &mut self,
        step: &mut Step,
        command: &ResumeQueue,
    ) -> Result<Answer, Refusal> {
        let id = self.find_queue(&command.queue)?;
        self.edit_queue(step, id, |queue| queue.paused = None);
        Ok(Answer::Done)
    }

    /// Removes a queue that has no live job, and the ended jobs it keeps.
    pub(crate) fn remove_queue(
        &mut self,
        step: &mut Step,
        command: &RemoveQueue,
    ) -> Result<Answer, Refusal> {
        let id = self.find_queue(&command.queue)?;
        let live = self.index.queue(id).counts.live();
        if live > 0 {
            return Err(Refusal::InUse { kind: Kind::Queue, count: live, by: "live jobs".into() });
        }
        self.purge_all(id);
        if let Some(queue) = self.kept.queues.remove(&id) {
            self.index.forget(id, &queue);
        }
        step.note(What::Queue { queue: command.queue.clone() });
        Ok(Answer::Done)
    }

    pub(crate) fn queue_id(&self, name: &Name) -> Option<QueueId> {
        self.index.names.get(name.as_str()).copied()
    }

    pub(crate) fn find_queue(&self, name: &Name) -> Result<QueueId, Refusal> {
        self.queue_id(name)
            .ok_or_else(|| Refusal::NotFound { kind: Kind::Queue, name: name.as_str().into() })
    }

    fn can_make_queue(&self, name: &Name) -> Result<(), Refusal> {
        if self.queue_id(name).is_some() {
            return Ok(());
        }
        self.can_make_queues(1)
    }

    /// Tells whether so many new queues may be made.
    ///
    /// # Errors
    /// [`Refusal::Full`] when there would be too many.
    pub(crate) fn can_make_queues(&self, added: usize) -> Result<(), Refusal> {
        let count = self.kept.queues.len();
        let ids_left = u32::MAX - self.kept.last_queue.0;
        let max = limits::QUEUES_MAX;
        let fits = count.saturating_add(added) <= max;
        if fits && u32::try_from(added).is_ok_and(|added| added <= ids_left) {
            return Ok(());
        }
        let (count, max) = (count as u64, max as u64);
        Err(Refusal::Full { what: "the list of queues".into(), count, max })
    }

    /// Returns the queue of this name, which is made when it is missing.
    pub(crate) fn make_queue(&mut self, step: &mut Step, name: &Name) -> QueueId {
        if let Some(id) = self.queue_id(name) {
            return id;
        }
        let id = QueueId(self.kept.last_queue.0.saturating_add(1));
        self.kept.last_queue = id;
        let queue = Queue::new(id, name.clone(), step.stamp);
        self.kept.queues.insert(id, Shared::new(queue));
        self.index.names.insert(name.as_str().into(), id);
        self.index.queues.entry(id).or_default();
        step.note(What::Queue { queue: name.clone() });
        id
    }

    /// Changes one queue, keeps its moments in step and notes it.
    pub(crate) fn edit_queue(
        &mut self,
        step: &mut Step,
        id: QueueId,
        edit: impl FnOnce(&mut Queue),
    ) {
        let Some(queue) = self.kept.queues.get_mut(&id) else { return };
        edit(queue);
        self.index.retime(id, queue);
        step.note(What::Queue { queue: queue.name.clone() });
    }
}

fn check_settings(wanted: &SetQueue) -> Result<(), Refusal> {
    let counts = u64::from(limits::ATTEMPTS_MAX_MAX);
    check_said("progress_ms", wanted.progress_ms, 0, limits::DURATION_MS_MAX)?;
    check_said("retain_count", wanted.retain_count, 0, limits::JOBS_MAX)?;
    check_said("retain_ms", wanted.retain_ms, 0, limits::DURATION_MS_MAX)?;
    check_said("losses_max", wanted.losses_max.map(u64::from), 1, counts)?;
    check_said("hand_backs_max", wanted.hand_backs_max.map(u64::from), 0, counts)?;
    check_said("live_max", wanted.live_max, 0, limits::JOBS_MAX)
}

/// Checks that a number lies in its range, ends included; what is not said is within it.
///
/// # Errors
/// [`Refusal::OutOfRange`] names the field, its value and the range.
pub(crate) fn check_said(
    field: &str,
    value: Option<u64>,
    min: u64,
    max: u64,
) -> Result<(), Refusal> {
    value.map_or(Ok(()), |value| check_range(field, value, min, max))
}
