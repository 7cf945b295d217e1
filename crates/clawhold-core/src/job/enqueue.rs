//! Accepting jobs: all of a command, or none.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::{Job, Jobs, Keys, Rule};
use crate::answer::{Answer, Enqueued, JobState, Refusal};
use crate::change::What;
use crate::command::{Due, Enqueue, NewJob, RetryRule};
use crate::limits;
use crate::queue::{QueueId, check_said};
use crate::request::check_range;
use crate::state::Step;
use crate::units::{ClaimNumber, JobId, Key, Name, Stamp, Timestamp};

impl Jobs {
    /// Accepts jobs, all or none.
    pub(crate) fn enqueue(
        &mut self,
        step: &mut Step,
        command: &Enqueue,
    ) -> Result<Answer, Refusal> {
        check_range("jobs", command.jobs.len() as u64, 1, limits::ITEMS_MAX as u64)?;
        self.can_accept(step, &command.jobs)?;
        Ok(Answer::Enqueued(self.accept(step, &command.jobs)))
    }

    /// Tells whether all of these jobs can be accepted; none is fine.
    ///
    /// # Errors
    /// The refusal of the first one that cannot.
    pub(crate) fn can_accept(&self, _: &Step, jobs: &[NewJob]) -> Result<(), Refusal> {
        check_range("jobs", jobs.len() as u64, 0, limits::ITEMS_MAX as u64)?;
        let bytes = jobs.iter().map(|job| job.payload.len() as u64).sum::<u64>();
        check_range("payloads", bytes, 0, limits::COMMAND_BYTES_MAX as u64)?;
        for job in jobs {
            check_job(job)?;
        }
        let mut plan = Plan::default();
        for job in jobs {
            self.plan(&mut plan, job)?;
        }
        self.check_room(&plan)
    }

    /// Accepts jobs that can be accepted.
    pub(crate) fn accept(&mut self, step: &mut Step, jobs: &[NewJob]) -> Vec<Enqueued> {
        jobs.iter().map(|job| self.accept_one(step, job)).collect()
    }

    /// Adds a job to the plan, unless it is one that is there or planned.
    fn plan<'a>(&self, plan: &mut Plan<'a>, job: &'a NewJob) -> Result<(), Refusal> {
        if let Some(key) = &job.unique {
            if let Some(there) = self.bearer(&job.queue, key) {
                return same_payload(there.id, there.payload == job.payload);
            }
            if let Some((id, planned)) = plan.unique.get(&(&job.queue, key)) {
                return same_payload(*id, planned.payload == job.payload);
            }
            let id = JobId(self.kept.last.0.saturating_add(plan.count).saturating_add(1));
            plan.unique.insert((&job.queue, key), (id, job));
        }
        plan.count += 1;
        *plan.queues.entry(&job.queue).or_default() += 1;
        Ok(())
    }

    fn check_room(&self, plan: &Plan<'_>) -> Result<(), Refusal> {
        let missing = plan.queues.keys().filter(|name| self.queue_id(name).is_none()).count();
        self.can_make_queues(missing)?;
        check_full("the list of live jobs", self.index.live, plan.count, limits::JOBS_MAX)?;
        for (name, added) in &plan.queues {
            if let Some(id) = self.queue_id(name) {
                self.check_queue_room(id, *added)?;
            }
        }
        Ok(())
    }

    /// Tells whether one more job of a queue may live.
    pub(super) fn check_room_for_one(&self, id: QueueId) -> Result<(), Refusal> {
        check_full("the list of live jobs", self.index.live, 1, limits::JOBS_MAX)?;
        self.check_queue_room(id, 1)
    }

    /// Tells whether a queue takes so many more live jobs.
    fn check_queue_room(&self, id: QueueId, added: u64) -> Result<(), Refusal> {
        let Some(queue) = self.kept.queues.get(&id) else { return Ok(()) };
        let max = queue.settings.live_max;
        if max == 0 {
            return Ok(());
        }
        let live = self.index.queue(id).counts.live();
        check_full(&format!("queue {}", queue.name), live, added, max)
    }

    /// Returns the live job of a queue that bears a unique key.
    pub(super) fn bearer(&self, queue: &Name, key: &Key) -> Option<&Job> {
        let id = self.queue_id(queue)?;
        self.job(*self.index.queue(id).unique.get(key)?)
    }

    fn accept_one(&mut self, step: &mut Step, wanted: &NewJob) -> Enqueued {
        let there = wanted.unique.as_ref().and_then(|key| self.bearer(&wanted.queue, key));
        if let Some(there) = there {
            return Enqueued { job: there.id, existing: true };
        }
        let queue = self.make_queue(step, &wanted.queue);
        let id = JobId(self.kept.last.0.saturating_add(1));
        self.kept.last = id;
        let job = new_job(id, queue, wanted, step.stamp);
        let state = job.state;
        self.index.add(&job);
        self.kept.jobs.insert(job);
        if let Some(queue) = self.kept.queues.get_mut(&queue) {
            queue.counters.enqueued = queue.counters.enqueued.saturating_add(1);
        }
        step.note(What::Job { job: id, queue: wanted.queue.clone(), state });
        Enqueued { job: id, existing: false }
    }
}

