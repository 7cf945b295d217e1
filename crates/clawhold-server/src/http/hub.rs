//! Telling those who wait: one task listens to every change and wakes whom it concerns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clawhold_core::change::{Change, What};
use clawhold_core::replica::Mode;
use clawhold_core::units::{Name, Position, SessionId};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::MissedTickBehavior;

use super::heard::Heard;
use super::recent::Recent;
use super::signal::Signals;
use super::waiters::Waiters;
use crate::driver::Handle;

/// How often everybody is looked at, for what becomes possible by time alone.
const SWEEP: Duration = Duration::from_millis(500);
/// Batches of changes taken in at one turn.
const BATCHES_MAX: usize = 64;

/// Everybody who waits.
#[derive(Debug, Default)]
pub(super) struct Hub {
    pub(super) claims: Waiters,
    pub(super) streams: Signals<Name>,
    pub(super) grants: Signals<(Name, SessionId)>,
    pub(super) recent: Recent,
    pub(super) heard: Heard,
}

/// What a turn has to look at.
#[derive(Debug, Default)]
struct Turn {
    queues: BTreeSet<Name>,
    sessions: BTreeSet<SessionId>,
    missed: bool,
}

impl Hub {
    /// Returns a hub and lets it listen until the server ends.
    pub(super) fn start(handle: Handle) -> Arc<Self> {
        let hub = Arc::new(Self::default());
        let changes = handle.changes();
        let listening = Arc::clone(&hub);
        tokio::spawn(async move {
            listening.listen(handle, changes).await;
            // Whoever still waits looks once more and is told that this server stops.
            listening.claims.wake_all();
            listening.streams.wake_all();
            listening.grants.wake_all();
        });
        hub
    }

    async fn listen(&self, handle: Handle, mut changes: Receiver<Arc<[Change]>>) {
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut standing = handle.standing();
        self.catch_up(&handle).await;
        loop {
            let mut turn = Turn::default();
            tokio::select! {
                batch = changes.recv() => match batch {
                    Ok(batch) => self.take(&batch, &mut turn),
                    Err(RecvError::Lagged(_)) => turn.missed = true,
                    Err(RecvError::Closed) => return,
                },
                _ = sweep.tick() => turn.queues = self.claims.queues(),
                ended = standing.wait_for(|standing| standing.mode == Mode::Stopped) => {
                    drop(ended);
                    return;
                }
            }
            for _ in 0..BATCHES_MAX {
                match changes.try_recv() {
                    Ok(batch) => self.take(&batch, &mut turn),
                    Err(TryRecvError::Lagged(_)) => turn.missed = true,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            self.wake(&handle, turn).await;
        }
    }

    fn take(&self, batch: &Arc<[Change]>, turn: &mut Turn) {
        self.recent.keep(batch);
        for change in batch.iter() {
            match &change.what {
                What::RoleGranted { role, session, .. } => {
                    self.grants.wake(&(role.clone(), *session));
                }
                What::Stream { stream, .. } => self.streams.wake(stream),
                What::Job { queue, .. } | What::Queue { queue } => {
                    turn.queues.insert(queue.clone());
                }
                What::Worker { session, .. } | What::Session { session } => {
                    turn.sessions.insert(*session);
                }
                What::Server
                | What::Restored { .. }
                | What::RoleVacant { .. }
                | What::Role { .. }
                | What::Recorded { .. }
                | What::Definition { .. }
                | What::Run { .. }
                | What::Alert { .. }
                | What::Message { .. }
                | What::Automation => {}
            }
        }
    }

    async fn wake(&self, handle: &Handle, mut turn: Turn) {
        if turn.missed {
            self.catch_up(handle).await;
            self.streams.wake_all();
            self.grants.wake_all();
            turn.queues = self.claims.queues();
        }
        self.claims.wake_sessions(&turn.sessions);
        let candidates = self.claims.candidates(&turn.queues);
        if candidates.is_empty() {
            return;
        }
        // A server that takes no reads at the moment is asked again at the next sweep.
        if let Ok(ready) = handle.read(move |replica| candidates.ready(replica)).await {
            self.claims.wake(&ready);
        }
    }

    /// Notes that changes up to the present were missed.
    async fn catch_up(&self, handle: &Handle) {
        let position = handle.read(|replica| replica.state().last().position).await;
        self.recent.skip_to(position.unwrap_or(Position(0)));
    }
}
