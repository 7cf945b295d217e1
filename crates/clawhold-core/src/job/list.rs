//! Reading queues and jobs, a page at a time, with work bounded by the page.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use super::table::page_of;
use super::{Counts, Job, Jobs};
use crate::answer::JobState;
use crate::limits;
use crate::queue::{Queue, QueueId};
use crate::shared::Shared;
use crate::units::{JobId, Name, SessionId, Stamp};

/// Which jobs are listed; `None` means all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter<'a> {
    /// Those of this queue.
    pub queue: Option<&'a Name>,
    /// Those in this state.
    pub state: Option<JobState>,
}

impl Jobs {
    /// Returns a job that has not ended, or ended and is kept.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.kept.jobs.get(id).map(|job| &**job)
    }

    /// Returns a job as it is now, to be read later and elsewhere.
    #[must_use]
    pub fn share(&self, id: JobId) -> Option<Arc<Job>> {
        self.kept.jobs.get(id).map(Shared::share)
    }

    /// Returns a queue.
    #[must_use]
    pub fn queue(&self, name: &Name) -> Option<&Queue> {
        self.by_id(self.queue_id(name)?)
    }

    /// Returns the queue with this id.
    pub(crate) fn by_id(&self, id: QueueId) -> Option<&Queue> {
        self.kept.queues.get(&id).map(|queue| &**queue)
    }

    /// Returns the queues after `after`, in the order of their names.
    pub fn queues(&self, after: Option<&Name>) -> impl Iterator<Item = &Queue> {
        let from = after.map_or(Bound::Unbounded, |name| Bound::Excluded(name.as_str()));
        let names = self.index.names.range::<str, _>((from, Bound::Unbounded));
        names.filter_map(|(_, id)| self.by_id(*id))
    }

    /// Returns how many jobs of a queue are in each state.
    #[must_use]
    pub fn counts(&self, queue: &Queue) -> Counts {
        self.index.queues.get(&queue.id).map_or_else(Counts::default, |index| index.counts)
    }

    /// Returns how many jobs there are that have not ended.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.index.live
    }

    /// Returns the jobs that match, beginning after `after`, in the order of acceptance, at most
    /// `count_max` and never more than `PAGE_MAX`.
    #[must_use]
    pub fn list(&self, filter: Filter<'_>, after: Option<JobId>, count_max: usize) -> Vec<&Job> {
        let count = count_max.min(limits::PAGE_MAX);
        let from = JobId(after.map_or(0, |id| id.0.saturating_add(1)));
        let queue = filter.queue.map(|name| self.queue_id(name));
        match (queue, filter.state) {
            (None, None) => self.kept.jobs.listed(from).take(count).collect(),
            (None, Some(state)) => self.kept.jobs.listed_in(from, state).take(count).collect(),
            (Some(None), _) => Vec::new(),
            (Some(Some(queue)), Some(state)) => self.list_place(queue, state, from, count),
            (Some(Some(queue)), None) => {
                let states = JobState::ALL.into_iter();
                let mut jobs: Vec<&Job> =
                    states.flat_map(|state| self.list_place(queue, state, from, count)).collect();
                jobs.sort_unstable_by_key(|job| job.id);
                jobs.truncate(count);
                jobs
            }
        }
    }

    /// Returns the jobs of one queue in one state, in the order of acceptance.
    pub(crate) fn each(&self, queue: QueueId, state: JobState) -> impl Iterator<Item = &Job> {
        self.each_from(queue, state, JobId(0))
    }

    fn each_from(
        &self,
        queue: QueueId,
        state: JobState,
        from: JobId,
    ) -> impl Iterator<Item = &Job> {
        let index = self.index.queues.get(&queue).into_iter();
        let pages = index.flat_map(move |index| index.pages_with(state, page_of(from)));
        let jobs = pages.flat_map(move |page| self.kept.jobs.page(page, from));
        jobs.filter(move |job| job.queue == queue && job.state == state)
    }

    /// Returns when the oldest job was accepted that could be handed out; ids rise with time.
    #[must_use]
    pub fn oldest_waiting(&self, queue: QueueId) -> Option<Stamp> {
        let first = |state| self.each(queue, state).next().map(|job| job.created);
        let oldest = [first(JobState::Queued), first(JobState::Returned)];
        oldest.into_iter().flatten().min_by_key(|stamp| stamp.position)
    }

    /// Returns every place in which the indexes have a job, in words. For a job in exactly one
    /// place that is its state.
    pub(crate) fn places(&self, job: &Job) -> Vec<&'static str> {
        let Some(index) = self.index.queues.get(&job.queue) else { return Vec::new() };
        let mut places: Vec<&'static str> = index.places(job).map(JobState::as_str).collect();
        if self.index.scheduled.contains(&(job.due, job.id)) {
            places.push(JobState::Scheduled.as_str());
        }
        let held = job.holder().and_then(|holder| self.index.held.get(&holder));
        if held.is_some_and(|held| held.contains(&job.id)) {
            places.push(JobState::Running.as_str());
        }
        places
    }

    /// Returns what the indexes give to a session and the jobs themselves do not.
    pub(crate) fn held_astray(&self) -> Vec<(SessionId, JobId)> {
        let mut astray = Vec::new();
        for (session, held) in &self.index.held {
            let theirs =
                |id: &&JobId| self.job(**id).is_some_and(|job| job.holder() == Some(*session));
            astray.extend(held.iter().filter(|id| !theirs(id)).map(|id| (*session, *id)));
        }
        astray
    }

    /// Returns the jobs that a session holds.
    pub fn held(&self, session: SessionId) -> impl Iterator<Item = &Job> {
        let held = self.index.held.get(&session).into_iter().flatten();
        held.filter_map(|id| self.job(*id))
    }

    /// Returns how many jobs a session holds.
    #[must_use]
    pub fn held_count(&self, session: SessionId) -> u64 {
        self.index.held.get(&session).map_or(0, |held| held.len() as u64)
    }

    fn list_place(&self, queue: QueueId, state: JobState, from: JobId, count: usize) -> Vec<&Job> {
        self.each_from(queue, state, from).take(count).collect()
    }

    /// Removes every job that a queue without live jobs keeps.
    pub(crate) fn purge_all(&mut self, queue: QueueId) {
        let states = JobState::ALL.into_iter();
        let kept = states.flat_map(|state| self.each(queue, state).map(|job| job.id));
        for id in kept.collect::<Vec<JobId>>() {
            self.purge(id);
        }
    }
}