/// What a command would add.
#[derive(Debug, Default)]
struct Plan<'a> {
    count: u64,
    queues: BTreeMap<&'a Name, u64>,
    unique: BTreeMap<(&'a Name, &'a Key), (JobId, &'a NewJob)>,
}

fn new_job(id: JobId, queue: QueueId, wanted: &NewJob, created: Stamp) -> Job {
    let due = due_at(wanted.due, created.at);
    let state = if due > created.at { JobState::Scheduled } else { JobState::Queued };
    let rule = Rule { retry: wanted.retry, timeout_ms: wanted.timeout_ms };
    let keys = Keys { unique: wanted.unique.clone(), order: wanted.order.clone() };
    Job {
        id,
        queue,
        priority: wanted.priority,
        state,
        payload: wanted.payload.clone(),
        claim: ClaimNumber(0),
        attempts: 0,
        losses: 0,
        hand_backs: 0,
        due,
        created,
        since: created,
        rule: (rule != Rule::default()).then(|| Box::new(rule)),
        keys: (keys != Keys::default()).then(|| Box::new(keys)),
        run: None,
        past: None,
    }
}

fn due_at(due: Due, now: Timestamp) -> Timestamp {
    match due {
        Due::Now => now,
        Due::After(ms) => now.after(ms),
        Due::At(at) => at.max(now),
    }
}

fn check_job(job: &NewJob) -> Result<(), Refusal> {
    check_range("payload", job.payload.len() as u64, 0, limits::PAYLOAD_BYTES_MAX as u64)?;
    check_priority(job.priority)?;
    check_due(job.due)?;
    check_retry(job.retry)?;
    check_said("timeout_ms", job.timeout_ms, 1, limits::DURATION_MS_MAX)
}

fn check_priority(priority: i8) -> Result<(), Refusal> {
    let (min, max) = (limits::PRIORITY_MIN, limits::PRIORITY_MAX);
    if min <= priority && priority <= max {
        return Ok(());
    }
    Err(Refusal::OutOfRange {
        field: "priority".into(),
        value: format!("{priority}").into(),
        allowed: format!("{min} to {max}").into(),
    })
}

fn check_due(due: Due) -> Result<(), Refusal> {
    match due {
        Due::Now => Ok(()),
        Due::After(ms) => check_range("due.after", ms, 0, limits::DURATION_MS_MAX),
        Due::At(at) => check_range("due.at", at.0, 0, limits::TIMESTAMP_MS_MAX),
    }
}

fn check_retry(rule: RetryRule) -> Result<(), Refusal> {
    let attempts = u64::from(rule.attempts_max);
    check_range("retry.attempts_max", attempts, 1, u64::from(limits::ATTEMPTS_MAX_MAX))?;
    check_range("retry.ceiling_ms", rule.ceiling_ms, 0, limits::DURATION_MS_MAX)?;
    check_range("retry.first_ms", rule.first_ms, 0, rule.ceiling_ms)
}

fn check_full(what: &str, count: u64, added: u64, max: u64) -> Result<(), Refusal> {
    if added == 0 || count.saturating_add(added) <= max {
        return Ok(());
    }
    Err(Refusal::Full { what: what.into(), count, max })
}

fn same_payload(job: JobId, same: bool) -> Result<(), Refusal> {
    if same { Ok(()) } else { Err(Refusal::KeyConflict { job }) }
}
