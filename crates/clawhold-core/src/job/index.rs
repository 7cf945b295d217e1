//! The indexes over the jobs: each a function of what is kept, and rebuilt from it after a
//! snapshot.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use super::table::page_of;
use super::{Job, Kept};
use crate::answer::JobState;
use crate::queue::{Queue, QueueId};
use crate::units::{JobId, Key, Served, SessionId, Timestamp};

/// How many jobs are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that wait for their time.
    pub scheduled: u64,
    /// Jobs that wait for a worker.
    pub queued: u64,
    /// Jobs that came back and wait before the new ones.
    pub returned: u64,
    /// Jobs that a session holds.
    pub running: u64,
    /// Jobs that ended well and are kept.
    pub completed: u64,
    /// Dead letters that are kept.
    pub failed: u64,
    /// Jobs that were called off and are kept.
    pub cancelled: u64,
}

/// A job's place in the order of hand-out: the highest priority, what came back, the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// The priority negated, so that the highest comes first.
    pub(crate) inverse: i8,
    /// Whether it did not come back from a worker.
    pub(crate) fresh: bool,
    /// Its id: its original order.
    pub(crate) id: JobId,
}

/// The indexes over all jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Jobs that have not ended.
    pub(crate) live: u64,
    /// The queue that bears each name.
    pub(crate) names: BTreeMap<Box<str>, QueueId>,
    /// What is derived for each queue.
    pub(crate) queues: BTreeMap<QueueId, QueueIndex>,
    /// The running jobs of each session that holds any.
    pub(crate) held: BTreeMap<SessionId, BTreeSet<JobId>>,
    /// Scheduled jobs by their time.
    pub(crate) scheduled: BTreeSet<(Timestamp, JobId)>,
    /// Running jobs by the moment at which their run ends unasked.
    pub(crate) deadlines: BTreeSet<(Served, JobId)>,
    /// Closed gates by the moment at which they open.
    pub(crate) gates: BTreeSet<(Served, QueueId)>,
    /// Queues by the moment at which an ended job has been kept long enough.
    pub(crate) purges: BTreeSet<(Timestamp, QueueId)>,
}

/// What is derived for one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueIndex {
    pub(crate) counts: Counts,
    /// Jobs that can be handed out, next one first.
    pub(crate) ready: BTreeSet<Rank>,
    /// Jobs that came back and wait, whether or not they can be handed out.
    pub(crate) returned: BTreeSet<Rank>,
    /// How many jobs there are by their state and their page of the table.
    pub(crate) pages: BTreeMap<(JobState, u64), u8>,
    /// The live job that bears each unique key.
    pub(crate) unique: BTreeMap<Key, JobId>,
    /// The jobs that run one after the other.
    pub(crate) lines: BTreeMap<Key, Line>,
    /// Completed and cancelled jobs, the one that ended first at the front.
    pub(crate) ended: BTreeSet<(Timestamp, JobId)>,
    /// Dead letters, the one that ended first at the front.
    pub(crate) dead: BTreeSet<(Timestamp, JobId)>,
    /// This queue's entry in `gates`.
    gate_opens: Option<Served>,
    /// This queue's entry in `purges`.
    purge_due: Option<Timestamp>,
}

/// The live jobs of one ordering key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Each with its rank while it waits for a worker.
    pub(crate) jobs: BTreeMap<JobId, Option<Rank>>,
    /// How many of them run: at most one.
    pub(crate) running: u64,
}

impl Counts {
    /// Returns how many jobs are in a state.
    #[must_use]
    pub fn of(&self, state: JobState) -> u64 {
        match state {
            JobState::Scheduled => self.scheduled,
            JobState::Queued => self.queued,
            JobState::Returned => self.returned,
            JobState::Running => self.running,
            JobState::Completed => self.completed,
            JobState::Failed => self.failed,
            JobState::Cancelled => self.cancelled,
        }
    }

    /// Returns how many jobs have not ended.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.scheduled + self.queued + self.returned + self.running
    }

    /// Returns how many jobs have ended and are kept.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    fn of_mut(&mut self, state: JobState) -> &mut u64 {
        match state {
            JobState::Scheduled => &mut self.scheduled,
            JobState::Queued => &mut self.queued,
            JobState::Returned => &mut self.returned,
            JobState::Running => &mut self.running,
            JobState::Completed => &mut self.completed,
            JobState::Failed => &mut self.failed,
            JobState::Cancelled => &mut self.cancelled,
        }
    }
}

impl Rank {
    /// Returns the first place of the next lower priority.
    pub(crate) fn next_priority(self) -> Self {
        Self { inverse: self.inverse.saturating_add(1), fresh: false, id: JobId(0) }
    }

