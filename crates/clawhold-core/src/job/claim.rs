//! Handing jobs out.
//!
//! What would be handed out is decided by `pick` alone, which changes nothing; the server asks it
//! before it writes a claim to the log.

use alloc::boxed::Box;
use alloc::collections::btree_set;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::ops::Bound;

use super::index::{QueueIndex, Rank};
use super::{Job, Jobs, Move, Run};
use crate::answer::{Answer, Claimed, JobState, Kind, Refusal, WorkerState};
use crate::command::{Claim, ReturnCause, Wanted};
use crate::limits;
use crate::queue::Queue;
use crate::request::check_range;
use crate::session::{Session, Sessions};
use crate::state::Step;
use crate::units::{ClaimNumber, JobId, SessionId, Stamp, Text};

/// Jobs of one queue that one claim passes over because their asker returned them a moment ago.
const PASSED_OVER_MAX: usize = 1_000;

impl Jobs {
    /// Hands out jobs to a worker that is not leaving.
    pub(crate) fn claim(
        &mut self,
        step: &mut Step,
        sessions: &Sessions,
        command: &Claim,
    ) -> Result<Answer, Refusal> {
        let session = sessions.prove(command.session)?;
        check_wanted(&command.wanted)?;
        check_worker(session)?;
        Ok(Answer::Claimed(self.hand_out(step, sessions, session, &command.wanted)))
    }

    /// Tells whether a claim at this moment would hand out anything.
    #[must_use]
    pub fn claimable(
        &self,
        sessions: &Sessions,
        session: SessionId,
        wanted: &Wanted,
        now: Stamp,
    ) -> bool {
        let Some(session) = sessions.live(session) else { return false };
        let ask = Ask { sessions, session, now };
        check_worker(session).is_ok() && !self.pick(&ask, wanted, 1).is_empty()
    }

    /// Hands out what is wanted and can be had; nothing to a worker that leaves.
    pub(super) fn hand_out(
        &mut self,
        step: &mut Step,
        sessions: &Sessions,
        session: &Session,
        wanted: &Wanted,
    ) -> Vec<Claimed> {
        if check_worker(session).is_err() {
            return Vec::new();
        }
        let ask = Ask { sessions, session, now: step.stamp };
        let picked = self.pick(&ask, wanted, usize::MAX);
        picked.into_iter().map(|id| self.start(step, session.id, id)).collect()
    }

    /// Returns the jobs that a claim gets, at most `count_max` of them. The queues are taken in
    /// turn, one job each, so that a long queue starves no other; who comes first rotates.
    fn pick(&self, ask: &Ask<'_>, wanted: &Wanted, count_max: usize) -> Vec<JobId> {
        let slots_free =
            u64::from(ask.session.slots).saturating_sub(self.held_count(ask.session.id));
        let count = u64::from(wanted.count_max).min(slots_free);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(count_max);
        let mut walks = self.walks(ask, wanted);
        let mut picked = Vec::new();
        while picked.len() < count && !walks.is_empty() {
            walks.retain_mut(|walk| {
                let next = if picked.len() < count { walk.next(self, ask) } else { None };
                picked.extend(next);
                next.is_some()
            });
        }
        picked
    }

    /// Returns a walk through each queue that is wanted, is there and hands jobs out.
    fn walks<'a>(&'a self, ask: &Ask<'_>, wanted: &Wanted) -> Vec<Walk<'a>> {
        let mut ids = Vec::new();
        for id in wanted.queues.iter().filter_map(|name| self.queue_id(name)) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if !ids.is_empty() {
            let first = ask.now.position.0 % ids.len() as u64;
            ids.rotate_left(usize::try_from(first).unwrap_or(0));
        }
        let queues = ids.iter().filter_map(|id| self.kept.queues.get(id));
        let open = queues.filter(|queue| queue.paused.is_none());
        open.map(|queue| Walk::new(queue, self.index.queue(queue.id), ask)).collect()
    }

