//! The gate of a queue: while it is closed, a fresh job waits behind the jobs of its own or a
//! higher priority that came back and are not placed yet.
//!
//! It closes when a job comes back from a worker that leaves, or when an operator says so. It
//! opens when nothing that came back waits any more, when it is told to, or at its bound, so that
//! one job that nobody can take does not stop a queue.

use minicbor::{Decode, Encode};

use super::QueueId;
use crate::answer::{Answer, Refusal};
use crate::command::{CloseGate, OpenGate};
use crate::job::Jobs;
use crate::limits;
use crate::request::check_range;
use crate::state::Step;
use crate::units::{Served, Stamp};

/// The gate of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Gate {
    /// Since when and until when it is closed; `None` while it is open.
    #[n(0)]
    pub closed: Option<Closed>,
    /// Jobs that had come back and were still not placed when the gate last reached its bound;
    /// 0 once every one of the queue is placed.
    #[n(1)]
    pub unplaced: u64,
}

/// A closed gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Closed {
    /// When it closed.
    #[n(0)]
    pub since: Stamp,
    /// When it opens by itself.
    #[n(1)]
    pub until: Served,
}

impl Jobs {
    /// Closes the gate of a queue, whether or not it was closed before.
    pub(crate) fn close_gate(
        &mut self,
        step: &mut Step,
        command: &CloseGate,
    ) -> Result<Answer, Refusal> {
        check_range("within_ms", command.within_ms, 1, limits::DURATION_MS_MAX)?;
        let id = self.find_queue(&command.queue)?;
        let since = step.stamp;
        let until = since.served.after(command.within_ms);
        self.edit_queue(step, id, |queue| queue.gate.closed = Some(Closed { since, until }));
        Ok(Answer::Done)
    }

    /// Opens the gate of a queue.
    pub(crate) fn open_gate(
        &mut self,
        step: &mut Step,
        command: &OpenGate,
    ) -> Result<Answer, Refusal> {
        let id = self.find_queue(&command.queue)?;
        self.edit_queue(step, id, |queue| queue.gate.closed = None);
        Ok(Answer::Done)
    }

    /// Closes the gate of a queue to which a leaving worker returned a job. The bound of a gate
    /// that is closed already stays, or a rolling restart would keep it closed for ever.
    pub(crate) fn close_gate_for_return(&mut self, step: &mut Step, id: QueueId) {
        if self.kept.queues.get(&id).is_none_or(|queue| queue.gate.closed.is_some()) {
            return;
        }
        let since = step.stamp;
        let until = since.served.after(limits::GATE_MS_DEFAULT);
        self.edit_queue(step, id, |queue| queue.gate.closed = Some(Closed { since, until }));
    }

    /// Opens the gate of a queue from which the last returned job went.
    pub(crate) fn open_gate_if_placed(&mut self, step: &mut Step, id: QueueId) {
        if self.index.queue(id).counts.returned > 0 {
            return;
        }
        if self.kept.queues.get(&id).is_none_or(|queue| queue.gate == Gate::default()) {
            return;
        }
        self.edit_queue(step, id, |queue| queue.gate = Gate::default());
    }

    /// Opens a gate that has reached its bound, and remembers what it waited for in vain.
    pub(crate) fn open_gate_at_bound(&mut self, step: &mut Step, id: QueueId) {
        let unplaced = self.index.queue(id).counts.returned;
        self.edit_queue(step, id, |queue| queue.gate = Gate { closed: None, unplaced });
    }
}
