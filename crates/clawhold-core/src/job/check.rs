//! What must be true of the jobs between two entries.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::{Index, Job, Jobs};
use crate::answer::JobState;
use crate::queue::Queue;
use crate::session::Sessions;
use crate::units::JobId;

impl Jobs {
    /// Checks everything that must be true of the jobs between two entries.
    ///
    /// # Errors
    /// The first thing that is not, in words.
    pub(crate) fn check(&self, sessions: &Sessions) -> Result<(), String> {
        self.check_index()?;
        for job in self.kept.jobs.listed(JobId(0)) {
            ensure(job.id <= self.kept.last, || format!("job {} misplaced", job.id))?;
            self.check_job(job, sessions)?;
        }
        for (id, queue) in &self.kept.queues {
            ensure(*id == queue.id && queue.id <= self.kept.last_queue, || {
                format!("queue {} misplaced", queue.name)
            })?;
            self.check_queue(queue)?;
        }
        self.check_held(sessions)
    }

    /// Each index is what it would be if it were built from what is kept.
    fn check_index(&self) -> Result<(), String> {
        let built = Index::build(&self.kept);
        if built == self.index {
            return Ok(());
        }
        for (id, queue) in &built.queues {
            let there = self.index.queues.get(id);
            ensure(Some(queue) == there, || {
                format!("index of queue {}: built {queue:?}, is {there:?}", id.0)
            })?;
        }
        Err(format!("index: built {built:?}, is {:?}", self.index))
    }

    fn check_job(&self, job: &Job, sessions: &Sessions) -> Result<(), String> {
        let id = job.id;
        let runs = job.state == JobState::Running;
        ensure(runs == job.run.is_some(), || format!("job {id} is {} with a run", job.state))?;
        ensure(!runs || job.claim.0 > 0, || format!("job {id} runs without a claim"))?;
        ensure(self.kept.queues.contains_key(&job.queue), || format!("job {id} has no queue"))?;
        ensure(job.created.position <= job.since.position, || format!("job {id} runs back"))?;
        let holder = job.holder();
        ensure(holder.is_none_or(|holder| sessions.live(holder).is_some()), || {
            format!("job {id} is held by {holder:?}, which is over")
        })?;
        ensure(job.attempts < job.rule().retry.attempts_max || job.state.is_ended(), || {
            format!("job {id} lives beyond its attempts")
        })
    }

    fn check_queue(&self, queue: &Queue) -> Result<(), String> {
        let index = self.index.queue(queue.id);
        let (counts, counters) = (index.counts, queue.counters);
        let there = counts.live() + counts.ended();
        ensure(counters.enqueued == there + counters.purged, || {
            format!("queue {}: {counters:?} against {counts:?}", queue.name)
        })?;
        let ends = counters.completed + counters.failed + counters.cancelled - counters.retried;
        ensure(ends == counts.ended() + counters.purged, || {
            format!("queue {}: {counters:?} ends against {counts:?}", queue.name)
        })?;
        for (key, line) in &index.lines {
            ensure(line.running <= 1, || format!("queue {}: {key} runs twice", queue.name))?;
        }
        let states = JobState::ALL.into_iter().filter(|state| !state.is_ended());
        let mut bearers = BTreeMap::new();
        for job in states.flat_map(|state| self.each(queue.id, state)) {
            let Some(key) = job.unique() else { continue };
            let twice = bearers.insert(key, job.id);
            ensure(twice.is_none(), || format!("queue {}: {key} borne twice", queue.name))?;
        }
        Ok(())
    }

    fn check_held(&self, sessions: &Sessions) -> Result<(), String> {
        for (id, held) in &self.index.held {
            let slots = sessions.live(*id).map_or(0, |session| u64::from(session.slots));
            ensure(held.len() as u64 <= slots, || format!("session {id} holds beyond its slots"))?;
        }
        Ok(())
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken()) }
}