    /// Returns the rank of a job that waits for a worker.
    fn of(job: &Job) -> Option<Self> {
        let fresh = match job.state {
            JobState::Queued => true,
            JobState::Returned => false,
            JobState::Scheduled
            | JobState::Running
            | JobState::Completed
            | JobState::Failed
            | JobState::Cancelled => return None,
        };
        Some(Self { inverse: job.priority.saturating_neg(), fresh, id: job.id })
    }
}

impl Index {
    /// Returns the indexes over what is kept.
    pub(crate) fn build(kept: &Kept) -> Self {
        let mut index = Self::default();
        for (id, queue) in &kept.queues {
            index.names.insert(queue.name.as_str().into(), *id);
            index.queues.insert(*id, QueueIndex::default());
        }
        for job in kept.jobs.listed(JobId(0)) {
            index.add(job);
        }
        for (id, queue) in &kept.queues {
            index.retime(*id, queue);
        }
        index
    }

    pub(crate) fn add(&mut self, job: &Job) {
        self.live += u64::from(!job.state.is_ended());
        self.queues.entry(job.queue).or_default().add(job);
        if job.state == JobState::Scheduled {
            self.scheduled.insert((job.due, job.id));
        }
        let Some(run) = &job.run else { return };
        self.held.entry(run.session).or_default().insert(job.id);
        if let Some(deadline) = run.deadline() {
            self.deadlines.insert((deadline, job.id));
        }
    }

    pub(crate) fn remove(&mut self, job: &Job) {
        self.live -= u64::from(!job.state.is_ended());
        self.queues.entry(job.queue).or_default().remove(job);
        if job.state == JobState::Scheduled {
            self.scheduled.remove(&(job.due, job.id));
        }
        let Some(run) = &job.run else { return };
        if let Some(deadline) = run.deadline() {
            self.deadlines.remove(&(deadline, job.id));
        }
        let Some(held) = self.held.get_mut(&run.session) else { return };
        held.remove(&job.id);
        if held.is_empty() {
            self.held.remove(&run.session);
        }
    }

    /// Returns what is derived for one queue.
    pub(crate) fn queue(&self, id: QueueId) -> &QueueIndex {
        self.queues.get(&id).expect("a queue has its index")
    }

    /// Returns the ended job that goes first when more than `count_max` are kept.
    pub(crate) fn oldest_beyond(&self, id: QueueId, count_max: u64) -> Option<JobId> {
        let queue = self.queue(id);
        if queue.counts.ended() <= count_max {
            return None;
        }
        queue.ended.first().or_else(|| queue.dead.first()).map(|(_, job)| *job)
    }

    /// Returns the ended job that has been kept long enough at `now`.
    pub(crate) fn oldest_before(
        &self,
        id: QueueId,
        queue: &Queue,
        now: Timestamp,
    ) -> Option<JobId> {
        let index = self.queue(id);
        let ended = index.ended.first().filter(|(at, _)| at.after(queue.settings.retain_ms) <= now);
        let dead =
            index.dead.first().filter(|(at, _)| at.after(queue.settings.retain_dead_ms()) <= now);
        ended.or(dead).map(|(_, job)| *job)
    }

    /// Brings the moments of one queue in step: when its gate opens, when an ended job goes.
    pub(crate) fn retime(&mut self, id: QueueId, queue: &Queue) {
        let entry = self.queues.entry(id).or_default();
        let gate = queue.gate.closed.map(|closed| closed.until);
        put(&mut self.gates, id, &mut entry.gate_opens, gate);
        let purge = entry.next_purge(queue);
        put(&mut self.purges, id, &mut entry.purge_due, purge);
    }

    /// Forgets a queue that has no job.
    pub(crate) fn forget(&mut self, id: QueueId, queue: &Queue) {
        self.names.remove(queue.name.as_str());
        let Some(entry) = self.queues.remove(&id) else { return };
        if let Some(opens) = entry.gate_opens {
            self.gates.remove(&(opens, id));
        }
        if let Some(due) = entry.purge_due {
            self.purges.remove(&(due, id));
        }
    }
}

/// Moves a queue's moment among those of all queues.
fn put<T: Ord + Copy>(
    all: &mut BTreeSet<(T, QueueId)>,
    id: QueueId,
    there: &mut Option<T>,
    moment: Option<T>,
) {
    if *there == moment {
        return;
    }
    if let Some(before) = core::mem::replace(there, moment) {
        all.remove(&(before, id));
    }
    all.extend(moment.map(|moment| (moment, id)));
}

impl QueueIndex {
    fn add(&mut self, job: &Job) {
        *self.counts.of_mut(job.state) += 1;
        *self.pages.entry((job.state, page_of(job.id))).or_default() += 1;
        match job.state {
            JobState::Scheduled | JobState::Queued | JobState::Returned | JobState::Running => {
                self.add_live(job);
            }
            JobState::Completed | JobState::Cancelled => {
                self.ended.insert((job.since.at, job.id));
            }
            JobState::Failed => {
                self.dead.insert((job.since.at, job.id));
            }
        }
    }

