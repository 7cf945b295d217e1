//! One lease as its holder knows it: the token, the local deadline, and what is to be done.
//!
//! Whether the holder may act is computed when it is asked, from the clock. A deadline moves only
//! when a beat that was sent after the grant is answered in time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clawhold_api::session::{LeadOutcome, LeadReply};
use tokio::sync::watch;

use crate::clock::{Clock, deadline_ms};

/// The caller does not lead at this moment and must not act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not leading {role:?} under token {token}: {why}")]
pub struct NotLeader {
    /// The role.
    pub role: String,
    /// The token that was held.
    pub token: u64,
    /// Why not.
    pub why: WhyNot,
}

impl NotLeader {
    /// Tells whether the lease is over; else a later renewal may still confirm it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match &self.why {
            WhyNot::Over(_) => true,
            WhyNot::Unconfirmed | WhyNot::Suspended | WhyNot::Leaving => false,
        }
    }
}

/// Why somebody does not lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// The grant was not confirmed by a beat yet.
    #[error("the grant is not confirmed yet")]
    Unconfirmed,
    /// The local deadline has passed. The token may still be the current one; a renewal tells.
    #[error("the local deadline has passed without a renewal")]
    Suspended,
    /// A release or hand-over was sent.
    #[error("the role is being given up")]
    Leaving,
    /// The lease is over.
    #[error("the lease is over: {0}")]
    Over(Ending),
}

/// How a lease ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// It was given up.
    #[error("released")]
    Released,
    /// It was handed over.
    #[error("handed over")]
    HandedOver,
    /// The server says that it is over.
    #[error("overtaken, the latest token is {latest_token}")]
    Lost {
        /// The highest token ever granted for this role.
        latest_token: u64,
    },
    /// The session that held it is over.
    #[error("the session is over")]
    SessionOver,
    /// The deadline passed, and renewals stayed without an answer for another ttl.
    #[error("renewals stayed without an answer")]
    Unconfirmed,
}

/// A hand-over that somebody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedHandOver {
    /// The session that gets the role; the most caught-up standby when absent.
    pub(crate) to: Option<u64>,
    /// When the request lapses, on the local clock.
    pub(crate) until_ms: u64,
}

/// What is known of a lease beside its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) is_leaving: bool,
    pub(crate) ending: Option<Ending>,
    pub(crate) asked: Option<AskedHandOver>,
    /// How often it was confirmed.
    pub(crate) confirmations: u64,
}

/// One lease as its holder knows it.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) role: String,
    pub(crate) token: u64,
    pub(crate) ttl_ms: u64,
    pub(crate) clock: Clock,
    /// When acting ends. Never falls; 0 before the first confirmation.
    deadline_ms: AtomicU64,
    status: watch::Sender<Status>,
    /// Guarded work that is under way.
    running: watch::Sender<usize>,
}

impl Lease {
    pub(crate) fn new(role: &str, token: u64, ttl_ms: u64, clock: Clock) -> Self {
        let status = Status { is_leaving: false, ending: None, asked: None, confirmations: 0 };
        Self {
            role: role.to_owned(),
            token,
            ttl_ms,
            clock,
            deadline_ms: AtomicU64::new(0),
            status: watch::Sender::new(status),
            running: watch::Sender::new(0),
        }
    }

    /// Tells whether the holder may act at this moment.
    pub(crate) fn check(&self) -> Result<(), NotLeader> {
        let why = {
            let status = self.status.borrow();
            if let Some(ending) = &status.ending {
                WhyNot::Over(ending.clone())
            } else if status.is_leaving {
                WhyNot::Leaving
            } else if status.confirmations == 0 {
                WhyNot::Unconfirmed
            } else if self.clock.now_ms() < self.deadline_ms() {
                return Ok(());
            } else {
                WhyNot::Suspended
            }
        };
        Err(NotLeader { role: self.role.clone(), token: self.token, why })
    }

