//! What a session believes to hold: leases, jobs, how far it has come, what it waits for.
//!
//! The beats report it and carry back what the server says; whoever owns a part of it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clawhold_api::SessionKey;
use clawhold_api::session::{Beat, BeatReply, Consumed, Hold as HoldKey, LeadClaim, OpenedSession};
use tokio::sync::{Notify, watch};

use super::{DrainOrder, SessionEnd};
use crate::clock::{Clock, deadline_ms};
use crate::job::StopReason;
use crate::lease::{Ending, Lease};

/// One job that is held.
#[derive(Debug)]
pub(crate) struct Hold {
    lost: watch::Sender<Option<StopReason>>,
}

impl Hold {
    pub(crate) fn watch(&self) -> watch::Receiver<Option<StopReason>> {
        self.lost.subscribe()
    }

    pub(crate) fn lost(&self) -> Option<StopReason> {
        *self.lost.borrow()
    }

    /// Tells the handler to stop. A graver reason goes before one that left the job to it.
    pub(crate) fn lose(&self, lost: StopReason) {
        self.lost.send_if_modified(|known| {
            let is_news = known.is_none_or(|known| !known.is_lost() && lost.is_lost());
            if is_news {
                *known = Some(lost);
            }
            is_news
        });
    }
}

/// A role as it was granted, before a beat confirmed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) token: u64,
    pub(crate) ttl_ms: u64,
    /// The recorded position, when it was told with the grant.
    pub(crate) position: Option<u64>,
}

/// Something to tell the server that nobody waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Errand {
    /// Give up a role that nobody here wants or that was dropped.
    Release(String, u64),
    /// Stop waiting for a role.
    Withdraw(String),
}

/// What a session believes.
#[derive(Debug)]
pub(crate) struct Belief {
    pub(crate) key: SessionKey,
    pub(crate) id: u64,
    pub(crate) ttl_ms: u64,
    pub(crate) clock: Clock,
    /// Until when the session is certainly alive. Never falls.
    deadline_ms: AtomicU64,
    parts: Mutex<Parts>,
    drain: watch::Sender<Option<DrainOrder>>,
    end: watch::Sender<Option<SessionEnd>>,
    closing: watch::Sender<bool>,
    pub(super) kicked: Notify,
}

#[derive(Debug, Default)]
struct Parts {
    leases: BTreeMap<String, Arc<Lease>>,
    interests: BTreeMap<String, watch::Sender<Option<Grant>>>,
    holds: BTreeMap<HoldKey, Arc<Hold>>,
    consumed: BTreeMap<String, u64>,
    errands: BTreeSet<Errand>,
}

impl Belief {
    pub(super) fn new(opened: &OpenedSession, sent_ms: u64, clock: Clock) -> Self {
        let deadline_ms = deadline_ms(sent_ms, opened.ttl_ms, opened.ttl_ms);
        Self {
            key: opened.session.clone(),
            id: opened.id,
            ttl_ms: opened.ttl_ms,
            clock,
            deadline_ms: AtomicU64::new(deadline_ms),
            parts: Mutex::default(),
            drain: watch::Sender::new(None),
            end: watch::Sender::new(None),
            closing: watch::Sender::new(false),
            kicked: Notify::new(),
        }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        // No code that may panic runs while this is held, so what is inside is whole.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn left(&self) -> Duration {
        self.clock.left(self.deadline_ms.load(Ordering::SeqCst))
    }

    pub(super) fn end(&self) -> Option<SessionEnd> {
        self.end.borrow().clone()
    }

