//! What conditions read: the values of one role, worker, queue or job, as the state has them.

use crate::answer::WorkerState;
use crate::condition::{Condition, Facts, Field, TargetKind, Truth, Value};
use crate::job::Job;
use crate::queue::Queue;
use crate::role::Role;
use crate::run::Target;
use crate::session::Session;
use crate::state::State;
use crate::units::{SessionId, Text};

/// The facts of one target.
#[derive(Clone, Copy, Debug)]
pub struct TargetFacts<'a> {
    state: &'a State,
    role: Option<&'a Role>,
    worker: Option<&'a Session>,
    queue: Option<&'a Queue>,
    job: Option<&'a Job>,
}

impl Target {
    /// Returns what kind of thing it is.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        match self {
            Self::Role(_) => TargetKind::Role,
            Self::Worker(_) => TargetKind::Worker,
            Self::Queue(_) => TargetKind::Queue,
            Self::Job(_) => TargetKind::Job,
        }
    }
}

impl State {
    /// Returns the facts of a target. What is gone has none, and every condition about it is
    /// unknown.
    #[must_use]
    pub fn facts(&self, target: &Target) -> TargetFacts<'_> {
        let mut facts =
            TargetFacts { state: self, role: None, worker: None, queue: None, job: None };
        match target {
            Target::Role(role) => facts.role = self.roles.get(role),
            Target::Worker(worker) => facts.worker = self.worker(*worker),
            Target::Queue(queue) => facts.queue = self.jobs.queue(queue),
            Target::Job(job) => {
                facts.job = self.jobs.job(*job);
                let queue = facts.job.map(|job| self.jobs.queue_of(job));
                facts.queue = queue.and_then(|queue| self.jobs.queue(queue));
                let holder = facts.job.and_then(Job::holder);
                facts.worker = holder.and_then(|holder| self.worker(holder));
            }
        }
        facts
    }

    /// Returns what a condition about a target comes to.
    #[must_use]
    pub fn condition_holds(&self, condition: &Condition, target: &Target) -> Truth {
        condition.eval(&self.facts(target))
    }

    /// Tells whether a target is still there. A session that has ended is not.
    pub(crate) fn is_there(&self, target: &Target) -> bool {
        match target {
            Target::Role(role) => self.roles.get(role).is_some(),
            Target::Worker(session) => self.sessions.live(*session).is_some(),
            Target::Queue(queue) => self.jobs.queue(queue).is_some(),
            Target::Job(job) => self.jobs.job(*job).is_some(),
        }
    }

    /// Returns a session, one that has ended and is kept included.
    #[must_use]
    pub fn worker(&self, id: SessionId) -> Option<&Session> {
        self.sessions.live(id).or_else(|| self.sessions.ended().rev().find(|one| one.id == id))
    }

    /// Returns what people call a target.
    #[must_use]
    pub fn name_of(&self, target: &Target) -> Text {
        match target {
            Target::Role(role) => Text::cut(role.as_str()),
            Target::Queue(queue) => Text::cut(queue.as_str()),
            Target::Job(job) => Text::cut(&alloc::format!("{job}")),
            Target::Worker(id) => match self.worker(*id) {
                Some(session) => Text::cut(session.label.as_str()),
                None => Text::cut(&alloc::format!("{id}")),
            },
        }
    }

    /// Returns what people call a session, with its number.
    pub(crate) fn called(&self, id: SessionId) -> alloc::string::String {
        self.worker(id).map_or_else(
            || alloc::format!("session {id}"),
            |session| alloc::format!("{} (session {id})", session.label),
        )
    }
}

impl Facts for TargetFacts<'_> {
    fn value(&self, field: Field) -> Value<'_> {
        let value = match field.root().target() {
            TargetKind::Role => self.role.and_then(|role| self.of_role(role, field)),
            TargetKind::Worker => self.worker.and_then(|worker| self.of_worker(worker, field)),
            TargetKind::Queue => self.queue.and_then(|queue| self.of_queue(queue, field)),
            TargetKind::Job => self.job.and_then(|job| self.of_job(job, field)),
        };
        value.unwrap_or_default()
    }
}

