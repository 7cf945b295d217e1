//! The phrase table: which clauses ask for which operations.
//!
//! A row is a pattern and what it makes. A clause that two rows explain to different ends is an
//! error, never a guess. Purposes and manners stand in the row of the operation that they
//! explain; there is no pattern for "and whatever follows".

mod ask;
mod fact;
mod job;
mod lease;
mod work;

use alloc::vec::Vec;

use super::slot::Marks;
use crate::operation::Operation;

pub(super) use ask::{QUESTIONS, VIEWS};
pub(super) use fact::FACTS;

/// What a clause makes.
pub(super) type Make<T> = fn(Marks<'_>) -> Vec<T>;

/// A pattern and what it makes.
#[derive(Debug)]
pub(super) struct Row<T: 'static> {
    pub(super) make: Make<T>,
    pub(super) pattern: &'static str,
}

/// Returns the rows that change something, wait or tell somebody.
pub(super) fn orders() -> impl Iterator<Item = &'static Row<Operation>> {
    [lease::ROWS, work::ROWS, job::ROWS, ask::ROWS].into_iter().flatten()
}

/// Returns the phrases of the rows, each by its name.
pub(super) fn phrases() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    [lease::PHRASES, work::PHRASES, job::PHRASES, ask::PHRASES, fact::PHRASES].into_iter().flatten()
}

/// Sentences to suggest, each with words that come near it and that the table does not hold.
pub(super) const IDEAS: &[(&str, &str)] = &[
    (
        "Stop the worker from taking new work.",
        "quiesce fence isolate deregister unsubscribe drained shed dequeue",
    ),
    ("Let the worker take new work again.", "reactivate unfence uncordon reinstate rejoin"),
    (
        "Hand back its held jobs.",
        "relinquish surrender evict evacuate yield unclaim abandon vacate",
    ),
    (
        "Place every returned job.",
        "reschedule reroute rebalance reallocate rehouse resubmit spread",
    ),
    ("Admit new work.", "ungate unblock welcome intake"),
    ("Pause new work.", "gate defer postpone throttle queueing"),
    ("Promote the warm standby.", "elevate failover crown elect switchover"),
    ("Acquire the lease with a higher token.", "claim seize obtain lock grab"),
    ("Release the lease.", "unlock drop relinquish revoke expire"),
    ("Hand over leadership to the standby.", "step down abdicate demote switchover handoff"),
    ("Resume from the recorded position.", "rewind replay catch-up reprocess proceed"),
    ("Stop the worker at once.", "kill terminate shutdown shut crash decommission remove"),
    ("Pause the queue.", "stall"),
    ("Resume the queue.", "thaw unfreeze"),
    ("Drain the worker.", "wind decommission retire"),
    ("Retry the job.", "redo reattempt requeue"),
    ("Dead-letter the job.", "bury discard quarantine"),
    ("Cancel the job.", "abort kill drop"),
    ("Confirm each job has exactly one owner.", "uniquely single duplicate"),
    ("Confirm the queue owns each one.", "queued enqueued"),
    ("Confirm the worker holds nothing.", "empty idle"),
    ("Confirm the lease is not being renewed.", "lapsed heartbeat keepalive"),
    ("Confirm the previous leader has stopped acting.", "silent dead inactive quiet"),
    ("Show who holds the lease.", "leadership owner status"),
    ("Show the held jobs.", "claimed inflight in-flight"),
    ("Show the workers.", "fleet members"),
    ("Show the standby lag.", "delay behind replication"),
    ("Show the queue.", "depth backlog length"),
    ("Show the failed jobs.", "errors dead"),
    ("Show the alerts.", "incidents problems"),
    ("Show the last runs.", "history executions"),
];