    pub(crate) fn deadline_ms(&self) -> u64 {
        self.deadline_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn left(&self) -> Duration {
        self.clock.left(self.deadline_ms())
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.status.borrow().ending.is_some()
    }

    /// Takes in what a beat that was sent at `sent_ms` said about this lease. `session_ms` is what
    /// it said about the session that holds it.
    pub(crate) fn hear(&self, sent_ms: u64, session_ms: u64, reply: &LeadReply) {
        if reply.token != self.token {
            return;
        }
        match reply.outcome {
            LeadOutcome::Lost => self.end(Ending::Lost { latest_token: reply.latest_token }),
            LeadOutcome::Renewed => self.renew(sent_ms, session_ms, reply),
        }
    }

    fn renew(&self, sent_ms: u64, session_ms: u64, reply: &LeadReply) {
        let valid_ms = reply.valid_ms.min(session_ms);
        let deadline_ms = deadline_ms(sent_ms, valid_ms, self.ttl_ms);
        // An answer that comes after its own deadline proves nothing about this moment.
        if self.clock.now_ms() >= deadline_ms {
            return;
        }
        self.deadline_ms.fetch_max(deadline_ms, Ordering::SeqCst);
        let asked = reply.asked.map(|asked| AskedHandOver {
            to: asked.to,
            until_ms: sent_ms.saturating_add(asked.left_ms),
        });
        self.status.send_modify(|status| {
            status.asked = asked;
            status.confirmations = status.confirmations.saturating_add(1);
        });
    }

    /// Gives the lease up when a renewal that may have been heard stayed without an answer for a
    /// whole ttl past the deadline: else renewals that are heard and never answered would keep
    /// the role without anybody acting.
    pub(crate) fn note_silence(&self, sent_ms: u64) -> bool {
        let deadline_ms = self.deadline_ms();
        if deadline_ms == 0 || sent_ms < deadline_ms.saturating_add(self.ttl_ms) {
            return false;
        }
        self.end(Ending::Unconfirmed);
        true
    }

    /// Ends the lease; the first ending stands.
    pub(crate) fn end(&self, ending: Ending) {
        self.status.send_if_modified(|status| {
            let is_first = status.ending.is_none();
            if is_first {
                status.ending = Some(ending);
            }
            is_first
        });
    }

    /// Stops acting. Returns whether it was this call that stopped it.
    pub(crate) fn leave(&self) -> bool {
        self.status.send_if_modified(|status| {
            let acts = !status.is_leaving && status.ending.is_none();
            status.is_leaving = true;
            acts
        })
    }

    /// Acts again after a hand-over that certainly did not happen.
    pub(crate) fn stay(&self) {
        self.status.send_modify(|status| status.is_leaving = false);
    }

    /// Counts guarded work as under way until the returned value is dropped.
    pub(crate) fn busy(self: &std::sync::Arc<Self>) -> Busy {
        self.running.send_modify(|running| *running += 1);
        Busy(self.clone())
    }

    /// Waits until no guarded work is under way, at most until the deadline: from then on the
    /// token is the only fence.
    pub(crate) async fn idle(&self) {
        let mut running = self.running.subscribe();
        let idle = running.wait_for(|running| *running == 0);
        // Either way the lease goes on to end.
        let _in_time = tokio::time::timeout(self.left(), idle).await.is_ok();
    }

    /// Waits until the grant is confirmed.
    ///
    /// # Errors
    /// How the lease ended before that.
    pub(crate) async fn confirmed(&self) -> Result<(), Ending> {
        let mut status = self.watch();
        loop {
            {
                let status = status.borrow_and_update();
                if let Some(ending) = &status.ending {
                    return Err(ending.clone());
                }
                if status.confirmations > 0 {
                    return Ok(());
                }
            }
            if status.changed().await.is_err() {
                return Err(Ending::SessionOver);
            }
        }
    }
}

/// Guarded work that is under way.
#[derive(Debug)]
pub(crate) struct Busy(std::sync::Arc<Lease>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running = running.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use clawhold_api::session::Asked;

    use super::*;

    fn lease(now_ms: u64) -> (Arc<Lease>, Arc<AtomicU64>) {
        let (clock, hand) = Clock::manual(now_ms);
        (Arc::new(Lease::new("indexer", 7, 10_000, clock)), hand)
    }

    fn renewed(valid_ms: u64) -> LeadReply {
        LeadReply {
            role: "indexer".to_owned(),
            token: 7,
            outcome: LeadOutcome::Renewed,
            valid_ms,
            latest_token: 7,
            asked: None,
        }
    }

    fn why(lease: &Lease) -> Option<WhyNot> {
        lease.check().err().map(|not| not.why)
    }

    #[test]
    fn a_grant_is_not_acted_on_before_a_beat_confirmed_it() {
        let (lease, hand) = lease(1_000);
        assert_eq!(why(&lease), Some(WhyNot::Unconfirmed));
        hand.store(1_200, Ordering::SeqCst);
        lease.hear(1_100, 60_000, &renewed(10_000));
        assert_eq!(why(&lease), None);
        assert_eq!(lease.deadline_ms(), 1_100 + 10_000 - 500);
    }

    #[test]
    fn acting_ends_at_the_deadline_and_not_a_moment_later() {
        let (lease, hand) = lease(1_000);
        lease.hear(1_000, 60_000, &renewed(10_000));
        hand.store(10_499, Ordering::SeqCst);
        assert_eq!(why(&lease), None);
        hand.store(10_500, Ordering::SeqCst);
        assert_eq!(why(&lease), Some(WhyNot::Suspended));
    }

    #[test]
    fn an_answer_after_its_own_deadline_revives_nothing() {
        let (lease, hand) = lease(1_000);
        lease.hear(1_000, 60_000, &renewed(10_000));
        hand.store(12_000, Ordering::SeqCst);
        lease.hear(2_400, 60_000, &renewed(10_000));
        assert_eq!(lease.deadline_ms(), 11_900 - 1_400, "the old deadline stands");
        assert_eq!(why(&lease), Some(WhyNot::Suspended));
        // The next renewal is in time and finds the token unchanged: acting goes on.
        lease.hear(11_990, 60_000, &renewed(10_000));
        assert_eq!(why(&lease), None);
    }

    #[test]
    fn a_lease_is_trusted_no_longer_than_its_session() {
        let (lease, _) = lease(1_000);
        lease.hear(1_000, 3_000, &renewed(10_000));
        assert_eq!(lease.deadline_ms(), 1_000 + 3_000 - 500);
    }

    #[test]
    fn a_loss_is_for_good_and_another_token_says_nothing() {
        let (lease, _) = lease(1_000);
        lease.hear(1_000, 60_000, &renewed(10_000));
        let other = LeadReply { token: 6, outcome: LeadOutcome::Lost, ..renewed(0) };
        lease.hear(1_000, 60_000, &other);
        assert_eq!(why(&lease), None);
        let lost = LeadReply { outcome: LeadOutcome::Lost, latest_token: 9, ..renewed(0) };
        lease.hear(1_000, 60_000, &lost);
        lease.hear(1_000, 60_000, &renewed(10_000));
        assert_eq!(why(&lease), Some(WhyNot::Over(Ending::Lost { latest_token: 9 })));
        assert!(lease.check().unwrap_err().is_over());
    }

    #[test]
    fn leaving_stops_at_once_and_can_be_taken_back_until_it_is_over() {
        let (lease, _) = lease(1_000);
        lease.hear(1_000, 60_000, &renewed(10_000));
        assert!(lease.leave());
        assert!(!lease.leave(), "only the first call leaves");
        assert_eq!(why(&lease), Some(WhyNot::Leaving));
        lease.hear(1_000, 60_000, &renewed(10_000));
        assert_eq!(why(&lease), Some(WhyNot::Leaving), "a renewal does not take it back");
        lease.stay();
        assert_eq!(why(&lease), None);
        lease.end(Ending::Released);
        lease.end(Ending::SessionOver);
        assert_eq!(why(&lease), Some(WhyNot::Over(Ending::Released)));
    }

    #[test]
    fn unanswered_renewals_end_a_suspended_lease_after_one_more_ttl() {
        let (lease, _) = lease(1_000);
        assert!(!lease.note_silence(900_000), "it was never confirmed");
        lease.hear(1_000, 60_000, &renewed(10_000));
        assert!(!lease.note_silence(10_499));
        assert!(!lease.note_silence(20_499));
        assert!(lease.note_silence(20_500));
        assert_eq!(why(&lease), Some(WhyNot::Over(Ending::Unconfirmed)));
    }

    #[test]
    fn a_hand_over_that_is_asked_has_a_local_deadline() {
        let (lease, _) = lease(1_000);
        let asked = Some(Asked { to: Some(4), left_ms: 5_000 });
        lease.hear(1_000, 60_000, &LeadReply { asked, ..renewed(10_000) });
        let asked = lease.watch().borrow().asked;
        assert_eq!(asked, Some(AskedHandOver { to: Some(4), until_ms: 6_000 }));
        lease.hear(1_100, 60_000, &renewed(10_000));
        assert_eq!(lease.watch().borrow().asked, None);
    }
}