    pub(crate) async fn over(&self) -> SessionEnd {
        let mut end = self.end.subscribe();
        let ended = end.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| end.clone()).unwrap_or(SessionEnd::Closed)
    }

    pub(super) fn drain(&self) -> watch::Receiver<Option<DrainOrder>> {
        self.drain.subscribe()
    }

    pub(crate) fn kick(&self) {
        self.kicked.notify_one();
    }

    pub(super) fn close(&self) {
        self.closing.send_replace(true);
        self.kick();
    }

    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    pub(super) fn consume(&self, role: &str, through: u64) {
        let mut parts = self.parts();
        let consumed = parts.consumed.entry(role.to_owned()).or_default();
        *consumed = through.max(*consumed);
    }

    /// Reports nothing about the stream of this role any more.
    pub(crate) fn forget_consumed(&self, role: &str) {
        self.parts().consumed.remove(role);
    }

    /// Holds a job and reports it with each beat from now on.
    pub(crate) fn hold(&self, key: HoldKey) -> Arc<Hold> {
        let hold = Arc::new(Hold { lost: watch::Sender::new(None) });
        self.parts().holds.insert(key, hold.clone());
        // In this order, so that either this or `finish` sees the other.
        if self.end().is_some() {
            hold.lose(StopReason::SessionOver);
        }
        hold
    }

    /// Reports a job no more.
    pub(crate) fn let_go(&self, key: HoldKey) {
        self.parts().holds.remove(&key);
    }

    /// Returns how often a beat is due.
    pub(super) fn interval(&self) -> Duration {
        let parts = self.parts();
        let leases = parts.leases.values().map(|lease| lease.ttl_ms);
        let ttl_ms = leases.fold(self.ttl_ms, u64::min);
        Duration::from_millis((ttl_ms / 3).max(1))
    }

    /// Returns the beat that reports all this.
    pub(super) fn beat(&self) -> Beat {
        let parts = self.parts();
        let lead = |lease: &Arc<Lease>| LeadClaim {
            role: lease.role.clone(),
            token: lease.token,
            suspended: lease.check().is_err(),
        };
        let consumed =
            |(role, through): (&String, &u64)| Consumed { role: role.clone(), through: *through };
        Beat {
            session: self.key.clone(),
            leads: parts.leases.values().map(lead).collect(),
            holds: parts.holds.keys().copied().collect(),
            consumed: parts.consumed.iter().map(consumed).collect(),
        }
    }

    /// Takes in the answer to a beat that was sent at `sent_ms`.
    pub(super) fn hear(&self, sent_ms: u64, reply: &BeatReply) {
        let deadline_ms = deadline_ms(sent_ms, reply.valid_ms, self.ttl_ms);
        self.deadline_ms.fetch_max(deadline_ms, Ordering::SeqCst);
        let mut parts = self.parts();
        for lead in &reply.leads {
            if let Some(lease) = parts.leases.get(&lead.role) {
                lease.hear(sent_ms, reply.valid_ms, lead);
            }
        }
        parts.leases.retain(|_, lease| !lease.is_over());
        for key in &reply.superseded {
            if let Some(hold) = parts.holds.get(key) {
                hold.lose(StopReason::Superseded);
            }
        }
        for key in &reply.cancelled {
            if let Some(hold) = parts.holds.get(key) {
                hold.lose(StopReason::Cancelled);
            }
        }
        for granted in &reply.granted {
            let grant = Grant { token: granted.token, ttl_ms: granted.ttl_ms, position: None };
            parts.take_grant(&granted.role, grant);
        }
        let has_errands = !parts.errands.is_empty();
        drop(parts);
        self.hear_drain(sent_ms, reply);
        if has_errands {
            self.kick();
        }
    }

    fn hear_drain(&self, sent_ms: u64, reply: &BeatReply) {
        let order = reply.drain.as_ref().map(|drain| DrainOrder {
            deadline_ms: sent_ms.saturating_add(drain.left_ms),
            reason: drain.reason.clone(),
        });
        self.drain.send_if_modified(|known| {
            let is_same = match (&*known, &order) {
                // The same drain, told again with another travel time.
                (Some(known), Some(order)) => {
                    known.reason == order.reason && known.deadline_ms <= order.deadline_ms
                }
                (known, order) => known.is_none() && order.is_none(),
            };
            if !is_same {
                known.clone_from(&order);
            }
            !is_same
        });
    }

    /// Notes that a beat sent at `sent_ms` may have been heard and was not answered.
    pub(super) fn note_silence(&self, sent_ms: u64) {
        let mut parts = self.parts();
        let given_up: Vec<Errand> = parts
            .leases
            .values()
            .filter(|lease| lease.note_silence(sent_ms))
            .map(|lease| Errand::Release(lease.role.clone(), lease.token))
            .collect();
        parts.leases.retain(|_, lease| !lease.is_over());
        parts.errands.extend(given_up);
    }

    /// Ends everything that the session held.
    pub(super) fn finish(&self, end: SessionEnd) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            if is_first {
                *known = Some(end);
            }
            is_first
        });
        let mut parts = self.parts();
        for lease in std::mem::take(&mut parts.leases).into_values() {
            lease.end(Ending::SessionOver);
        }
        for hold in parts.holds.values() {
            hold.lose(StopReason::SessionOver);
        }
        parts.interests.clear();
        parts.errands.clear();
    }

    /// Returns what is to be told to the server, once.
    pub(super) fn take_errands(&self) -> BTreeSet<Errand> {
        std::mem::take(&mut self.parts().errands)
    }

    /// Forgets a lease that is over.
    pub(crate) fn forget_lease(&self, lease: &Arc<Lease>) {
        let mut parts = self.parts();
        if parts.leases.get(&lease.role).is_some_and(|known| Arc::ptr_eq(known, lease)) {
            parts.leases.remove(&lease.role);
        }
    }

    /// Gives up a lease that its owner dropped, once.
    pub(crate) fn drop_lease(&self, lease: &Arc<Lease>) {
        let is_over = lease.is_over();
        lease.leave();
        lease.end(Ending::Released);
        self.forget_lease(lease);
        if !is_over {
            self.run_errand(Errand::Release(lease.role.clone(), lease.token));
        }
    }

    fn run_errand(&self, errand: Errand) {
        self.parts().errands.insert(errand);
        self.kick();
    }
}

