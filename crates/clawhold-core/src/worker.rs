//! Workers: sessions with queues, and how they leave without losing a job.
//!
//! A drain is desired state: it stops intake at once, may be shortened and taken back, and ends by
//! its deadline. "Drained" is said only when nothing is held; whatever was taken back is fenced by
//! its next claim. What happens to a returned job is told in `job`.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::answer::{Answer, Kind, Refusal, WorkerState};
use crate::change::What;
use crate::command::{DrainWorker, ResumeWorker, ReturnCause, Settle, TakeBack};
use crate::limits;
use crate::request::check_range;
use crate::session::{Drain, Session, Sessions};
use crate::state::{State, Step};
use crate::units::{Name, Served, SessionId, Stamp};

impl State {
    /// Sends a worker home.
    pub(crate) fn drain_worker(
        &mut self,
        step: &mut Step,
        command: &DrainWorker,
    ) -> Result<Answer, Refusal> {
        check_range("deadline_ms", command.deadline_ms, 0, limits::DURATION_MS_MAX)?;
        let id = command.session;
        let state = self.sessions.worker(id)?.state;
        let deadline = step.stamp.served.after(command.deadline_ms);
        match state {
            WorkerState::Active => {
                let drain = Drain { deadline, reason: command.reason.clone(), asked: step.stamp };
                self.sessions.start_drain(step.stamp, id, drain);
                step.note(What::Worker { session: id, state: WorkerState::Draining });
            }
            WorkerState::Draining => self.sessions.shorten_drain(id, deadline),
            WorkerState::Drained => {}
            WorkerState::Left | WorkerState::Lost => return Err(Refusal::WorkerState { state }),
        }
        self.end_drains(step);
        self.say_drained(step, id);
        Ok(Answer::Draining { held: self.jobs.held_count(id), unserved: self.unserved(id) })
    }

    /// Gives a worker jobs again. What it returned is not pulled back.
    pub(crate) fn resume_worker(
        &mut self,
        step: &mut Step,
        command: &ResumeWorker,
    ) -> Result<Answer, Refusal> {
        let id = command.session;
        let state = self.sessions.worker(id)?.state;
        match state {
            WorkerState::Active => return Ok(Answer::Done),
            WorkerState::Draining | WorkerState::Drained => {}
            WorkerState::Left | WorkerState::Lost => return Err(Refusal::WorkerState { state }),
        }
        self.sessions.resume(step.stamp, id);
        step.note(What::Worker { session: id, state: WorkerState::Active });
        Ok(Answer::Done)
    }

    /// Ends claims; the worker may be drained by it.
    pub(crate) fn settle(&mut self, step: &mut Step, command: &Settle) -> Result<Answer, Refusal> {
        let answer = self.jobs.settle(step, &self.sessions, command)?;
        self.say_drained(step, command.session.id);
        Ok(answer)
    }

    /// Takes jobs from their holders; some worker may be drained by it.
    pub(crate) fn take_back(
        &mut self,
        step: &mut Step,
        command: &TakeBack,
    ) -> Result<Answer, Refusal> {
        let answer = self.jobs.take_back(step, command)?;
        self.say_all_drained(step);
        Ok(answer)
    }

    /// Takes back what is still held at the deadline of a drain.
    pub(crate) fn end_drains(&mut self, step: &mut Step) {
        for _ in 0..limits::DUE_PER_ENTRY_MAX {
            let first = self.sessions.drains.first().copied();
            let Some((_, id)) = first.filter(|(deadline, _)| *deadline <= step.stamp.served) else {
                return;
            };
            self.jobs.return_held(step, id, ReturnCause::DrainDeadline);
            assert!(self.jobs.held_count(id) == 0, "what is taken back is not held");
            self.say_drained(step, id);
        }
    }

    /// Returns the earliest deadline of a drain in force.
    pub(crate) fn next_drain(&self) -> Option<Served> {
        self.sessions.drains.first().map(|(deadline, _)| *deadline)
    }

    /// Says of every draining worker that holds nothing that it is drained, if this entry moved a
    /// job.
    pub(crate) fn say_all_drained(&mut self, step: &mut Step) {
        let moved = step.changes.iter().any(|change| matches!(change.what, What::Job { .. }));
        if !moved || self.sessions.drains.is_empty() {
            return;
        }
        let draining: Vec<SessionId> = self.sessions.drains.iter().map(|(_, id)| *id).collect();
        for id in draining {
            self.say_drained(step, id);
        }
    }

    /// Says that a worker is drained, if it drains and holds nothing.
    fn say_drained(&mut self, step: &mut Step, id: SessionId) {
        let session = self.sessions.live(id);
        let draining = session.is_some_and(|session| session.state == WorkerState::Draining);
        if draining && self.jobs.held_count(id) == 0 {
            self.sessions.end_drain(step.stamp, id);
            step.note(What::Worker { session: id, state: WorkerState::Drained });
        }
    }

    /// Returns the queues of a worker that no other worker serves.
    fn unserved(&self, id: SessionId) -> Vec<Name> {
        let queues = self.sessions.live(id).map_or(&[][..], |session| &session.queues);
        let unserved = queues.iter().filter(|queue| !self.sessions.serves_other(queue, id));
        unserved.cloned().collect()
    }
}

impl Sessions {
    /// Returns a live worker.
    fn worker(&self, id: SessionId) -> Result<&Session, Refusal> {
        if let Some(session) = self.live.get(&id).filter(|session| !session.queues.is_empty()) {
            return Ok(session);
        }
        let over = self.ended.iter().find(|session| session.id == id);
        let missing =
            Refusal::NotFound { kind: Kind::Worker, name: id.to_string().into_boxed_str() };
        let over = over.filter(|session| !session.queues.is_empty());
        Err(over.map_or(missing, |session| Refusal::WorkerState { state: session.state }))
    }

    fn start_drain(&mut self, stamp: Stamp, id: SessionId, drain: Drain) {
        self.drains.insert((drain.deadline, id));
        if let Some(queues) = self.enter(stamp, id, WorkerState::Draining, Some(drain)) {
            self.discount_server(&queues);
        }
    }

    fn shorten_drain(&mut self, id: SessionId, deadline: Served) {
        let drain = self.live.get_mut(&id).and_then(|session| session.drain.as_mut());
        let Some(drain) = drain.filter(|drain| deadline < drain.deadline) else { return };
        self.drains.remove(&(drain.deadline, id));
        self.drains.insert((deadline, id));
        drain.deadline = deadline;
    }

    fn end_drain(&mut self, stamp: Stamp, id: SessionId) {
        let drain = self.live.get(&id).and_then(|session| session.drain.clone());
        if let Some(drain) = &drain {
            self.drains.remove(&(drain.deadline, id));
        }
        self.enter(stamp, id, WorkerState::Drained, drain);
    }

    fn resume(&mut self, stamp: Stamp, id: SessionId) {
        self.end_drain(stamp, id);
        if let Some(queues) = self.enter(stamp, id, WorkerState::Active, None) {
            self.count_server(&queues);
        }
    }

    /// Enters a state and returns the queues of the worker.
    fn enter(
        &mut self,
        stamp: Stamp,
        id: SessionId,
        state: WorkerState,
        drain: Option<Drain>,
    ) -> Option<Vec<Name>> {
        let session = self.live.get_mut(&id)?;
        session.state = state;
        session.since = stamp;
        session.drain = drain;
        Some(session.queues.clone())
    }
}
