//! The state at any position that can still be reached, in numbers, and its hash.

use std::collections::BTreeMap;

use clawhold_core::State;
use clawhold_core::answer::JobState;
use clawhold_core::units::Position;
use serde::Serialize;

use super::RecoveryError;
use super::history::History;
use crate::clock;

/// What was true at one position.
#[derive(Clone, Debug, Serialize)]
pub struct StateAt {
    /// The position.
    pub position: u64,
    /// The record that holds its entry; the last one of the snapshot when none was replayed.
    pub record: u64,
    /// When its entry was written, RFC 3339.
    pub at: String,
    /// The term.
    pub term: u64,
    /// The hash of the state, as `/v1/hash` of a server at this position says.
    pub hash: String,
    /// The roles.
    pub roles: Vec<RoleAt>,
    /// Live sessions.
    pub sessions: u64,
    /// Queues.
    pub queues: u64,
    /// Jobs by their state.
    pub jobs: BTreeMap<&'static str, u64>,
    /// The last event of each stream.
    pub streams: BTreeMap<String, u64>,
    /// Runs that had not ended.
    pub runs: u64,
    /// Alerts that were not over.
    pub alerts: u64,
    /// Whether automation was paused.
    pub automation_paused: bool,
}

/// A role as it was.
#[derive(Clone, Debug, Serialize)]
pub struct RoleAt {
    /// Its name.
    pub role: String,
    /// What people called its holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The latest token.
    pub token: u64,
}

impl StateAt {
    pub(super) fn of(state: &State, record: u64) -> Self {
        let roles = state.roles().list(None).map(|role| RoleAt {
            role: role.name.to_string(),
            holder: role.held.as_ref().map(|lease| lease.label.to_string()),
            token: role.floor.0,
        });
        let mut jobs = BTreeMap::new();
        for queue in state.jobs().queues(None) {
            let counts = state.jobs().counts(queue);
            for kind in JobState::ALL {
                *jobs.entry(kind.as_str()).or_default() += counts.of(kind);
            }
        }
        let streams = state.streams().list(None);
        let automation = state.automation();
        Self {
            position: state.last().position.0,
            record,
            at: clock::rfc3339(state.last().at),
            term: state.epoch().0,
            hash: state.hash(),
            roles: roles.collect(),
            sessions: state.sessions().list(None).count() as u64,
            queues: state.jobs().queues(None).count() as u64,
            jobs,
            streams: streams.map(|one| (one.name.to_string(), one.last().0)).collect(),
            runs: automation.runs().live().count() as u64,
            alerts: automation.alerts().live().count() as u64,
            automation_paused: automation.paused().is_some(),
        }
    }
}

/// Returns what was true at a position.
///
/// # Errors
/// [`RecoveryError`] when the store cannot be read, or with the range that can be reached.
pub fn state_at(store: &str, position: u64) -> Result<StateAt, RecoveryError> {
    let mut history = History::open(store)?;
    let last = history.head()?.last;
    let (base, first) = history.base_before(Position(position))?;
    let below = base.is_none();
    let Some(base) = base.or(history.bases()?.pop()) else {
        return Err(RecoveryError::NoBase { first: 0 });
    };
    let mut found =
        (base.state.last().position.0 == position).then(|| StateAt::of(&base.state, base.at.0));
    let mut around = (base.state.last().position.0, None);
    let mut replay = base.replay();
    history.replay(
        &mut replay,
        last,
        |state, replayed| {
            // After a restore's own entry numbering goes on further up.
            let (entry, now) = (replayed.stamp.position.0, state.last().position.0);
            if found.is_none() && (entry == position || now == position) {
                found = Some(StateAt::of(state, replayed.record.0));
            }
            if entry < position {
                around.0 = entry;
            } else if around.1.is_none() {
                around.1 = Some(entry);
            }
        },
        |_, _| Ok(()),
    )?;
    if let Some(found) = found.filter(|_| !below) {
        return Ok(found);
    }
    let (first, last) = (first.0, replay.state().last().position.0);
    match around.1.filter(|_| !below && position < last) {
        Some(after) => Err(RecoveryError::LeftOut { position, before: around.0, after }),
        None => Err(RecoveryError::OutOfReach { position, first, last }),
    }
}
