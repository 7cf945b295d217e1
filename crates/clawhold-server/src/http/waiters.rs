//! Claims that wait for a job, first come, first woken.
//!
//! When a queue changes, as many of those who wait for it are woken as there are jobs for them,
//! and only those whose claim would get one at that moment. So one job does not wake a thousand
//! pollers, and a claim that would come back empty is not logged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use clawhold_core::command::Wanted;
use clawhold_core::replica::Replica;
use clawhold_core::units::{Name, SessionId, Stamp};
use tokio::sync::Notify;

/// Those looked at for one queue at one turn.
const LOOKED_AT_MAX: usize = 1_000;

/// All claims that wait.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    inner: Arc<Mutex<Line>>,
}

#[derive(Debug, Default)]
struct Line {
    last: u64,
    by_ticket: BTreeMap<u64, Waiter>,
    by_queue: BTreeMap<Name, BTreeSet<u64>>,
}

#[derive(Clone, Debug)]
struct Waiter {
    session: SessionId,
    wanted: Wanted,
    wake: Arc<Notify>,
    /// Whether it was woken and has not said since that it waits again.
    woken: bool,
}

/// One claim that waits. It keeps its place until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    ticket: u64,
    wake: Arc<Notify>,
    inner: Arc<Mutex<Line>>,
}

/// Those who wait for some queues, in the order they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    waiting: BTreeMap<u64, (SessionId, Wanted)>,
    /// Jobs wanted by those who were woken before and have not got theirs yet.
    promised: BTreeMap<Name, u64>,
}

impl Line {
    /// Wakes the first in line for each of these queues, but for one that leaves.
    fn wake_next(&mut self, wanted: &Wanted, leaving: u64) {
        for queue in &wanted.queues {
            let tickets = self.by_queue.get(queue).into_iter().flatten();
            let others = tickets.copied().filter(|ticket| *ticket != leaving);
            let asleep = |ticket: &u64| self.by_ticket.get(ticket).is_some_and(|w| !w.woken);
            let Some(next) = others.take(LOOKED_AT_MAX).find(asleep) else { continue };
            if let Some(waiter) = self.by_ticket.get_mut(&next) {
                waiter.woken = true;
                waiter.wake.notify_one();
            }
        }
    }
}

impl Waiters {
    /// Puts a claim in line.
    pub(super) fn enlist(&self, session: SessionId, wanted: Wanted) -> Place {
        let mut line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        line.last += 1;
        let ticket = line.last;
        let wake = Arc::new(Notify::new());
        for queue in &wanted.queues {
            line.by_queue.entry(queue.clone()).or_default().insert(ticket);
        }
        let waiter = Waiter { session, wanted, wake: Arc::clone(&wake), woken: false };
        line.by_ticket.insert(ticket, waiter);
        Place { ticket, wake, inner: Arc::clone(&self.inner) }
    }

    /// Returns every queue that somebody waits for.
    pub(super) fn queues(&self) -> BTreeSet<Name> {
        let line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        line.by_queue.keys().cloned().collect()
    }

    /// Returns those who wait for these queues.
    pub(super) fn candidates(&self, queues: &BTreeSet<Name>) -> Candidates {
        let line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut candidates = Candidates::default();
        for queue in queues {
            let tickets = line.by_queue.get(queue).into_iter().flatten();
            let waiters = tickets.filter_map(|ticket| Some((ticket, line.by_ticket.get(ticket)?)));
            for (ticket, waiter) in waiters.take(LOOKED_AT_MAX) {
                if waiter.woken {
                    let promised = candidates.promised.entry(queue.clone()).or_default();
                    *promised = promised.saturating_add(u64::from(waiter.wanted.count_max));
                } else {
                    let entry = (waiter.session, waiter.wanted.clone());
                    candidates.waiting.insert(*ticket, entry);
                }
            }
        }
        candidates
    }

    /// Wakes those with these tickets.
    pub(super) fn wake(&self, tickets: &[u64]) {
        let mut line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for ticket in tickets {
            if let Some(waiter) = line.by_ticket.get_mut(ticket) {
                waiter.woken = true;
                waiter.wake.notify_one();
            }
        }
    }

    /// Wakes everybody, whatever there is for them: nothing more will come from here.
    pub(super) fn wake_all(&self) {
        let line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        line.by_ticket.values().for_each(|waiter| waiter.wake.notify_one());
    }

    /// Wakes those who wait for these sessions, whatever there is for them: their session ended
    /// or leaves.
    pub(super) fn wake_sessions(&self, sessions: &BTreeSet<SessionId>) {
        if sessions.is_empty() {
            return;
        }
        let line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for waiter in line.by_ticket.values() {
            if sessions.contains(&waiter.session) {
                waiter.wake.notify_one();
            }
        }
    }
}

impl Candidates {
    /// Tells whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the tickets of those who would get a job, as many as there are jobs.
    pub(super) fn ready(&self, replica: &Replica) -> Vec<u64> {
        let jobs = replica.state().jobs();
        let mut left = BTreeMap::new();
        let mut ready = Vec::new();
        for (ticket, (session, wanted)) in &self.waiting {
            let queues = wanted.queues.iter();
            let waiting_jobs = |name: &Name| {
                let counts = jobs.queue(name).map(|queue| jobs.counts(queue));
                let there =
                    counts.map_or(0, |counts| counts.queued.saturating_add(counts.returned));
                there.saturating_sub(self.promised.get(name).copied().unwrap_or(0))
            };
            for queue in queues.clone() {
                left.entry(queue).or_insert_with(|| waiting_jobs(queue));
            }
            let offered = |queue: &&Name| left.get(*queue).is_some_and(|left| *left > 0);
            if queues.clone().find(offered).is_none() || !claimable(replica, *session, wanted) {
                continue;
            }
            ready.push(*ticket);
            let mut wants = u64::from(wanted.count_max);
            for queue in queues {
                let left = left.entry(queue).or_default();
                let taken = wants.min(*left);
                *left -= taken;
                wants -= taken;
            }
        }
        ready
    }
}

/// Tells whether a claim at this moment would get a job.
pub(super) fn claimable(replica: &Replica, session: SessionId, wanted: &Wanted) -> bool {
    let state = replica.state();
    let now = Stamp { served: replica.served(), ..state.last() };
    state.jobs().claimable(state.sessions(), session, wanted, now)
}

impl Place {
    /// Says that the claim waits again, then waits until it is woken.
    pub(super) async fn woken(&self) {
        {
            let mut line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiter) = line.by_ticket.get_mut(&self.ticket) {
                waiter.woken = false;
            }
        }
        self.wake.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiter) = line.by_ticket.remove(&self.ticket) else { return };
        // Whoever goes away after it was woken leaves the job to the next in line.
        if waiter.woken {
            line.wake_next(&waiter.wanted, self.ticket);
        }
        for queue in &waiter.wanted.queues {
            let Some(tickets) = line.by_queue.get_mut(queue) else { continue };
            tickets.remove(&self.ticket);
            if tickets.is_empty() {
                line.by_queue.remove(queue);
            }
        }
    }
}