    fn start(&mut self, step: &mut Step, session: SessionId, id: JobId) -> Claimed {
        let stamp = step.stamp;
        let queue = self.kept.jobs.get(id).and_then(|job| self.kept.queues.get(&job.queue));
        let progress_ms = queue.map_or(0, |queue| queue.settings.progress_ms);
        let (moved, claim) = self.change(id, |job| {
            let before = job.state;
            job.claim = ClaimNumber(job.claim.0.saturating_add(1));
            job.state = JobState::Running;
            job.since = stamp;
            job.run = Some(Box::new(Run {
                session,
                started: stamp,
                moved: stamp.served,
                progress_ms,
                timeout: job.rule().timeout_ms.map(|ms| stamp.served.after(ms)),
                cancel: None,
                percent: None,
                note: Text::default(),
            }));
            (Move { id, queue: job.queue, before, after: job.state }, job.claim)
        });
        self.note_move(step, moved);
        Claimed { job: id, claim }
    }
}

/// Who asks, and when.
#[derive(Debug)]
struct Ask<'a> {
    sessions: &'a Sessions,
    session: &'a Session,
    now: Stamp,
}

/// One queue on the way from its first ready job to its last.
struct Walk<'a> {
    index: &'a QueueIndex,
    from: Bound<Rank>,
    /// Jobs of the queue that may still start.
    room: u64,
    gate_closed: bool,
    /// Whether a job that the asker returned is left to others.
    avoids: bool,
    passed_over: usize,
    /// What came back and was not picked; its first one holds fresh jobs back.
    waiting: Peekable<btree_set::Iter<'a, Rank>>,
}

impl<'a> Walk<'a> {
    fn new(queue: &Queue, index: &'a QueueIndex, ask: &Ask<'_>) -> Self {
        let room = match queue.settings.running_max {
            0 => u64::MAX,
            max => u64::from(max).saturating_sub(index.counts.running),
        };
        Self {
            index,
            from: Bound::Unbounded,
            room,
            gate_closed: queue.gate.closed.is_some(),
            avoids: ask.sessions.serves_other(&queue.name, ask.session.id),
            passed_over: 0,
            waiting: index.returned.iter().peekable(),
        }
    }

    fn next(&mut self, jobs: &Jobs, ask: &Ask<'_>) -> Option<JobId> {
        while self.room > 0 && self.passed_over < PASSED_OVER_MAX {
            let rank = *self.index.ready.range((self.from, Bound::Unbounded)).next()?;
            if rank.fresh && self.held_back(rank) {
                self.from = Bound::Included(rank.next_priority());
                continue;
            }
            self.from = Bound::Excluded(rank);
            if self.avoids && jobs.job(rank.id).is_some_and(|job| ask.returned_lately(job)) {
                self.passed_over += 1;
                continue;
            }
            self.waiting.next_if(|waiting| **waiting == rank);
            self.room -= 1;
            return Some(rank.id);
        }
        None
    }

    /// Tells whether the gate holds a fresh job back: something of its own or a higher priority
    /// came back and is not placed.
    fn held_back(&mut self, rank: Rank) -> bool {
        let first = self.waiting.peek();
        self.gate_closed && first.is_some_and(|waiting| waiting.inverse <= rank.inverse)
    }
}

impl Ask<'_> {
    /// Tells whether the asker gave this job back a moment ago.
    fn returned_lately(&self, job: &Job) -> bool {
        let Some(returned) = job.returned().filter(|_| job.state == JobState::Returned) else {
            return false;
        };
        let gave_it_up = match returned.cause {
            ReturnCause::HandedBack | ReturnCause::DrainDeadline | ReturnCause::Operator => true,
            ReturnCause::SessionClosed | ReturnCause::SessionLost | ReturnCause::NeverReceived => {
                false
            }
        };
        let ago_ms = self.now.served.since(returned.stamp.served);
        gave_it_up && returned.session == self.session.id && ago_ms < limits::RETURN_AVOID_MS
    }
}

/// Refuses a claim that names no queue, too many of them, or no job at all.
pub(super) fn check_wanted(wanted: &Wanted) -> Result<(), Refusal> {
    let queues = wanted.queues.len() as u64;
    check_range("queues", queues, 1, limits::QUEUES_PER_CLAIM_MAX as u64)?;
    check_range("count_max", u64::from(wanted.count_max), 1, limits::ITEMS_MAX as u64)
}

fn check_worker(session: &Session) -> Result<(), Refusal> {
    if session.slots == 0 {
        let name = alloc::format!("{}", session.id).into();
        return Err(Refusal::NotFound { kind: Kind::Worker, name });
    }
    match session.state {
        WorkerState::Active => Ok(()),
        WorkerState::Draining | WorkerState::Drained => Err(Refusal::Draining),
        WorkerState::Left | WorkerState::Lost => Err(Refusal::WorkerState { state: session.state }),
    }
}
