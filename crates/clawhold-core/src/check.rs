//! The invariants: what must be true of the whole state between two entries.
//!
//! Each noun knows its own; this asks them all. Tests and the simulator ask after every entry.

use alloc::format;
use alloc::string::String;

use crate::State;
use crate::answer::WorkerState;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{noun}: {broken}")]
pub struct Broken {
    /// Whose invariant it is.
    pub noun: &'static str,
    /// What does not hold, in words.
    pub broken: String,
}

/// Checks everything that must be true between two entries.
///
/// # Errors
/// [`Broken`] tells the first thing that is not.
pub fn check(state: &State) -> Result<(), Broken> {
    let position = state.last.position.0;
    let as_broken = |noun| move |broken| Broken { noun, broken };
    state.sessions.check().map_err(as_broken("sessions"))?;
    state.roles.check(&state.sessions).map_err(as_broken("roles"))?;
    state.jobs.check(&state.sessions).map_err(as_broken("jobs"))?;
    state.streams.check().map_err(as_broken("streams"))?;
    state.requests.check().map_err(as_broken("requests"))?;
    state.automation.runs.check().map_err(as_broken("runs"))?;
    check_drained(state).map_err(as_broken("workers"))?;
    check_issued(state, position).map_err(as_broken("numbers"))
}

/// A worker that is drained holds nothing.
fn check_drained(state: &State) -> Result<(), String> {
    for session in state.sessions.list(None) {
        let held = state.jobs.held_count(session.id);
        if session.state == WorkerState::Drained && held > 0 {
            return Err(format!("session {} is drained and holds {held} jobs", session.id));
        }
    }
    Ok(())
}

/// Nothing bears a number that the log has not reached.
fn check_issued(state: &State, position: u64) -> Result<(), String> {
    if let Some(session) = state.sessions.list(None).find(|session| session.id.0 > position) {
        return Err(format!("session {} lies beyond the log's end", session.id));
    }
    Ok(())
}