impl Parts {
    fn take_grant(&mut self, role: &str, grant: Grant) {
        if self.leases.get(role).is_some_and(|lease| lease.token == grant.token) {
            return;
        }
        if let Some(interest) = self.interests.get(role) {
            interest.send_replace(Some(grant));
            return;
        }
        // Nobody here waits for it: what was granted to a call that was dropped is given back.
        self.errands.insert(Errand::Release(role.to_owned(), grant.token));
    }
}

/// Somebody in this process waits for a role. Dropped without a grant, the session leaves the line.
#[derive(Debug)]
pub(crate) struct Interest {
    belief: Arc<Belief>,
    role: String,
    granted: watch::Receiver<Option<Grant>>,
    is_done: bool,
}

impl Interest {
    /// Starts to wait for a role, unless somebody in this session waits for it or holds it.
    pub(crate) fn new(belief: &Arc<Belief>, role: &str) -> Option<Self> {
        let (sender, granted) = watch::channel(None);
        {
            let mut parts = belief.parts();
            if parts.interests.contains_key(role) || parts.leases.contains_key(role) {
                return None;
            }
            parts.interests.insert(role.to_owned(), sender);
        }
        Some(Self { belief: belief.clone(), role: role.to_owned(), granted, is_done: false })
    }

    /// Waits until a beat tells of a grant; for ever when the session is over.
    pub(crate) async fn granted(&mut self) -> Grant {
        loop {
            let grant = *self.granted.borrow_and_update();
            if let Some(grant) = grant {
                return grant;
            }
            if self.granted.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Forgets a grant that turned out to be over.
    pub(crate) fn forget(&mut self, token: u64) {
        if let Some(interest) = self.belief.parts().interests.get(&self.role) {
            interest.send_if_modified(|grant| {
                let is_it = grant.is_some_and(|grant| grant.token == token);
                if is_it {
                    *grant = None;
                }
                is_it
            });
        }
    }

    /// Reports the grant as a lease with each beat from now on, the first at once.
    pub(crate) fn lease(&self, grant: Grant) -> Arc<Lease> {
        let clock = self.belief.clock.clone();
        let lease = Arc::new(Lease::new(&self.role, grant.token, grant.ttl_ms, clock));
        self.belief.parts().leases.insert(self.role.clone(), lease.clone());
        // In this order, so that either this or `finish` sees the other.
        if self.belief.end().is_some() {
            lease.end(Ending::SessionOver);
        }
        self.belief.kick();
        lease
    }

    /// Ends the waiting with success.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.belief.parts().interests.remove(&self.role);
        if !self.is_done && self.belief.end().is_none() {
            self.belief.run_errand(Errand::Withdraw(self.role.clone()));
        }
    }
}