impl<'a> TargetFacts<'a> {
    fn since(&self, at: crate::units::Stamp) -> Value<'a> {
        Value::Duration(self.state.last.at.0.saturating_sub(at.at.0))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "each function knows one root's fields")]
    fn of_role(&self, role: &'a Role, field: Field) -> Option<Value<'a>> {
        let held = role.held.as_ref();
        let ready = || role.candidates.iter().filter(|c| role.is_eligible(c, &self.state.streams));
        Some(match field {
            Field::LeaseRole => Value::Text(role.name.as_str()),
            Field::LeaseHeld => Value::Bool(held.is_some()),
            Field::LeaseExpired => Value::Bool(role.is_lapsed()),
            Field::LeaseVacant => Value::Bool(held.is_none()),
            Field::LeaseHolder => Value::Text(held?.label.as_str()),
            Field::LeaseToken => int(role.floor.0),
            Field::LeaseTtl => Value::Duration(held.map_or(role.ttl_ms, |lease| lease.ttl_ms)),
            Field::LeaseAge => self.since(held?.granted),
            Field::LeaseVacantFor => self.since(role.ended()?.stamp),
            Field::LeaseStandbys | Field::StandbyCount => int(role.candidates.len() as u64),
            Field::LeaseHandOverAsked => {
                Value::Bool(held.is_some_and(|lease| lease.asked.is_some()))
            }
            Field::StandbyReady => int(ready().count() as u64),
            Field::StandbyLag => {
                let lags = role.candidates.iter();
                let lags = lags.filter_map(|one| role.lag_events(one, &self.state.streams));
                int(lags.min()?)
            }
            _ => return None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "each function knows one root's fields")]
    fn of_worker(&self, worker: &'a Session, field: Field) -> Option<Value<'a>> {
        let held = || self.state.jobs.held_count(worker.id);
        let over = matches!(worker.state, WorkerState::Left | WorkerState::Lost);
        Some(match field {
            Field::WorkerName => Value::Text(worker.label.as_str()),
            Field::WorkerId => int(worker.id.0),
            Field::WorkerAgent => Value::Text(worker.agent.as_ref()?.as_str()),
            Field::WorkerPlace => Value::Text(worker.place.as_str()),
            Field::WorkerState => Value::Text(worker.state.as_str()),
            Field::WorkerLeaving => Value::Bool(worker.state == WorkerState::Draining),
            Field::WorkerHeldJobs => int(held()),
            Field::WorkerSlots => int(u64::from(worker.slots)),
            Field::WorkerFreeSlots if over => int(0),
            Field::WorkerFreeSlots => int(u64::from(worker.slots).saturating_sub(held())),
            Field::WorkerQueues => Value::List(&worker.queues),
            Field::WorkerAge => self.since(worker.opened),
            Field::WorkerDrainLeft => {
                let deadline = worker.drain.as_ref()?.deadline;
                Value::Duration(deadline.since(self.state.last.served))
            }
            _ => return None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "each function knows one root's fields")]
    fn of_queue(&self, queue: &'a Queue, field: Field) -> Option<Value<'a>> {
        let counts = self.state.jobs.counts(queue);
        Some(match field {
            Field::QueueName => Value::Text(queue.name.as_str()),
            Field::QueueDepth => int(counts.queued.saturating_add(counts.returned)),
            Field::QueueQueued => int(counts.queued),
            Field::QueueReturned => int(counts.returned),
            Field::QueueRunning => int(counts.running),
            Field::QueueScheduled => int(counts.scheduled),
            Field::QueueFailed => int(counts.failed),
            Field::QueueCompleted => int(counts.completed),
            Field::QueuePaused => Value::Bool(queue.paused.is_some()),
            Field::QueueGateClosed => Value::Bool(queue.gate.closed.is_some()),
            Field::QueueWorkers => int(self.state.sessions.servers(&queue.name)),
            Field::QueueOldestAge => self.since(self.state.jobs.oldest_waiting(queue.id)?),
            _ => return None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "each function knows one root's fields")]
    fn of_job(&self, job: &'a Job, field: Field) -> Option<Value<'a>> {
        Some(match field {
            Field::JobId => int(job.id.0),
            Field::JobQueue => Value::Text(self.state.jobs.queue_of(job).as_str()),
            Field::JobState => Value::Text(job.state.as_str()),
            Field::JobAttempts => int(u64::from(job.attempts)),
            Field::JobLosses => int(u64::from(job.losses)),
            Field::JobHandBacks => int(u64::from(job.hand_backs)),
            Field::JobPriority => Value::Int(i64::from(job.priority)),
            Field::JobHolder => Value::Text(self.worker?.label.as_str()),
            Field::JobAge => self.since(job.created),
            _ => return None,
        })
    }
}

fn int(number: u64) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
