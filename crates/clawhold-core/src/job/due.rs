//! What happens to jobs and queues because its time has come.

use alloc::format;
use alloc::vec::Vec;

use super::{Job, Jobs};
use crate::answer::JobState;
use crate::limits;
use crate::queue::QueueId;
use crate::state::{NextDue, Step};
use crate::units::{JobId, Text};

impl Jobs {
    /// Lets happen what is due, at most `DUE_PER_ENTRY_MAX` things; the rest follows with the next
    /// entry.
    pub(crate) fn fall_due(&mut self, step: &mut Step) {
        let mut left = limits::DUE_PER_ENTRY_MAX;
        self.end_runs(step, &mut left);
        self.open_gates(step, &mut left);
        self.queue_scheduled(step, &mut left);
        self.purge_due(step, &mut left);
    }

    /// Returns the first moments at which something is due.
    pub(crate) fn next_due(&self) -> NextDue {
        let index = &self.index;
        let scheduled = index.scheduled.first().map(|(at, _)| *at);
        let purge = index.purges.first().map(|(at, _)| *at);
        let deadline = index.deadlines.first().map(|(served, _)| *served);
        let gate = index.gates.first().map(|(served, _)| *served);
        NextDue {
            at: [scheduled, purge].into_iter().flatten().min(),
            served: [deadline, gate].into_iter().flatten().min(),
        }
    }

    fn end_runs(&mut self, step: &mut Step, left: &mut usize) {
        let now = step.stamp.served;
        let due = self.index.deadlines.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<JobId> = due.take(*left).map(|(_, job)| *job).collect();
        *left -= due.len();
        for id in due {
            self.end_run(step, id);
        }
    }

    /// Ends a run whose deadline has passed: cancelled, or a failed attempt. The claim is void.
    fn end_run(&mut self, step: &mut Step, id: JobId) {
        let Some(job) = self.job(id) else { return };
        if job.cancel_asked() {
            self.move_to(step, id, JobState::Cancelled, |_| {});
            return;
        }
        let text = overdue(job, step);
        self.fail_run(step, id, Text::cut(&text), None);
    }

    fn open_gates(&mut self, step: &mut Step, left: &mut usize) {
        let now = step.stamp.served;
        let due = self.index.gates.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<QueueId> = due.take(*left).map(|(_, queue)| *queue).collect();
        *left -= due.len();
        for id in due {
            self.open_gate_at_bound(step, id);
        }
    }

    fn queue_scheduled(&mut self, step: &mut Step, left: &mut usize) {
        let now = step.stamp.at;
        let due = self.index.scheduled.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<JobId> = due.take(*left).map(|(_, job)| *job).collect();
        *left -= due.len();
        for id in due {
            self.move_to(step, id, JobState::Queued, |_| {});
        }
    }

    fn purge_due(&mut self, step: &mut Step, left: &mut usize) {
        while *left > 0 {
            let Some((_, id)) = self.index.purges.first().filter(|(at, _)| *at <= step.stamp.at)
            else {
                break;
            };
            let id = *id;
            while *left > 0 && self.purge_oldest(step, id) {
                *left -= 1;
            }
            if let Some(queue) = self.kept.queues.get(&id) {
                self.index.retime(id, queue);
            }
        }
    }

    /// Lets the oldest ended job of a queue go, if it is one too many or has been kept long enough.
    fn purge_oldest(&mut self, step: &Step, id: QueueId) -> bool {
        let Some(queue) = self.kept.queues.get(&id) else { return false };
        let beyond = self.index.oldest_beyond(id, queue.settings.retain_count);
        let oldest = beyond.or_else(|| self.index.oldest_before(id, queue, step.stamp.at));
        if let Some(job) = oldest {
            self.purge(job);
        }
        oldest.is_some()
    }
}

/// Tells which deadline of its run a job has passed.
fn overdue(job: &Job, step: &Step) -> alloc::string::String {
    let timeout = job.run.as_ref().and_then(|run| run.timeout);
    match (timeout.is_some_and(|timeout| timeout <= step.stamp.served), &job.run) {
        (true, _) => format!("timed out after {} ms", job.rule().timeout_ms.unwrap_or(0)),
        (false, Some(run)) => format!("no progress for {} ms", run.progress_ms),
        (false, None) => "its run is over".into(),
    }
}
