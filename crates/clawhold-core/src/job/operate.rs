//! What an operator, or the end of a session, does to jobs.

use alloc::vec::Vec;

use super::{Job, Jobs};
use crate::answer::{Answer, JobState, Refusal};
use crate::change::What;
use crate::command::{CancelJobs, RetryJobs, ReturnCause, TakeBack, TakeBackJob};
use crate::limits;
use crate::request::check_range;
use crate::state::Step;
use crate::units::{JobId, Served, SessionId, Text};

impl Jobs {
    /// Cancels jobs: those that wait at once, those that run after a grace.
    pub(crate) fn cancel(
        &mut self,
        step: &mut Step,
        command: &CancelJobs,
    ) -> Result<Answer, Refusal> {
        check_items(command.jobs.len())?;
        check_range("grace_ms", command.grace_ms, 0, limits::DURATION_MS_MAX)?;
        let fenced = step.stamp.served.after(command.grace_ms);
        let jobs = command.jobs.iter();
        Ok(Answer::Jobs(jobs.map(|id| self.cancel_one(step, *id, fenced)).collect()))
    }

    /// Puts ended jobs back to the queue, and scheduled ones at once.
    pub(crate) fn retry(
        &mut self,
        step: &mut Step,
        command: &RetryJobs,
    ) -> Result<Answer, Refusal> {
        check_items(command.jobs.len())?;
        let jobs = command.jobs.iter();
        Ok(Answer::Jobs(jobs.map(|id| self.retry_one(step, *id)).collect()))
    }

    /// Takes running jobs from their holders and returns them.
    pub(crate) fn take_back(
        &mut self,
        step: &mut Step,
        command: &TakeBack,
    ) -> Result<Answer, Refusal> {
        check_items(command.jobs.len())?;
        let jobs = command.jobs.iter();
        let results = jobs.map(|one| self.take_back_one(step, *one, command.cause)).collect();
        Ok(Answer::Jobs(results))
    }

    /// Takes back every job that a session holds; returns how many there were.
    pub(crate) fn return_held(
        &mut self,
        step: &mut Step,
        session: SessionId,
        cause: ReturnCause,
    ) -> u64 {
        let held: Vec<JobId> = self.held(session).map(|job| job.id).collect();
        for id in &held {
            self.return_one(step, *id, cause);
        }
        held.len() as u64
    }

    /// Takes a waiting job out of its queue for good: a dead letter.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], or [`Refusal::JobState`] when it runs or has ended.
    pub(crate) fn bury(&mut self, step: &mut Step, id: JobId, why: &Text) -> Result<(), Refusal> {
        let job = self.find(id)?;
        match job.state {
            JobState::Scheduled | JobState::Queued | JobState::Returned => {}
            JobState::Failed => return Ok(()),
            JobState::Running | JobState::Completed | JobState::Cancelled => {
                return Err(wrong_state(job));
            }
        }
        let stamp = step.stamp;
        self.move_to(step, id, JobState::Failed, |job| job.add_error(stamp, why.clone()));
        Ok(())
    }

    fn cancel_one(&mut self, step: &mut Step, id: JobId, fenced: Served) -> Result<JobId, Refusal> {
        let job = self.find(id)?;
        match job.state {
            JobState::Scheduled | JobState::Queued | JobState::Returned => {
                self.move_to(step, id, JobState::Cancelled, |_| {});
                Ok(id)
            }
            JobState::Running if fenced <= step.stamp.served => {
                self.move_to(step, id, JobState::Cancelled, |_| {});
                Ok(id)
            }
            JobState::Running => {
                self.ask_cancel(step, id, fenced);
                Ok(id)
            }
            JobState::Completed | JobState::Failed | JobState::Cancelled => Err(wrong_state(job)),
        }
    }

    fn ask_cancel(&mut self, step: &mut Step, id: JobId, fenced: Served) {
        let queue = self.change(id, |job| {
            if let Some(run) = job.run.as_mut() {
                run.cancel = Some(run.cancel.map_or(fenced, |asked| asked.min(fenced)));
            }
            job.queue
        });
        let Some(queue) = self.kept.queues.get(&queue) else { return };
        step.note(What::Job { job: id, queue: queue.name.clone(), state: JobState::Running });
    }

    fn retry_one(&mut self, step: &mut Step, id: JobId) -> Result<JobId, Refusal> {
        let job = self.find(id)?;
        match job.state {
            JobState::Failed | JobState::Cancelled => self.can_revive(job)?,
            JobState::Scheduled => {}
            JobState::Queued | JobState::Returned | JobState::Running | JobState::Completed => {
                return Err(wrong_state(job));
            }
        }
        let anew = job.state.is_ended();
        let due = step.stamp.at;
        self.move_to(step, id, JobState::Queued, |job| {
            job.due = due;
            if anew {
                job.attempts = 0;
                job.losses = 0;
                job.hand_backs = 0;
            }
        });
        Ok(id)
    }

    /// Tells whether an ended job may live again: there is room, and its unique key is free.
    fn can_revive(&self, job: &Job) -> Result<(), Refusal> {
        let bearer = job.unique().and_then(|key| self.bearer(self.queue_of(job), key));
        if let Some(bearer) = bearer {
            return Err(Refusal::KeyConflict { job: bearer.id });
        }
        self.check_room_for_one(job.queue)
    }

    fn take_back_one(
        &mut self,
        step: &mut Step,
        wanted: TakeBackJob,
        cause: ReturnCause,
    ) -> Result<JobId, Refusal> {
        let job = self.find(wanted.job)?;
        if job.state != JobState::Running {
            return Err(wrong_state(job));
        }
        if let Some(presented) = wanted.claim.filter(|claim| *claim != job.claim) {
            return Err(Refusal::Superseded { job: job.id, presented, latest: job.claim });
        }
        self.return_one(step, wanted.job, cause);
        Ok(wanted.job)
    }

    fn return_one(&mut self, step: &mut Step, id: JobId, cause: ReturnCause) {
        self.give_back(step, id, cause, &Text::default());
        let leaves = match cause {
            ReturnCause::SessionClosed | ReturnCause::DrainDeadline => true,
            ReturnCause::HandedBack
            | ReturnCause::SessionLost
            | ReturnCause::NeverReceived
            | ReturnCause::Operator => false,
        };
        let job = self.job(id).filter(|job| leaves && job.state == JobState::Returned);
        if let Some(queue) = job.map(|job| job.queue) {
            self.close_gate_for_return(step, queue);
        }
    }
}

fn check_items(count: usize) -> Result<(), Refusal> {
    check_range("jobs", count as u64, 1, limits::ITEMS_MAX as u64)
}

fn wrong_state(job: &Job) -> Refusal {
    Refusal::JobState { job: job.id, state: job.state }
}
