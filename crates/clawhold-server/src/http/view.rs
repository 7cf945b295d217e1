//! Core to wire, where several nouns show the same: times, beats, states.

use clawhold_api::job::JobState as WireJobState;
use clawhold_api::queue::JobCounts;
use clawhold_api::worker::WorkerState as WireWorkerState;
use clawhold_core::answer::{JobState, WorkerState};
use clawhold_core::command::Successor;
use clawhold_core::job::Counts;
use clawhold_core::replica::Replica;
use clawhold_core::role::AskedHandOver;
use clawhold_core::units::{Served, SessionId, Stamp};

use crate::clock;

/// Returns a moment as people and programs read it.
pub(super) fn moment(stamp: Stamp) -> String {
    clock::rfc3339(stamp.at)
}

/// Returns the milliseconds until a moment of time served.
pub(super) fn left_ms(replica: &Replica, until: Served) -> u64 {
    until.since(replica.served())
}

/// Returns the milliseconds since a session's last beat, if it was heard of.
pub(super) fn silent_ms(replica: &Replica, session: SessionId) -> Option<u64> {
    let report = replica.beats().report(session)?;
    Some(replica.served().since(report.heard))
}

/// Returns a hand-over that was asked for.
pub(super) fn asked(replica: &Replica, asked: &AskedHandOver) -> clawhold_api::session::Asked {
    clawhold_api::session::Asked { to: successor(asked.to), left_ms: left_ms(replica, asked.until) }
}

/// Returns the session that is named as successor, if one is.
pub(super) fn successor(to: Successor) -> Option<u64> {
    match to {
        Successor::MostCaughtUp => None,
        Successor::Session(session) => Some(session.0),
    }
}

/// Returns a worker's state.
pub(super) fn worker_state(state: WorkerState) -> WireWorkerState {
    match state {
        WorkerState::Active => WireWorkerState::Active,
        WorkerState::Draining => WireWorkerState::Draining,
        WorkerState::Drained => WireWorkerState::Drained,
        WorkerState::Left => WireWorkerState::Left,
        WorkerState::Lost => WireWorkerState::Lost,
    }
}

/// Returns a job's state.
pub(super) fn job_state(state: JobState) -> WireJobState {
    match state {
        JobState::Scheduled => WireJobState::Scheduled,
        JobState::Queued => WireJobState::Queued,
        JobState::Returned => WireJobState::Returned,
        JobState::Running => WireJobState::Running,
        JobState::Completed => WireJobState::Completed,
        JobState::Failed => WireJobState::Failed,
        JobState::Cancelled => WireJobState::Cancelled,
    }
}

/// Returns a wire state of jobs as the core knows it.
pub(super) fn core_job_state(state: WireJobState) -> JobState {
    match state {
        WireJobState::Scheduled => JobState::Scheduled,
        WireJobState::Queued => JobState::Queued,
        WireJobState::Returned => JobState::Returned,
        WireJobState::Running => JobState::Running,
        WireJobState::Completed => JobState::Completed,
        WireJobState::Failed => JobState::Failed,
        WireJobState::Cancelled => JobState::Cancelled,
    }
}

/// Returns jobs in numbers.
pub(super) fn counts(counts: Counts) -> JobCounts {
    JobCounts {
        scheduled: counts.scheduled,
        queued: counts.queued,
        returned: counts.returned,
        running: counts.running,
        completed: counts.completed,
        failed: counts.failed,
        cancelled: counts.cancelled,
    }
}

/// Adds numbers of jobs up.
pub(super) fn add(sum: &mut JobCounts, more: Counts) {
    sum.scheduled = sum.scheduled.saturating_add(more.scheduled);
    sum.queued = sum.queued.saturating_add(more.queued);
    sum.returned = sum.returned.saturating_add(more.returned);
    sum.running = sum.running.saturating_add(more.running);
    sum.completed = sum.completed.saturating_add(more.completed);
    sum.failed = sum.failed.saturating_add(more.failed);
    sum.cancelled = sum.cancelled.saturating_add(more.cancelled);
}