    fn leave_page(&mut self, page: (JobState, u64)) {
        let Some(count) = self.pages.get_mut(&page) else { return };
        *count -= 1;
        if *count == 0 {
            self.pages.remove(&page);
        }
    }

    /// Returns the pages of the table that have jobs of this queue in a state, `from` first.
    pub(crate) fn pages_with(&self, state: JobState, from: u64) -> impl Iterator<Item = u64> {
        self.pages.range((state, from)..=(state, u64::MAX)).map(|((_, page), _)| *page)
    }

    fn add_live(&mut self, job: &Job) {
        if let Some(key) = job.unique() {
            self.unique.insert(key.clone(), job.id);
        }
        let rank = Rank::of(job);
        if let Some(rank) = rank.filter(|rank| !rank.fresh) {
            self.returned.insert(rank);
        }
        match job.order() {
            Some(key) => self.change_line(key, |line| line.add(job, rank)),
            None => self.ready.extend(rank),
        }
    }

    fn remove(&mut self, job: &Job) {
        *self.counts.of_mut(job.state) -= 1;
        self.leave_page((job.state, page_of(job.id)));
        match job.state {
            JobState::Scheduled | JobState::Queued | JobState::Returned | JobState::Running => {
                self.remove_live(job);
            }
            JobState::Completed | JobState::Cancelled => {
                self.ended.remove(&(job.since.at, job.id));
            }
            JobState::Failed => {
                self.dead.remove(&(job.since.at, job.id));
            }
        }
    }

    fn remove_live(&mut self, job: &Job) {
        if let Some(key) = job.unique() {
            self.unique.remove(key);
        }
        let rank = Rank::of(job);
        if let Some(rank) = rank.filter(|rank| !rank.fresh) {
            self.returned.remove(&rank);
        }
        match (job.order(), rank) {
            (Some(key), _) => self.change_line(key, |line| line.remove(job)),
            (None, Some(rank)) => {
                self.ready.remove(&rank);
            }
            (None, None) => {}
        }
    }

    /// Changes a line and keeps exactly its next job among the ready ones.
    fn change_line(&mut self, key: &Key, edit: impl FnOnce(&mut Line)) {
        if !self.lines.contains_key(key) {
            self.lines.insert(key.clone(), Line::default());
        }
        let Some(line) = self.lines.get_mut(key) else { return };
        if let Some(before) = line.next() {
            self.ready.remove(&before);
        }
        edit(line);
        self.ready.extend(line.next());
        if line.jobs.is_empty() {
            self.lines.remove(key);
        }
    }

    /// Returns every state in which this index has a job that has a place of its own there: it
    /// waits, alone or in its line, or it has ended.
    pub(crate) fn places(&self, job: &Job) -> impl Iterator<Item = JobState> {
        let rank = |fresh| Rank { inverse: job.priority.saturating_neg(), fresh, id: job.id };
        let lines = job.order().map(|key| self.lines.get(key).and_then(|line| line.rank(job.id)));
        let waits = move |fresh| match lines {
            Some(in_line) => in_line == Some(rank(fresh)),
            None => self.ready.contains(&rank(fresh)),
        };
        let ended = self.ended.contains(&(job.since.at, job.id));
        let completed = ended && job.state != JobState::Cancelled;
        let there = [
            (waits(true), JobState::Queued),
            (waits(false), JobState::Returned),
            (completed, JobState::Completed),
            (self.dead.contains(&(job.since.at, job.id)), JobState::Failed),
            (ended && !completed, JobState::Cancelled),
        ];
        there.into_iter().filter_map(|(is, state)| is.then_some(state))
    }

    fn next_purge(&self, queue: &Queue) -> Option<Timestamp> {
        if self.counts.ended() > queue.settings.retain_count {
            return Some(Timestamp(0));
        }
        let ended = self.ended.first().map(|(at, _)| at.after(queue.settings.retain_ms));
        let dead = self.dead.first().map(|(at, _)| at.after(queue.settings.retain_dead_ms()));
        [ended, dead].into_iter().flatten().min()
    }
}

impl Line {
    /// Returns the job that may be handed out: the oldest one, if it waits and none runs.
    pub(crate) fn next(&self) -> Option<Rank> {
        if self.running > 0 {
            return None;
        }
        self.jobs.first_key_value().and_then(|(_, rank)| *rank)
    }

    /// Returns the rank of a job that waits in this line.
    fn rank(&self, id: JobId) -> Option<Rank> {
        self.jobs.get(&id).copied().flatten()
    }

    fn add(&mut self, job: &Job, rank: Option<Rank>) {
        self.jobs.insert(job.id, rank);
        self.running += u64::from(job.state == JobState::Running);
    }

    fn remove(&mut self, job: &Job) {
        self.jobs.remove(&job.id);
        self.running -= u64::from(job.state == JobState::Running);
    }
}
