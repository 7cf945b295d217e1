//! Renewals and lapses: what a beat extends, and what has run out.
//!
//! A lease whose end is on its way to the log is not renewed any more, so that a renewal and an
//! expiry never both succeed. When something may have lapsed is kept in timers that are looked
//! at lazily: a renewal does not touch them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::answer::{Granted, Refusal};
use crate::beat::{
    Beat, BeatAnswer, Beats, DrainAnswer, Lead, LeadAnswer, LeadOutcome, Report, Timer,
};
use crate::command::Standing;
use crate::job::Job;
use crate::role::Lease;
use crate::state::State;
use crate::units::{ClaimNumber, JobId, Name, Served, SessionId, Token};

impl Beats {
    /// Starts anew from what the log says: nobody was heard of yet.
    pub(crate) fn begin(state: &State) -> Self {
        let mut beats = Self::default();
        for session in state.sessions().list(None) {
            beats.timers.insert((session.lapses, Timer::Session(session.id)));
        }
        for role in state.roles().list(None) {
            if let Some(lease) = &role.held {
                beats.watch_lease(&role.name, lease.token, lease.lapses);
            }
        }
        beats
    }

    /// Looks at a lease when it may lapse.
    pub(crate) fn watch_lease(&mut self, role: &Name, token: Token, lapses: Served) {
        self.timers.insert((lapses, Timer::Lease(role.clone(), token)));
    }

    /// Looks at a session when it may lapse.
    pub(crate) fn watch_session(&mut self, session: SessionId, lapses: Served) {
        self.timers.insert((lapses, Timer::Session(session)));
    }

    /// Forgets a session that is over.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.reports.remove(&session);
        self.told.retain(|(of, _, _), _| *of != session);
        self.ending.remove(&Timer::Session(session));
    }

    /// Takes one beat in and answers it. `now` is the time served so far.
    ///
    /// # Errors
    /// [`Refusal::NoSession`] when the session is over, was never issued, or is about to end.
    pub(crate) fn hear(
        &mut self,
        state: &State,
        now: Served,
        beat: &Beat,
    ) -> Result<BeatAnswer, Refusal> {
        let session = state.sessions().prove(beat.session)?;
        if self.ending.contains(&Timer::Session(session.id)) {
            return Err(Refusal::NoSession { session: session.id });
        }
        let mut report = Report { heard: now, ..Report::default() };
        let mut leads = Vec::with_capacity(beat.leads.len());
        for (role, token) in &beat.leads {
            let outcome = self.renew(state, now, session.id, role, *token);
            let renewed = matches!(outcome, LeadOutcome::Renewed { .. }).then_some(now);
            let acts = !beat.suspended.contains(role);
            report.leads.insert(role.clone(), Lead { token: *token, renewed, acts });
            leads.push(LeadAnswer { role: role.clone(), token: *token, outcome });
        }
        report.unnamed = self.unnamed(state, session.id, &report);
        report.holds.extend(beat.holds.iter().copied());
        report.consumed.extend(beat.consumed.iter().cloned());
        let answer = BeatAnswer {
            valid_ms: session.ttl_ms,
            leads,
            granted: self.unreported(state, session.id, &report),
            superseded: superseded(state, session.id, beat),
            cancelled: cancelled(state, session.id, beat),
            drain: session.drain.as_ref().map(|drain| DrainAnswer {
                left_ms: drain.deadline.since(now),
                reason: drain.reason.clone(),
            }),
        };
        self.reports.insert(session.id, report);
        Ok(answer)
    }

    fn renew(
        &self,
        state: &State,
        now: Served,
        session: SessionId,
        role: &Name,
        token: Token,
    ) -> LeadOutcome {
        let Some(role) = state.roles().get(role) else {
            return LeadOutcome::Lost { latest: Token(0) };
        };
        let lost = LeadOutcome::Lost { latest: role.floor };
        let held = role.held.as_ref().filter(|l| l.session == session && l.token == token);
        let Some(lease) = held else { return lost };
        if self.ending.contains(&Timer::Lease(role.name.clone(), token)) {
            return lost;
        }
        let asked = lease.asked.as_ref().map(|asked| (asked.to, asked.until.since(now)));
        LeadOutcome::Renewed { valid_ms: lease.ttl_ms, asked }
    }

    /// Returns the renewals that a report does not repeat, of leases that the session still holds.
    fn unnamed(&self, state: &State, session: SessionId, report: &Report) -> BTreeMap<Name, Lead> {
        let Some(before) = self.reports.get(&session) else { return BTreeMap::new() };
        let holds = |role: &Name, lead: &Lead| {
            let held = state.roles().get(role).and_then(|role| role.held.as_ref());
            held.is_some_and(|lease| lease.session == session && lease.token == lead.token)
        };
        let repeats = |role: &Name, lead: &Lead| {
            let named = report.leads.get(role);
            named.is_some_and(|named| named.token == lead.token && named.renewed.is_some())
        };
        let renewed = before.unnamed.iter().chain(&before.leads);
        let renewed = renewed.filter(|(_, lead)| lead.renewed.is_some());
        let kept = renewed.filter(|(role, lead)| !repeats(role, lead) && holds(role, lead));
        kept.map(|(role, lead)| (role.clone(), *lead)).collect()
    }

    fn unreported(
        &self,
        state: &State,
        session: SessionId,
        report: &Report,
    ) -> Vec<(Name, Granted)> {
        let held = held_by(state, session);
        let missing = held.filter(|(name, _)| !report.leads.contains_key(*name));
        missing.map(|(name, lease)| (name.clone(), lease.as_granted())).collect()
    }

    /// Returns the earliest moment at which something may lapse.
    pub(crate) fn next_look(&self) -> Option<Served> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns what has lapsed by `now` and marks it as ending. At most `max` things.
    pub(crate) fn lapsed(&mut self, state: &State, now: Served, max: usize) -> Vec<Timer> {
        let mut lapsed = Vec::new();
        while lapsed.len() < max {
            let Some((at, _)) = self.timers.first() else { break };
            if *at > now {
                break;
            }
            let Some((_, timer)) = self.timers.pop_first() else { break };
            match self.deadline(state, &timer) {
                Some(deadline) if now < deadline => {
                    self.timers.insert((deadline, timer));
                }
                Some(_) => {
                    self.ending.insert(timer.clone());
                    lapsed.push(timer);
                }
                None => {}
            }
        }
        lapsed
    }

    /// Looks again at something whose end did not reach the log.
    pub(crate) fn look_again(&mut self, timer: Timer, at: Served) {
        self.ending.remove(&timer);
        self.timers.insert((at, timer));
    }

    /// Returns when a lease lapses by what the log and the beats say, if it is still held.
    pub fn lease_deadline(&self, state: &State, role: &Name) -> Option<Served> {
        let lease = state.roles().get(role)?.held.as_ref()?;
        let report = self.reports.get(&lease.session);
        let leads = report.map(|report| [report.leads.get(role), report.unnamed.get(role)]);
        let leads = leads.into_iter().flatten().flatten();
        let renewed =
            leads.filter(|lead| lead.token == lease.token).filter_map(|lead| lead.renewed);
        let extended = renewed.max().map_or(Served(0), |at| at.after(lease.ttl_ms));
        Some(lease.lapses.max(extended))
    }

    fn deadline(&self, state: &State, timer: &Timer) -> Option<Served> {
        match timer {
            Timer::Lease(role, token) => {
                let lease = state.roles().get(role)?.held.as_ref()?;
                if lease.token != *token {
                    return None;
                }
                self.lease_deadline(state, role)
            }
            Timer::Session(id) => {
                let session = state.sessions().live(*id)?;
                let heard = self.reports.get(id).map_or(Served(0), |report| report.heard);
                Some(session.lapses.max(heard.after(session.ttl_ms)))
            }
        }
    }

    /// Returns how far the candidates of a role have come, those that were heard of.
    pub(crate) fn standings(&self, state: &State, now: Served, role: &Name) -> Vec<Standing> {
        let Some(role) = state.roles().get(role) else { return Vec::new() };
        let heard = role.candidates.iter().filter_map(|candidate| {
            let report = self.reports.get(&candidate.session)?;
            Some(Standing {
                session: candidate.session,
                consumed: report.consumed.get(&role.name).copied(),
                silent_ms: now.since(report.heard),
            })
        });
        heard.collect()
    }
}

/// Returns the leases that a session holds, with their roles.
pub(crate) fn held_by(state: &State, session: SessionId) -> impl Iterator<Item = (&Name, &Lease)> {
    let held = state.roles().of(session).filter_map(|role| Some((&role.name, role.held.as_ref()?)));
    held.filter(move |(_, lease)| lease.session == session)
}

fn superseded(state: &State, session: SessionId, beat: &Beat) -> Vec<(JobId, ClaimNumber)> {
    let lost =
        |(job, claim): &(JobId, ClaimNumber)| held_job(state, session, *job, *claim).is_none();
    beat.holds.iter().copied().filter(lost).collect()
}

fn cancelled(state: &State, session: SessionId, beat: &Beat) -> Vec<(JobId, ClaimNumber)> {
    let asked = |(job, claim): &(JobId, ClaimNumber)| {
        held_job(state, session, *job, *claim).is_some_and(Job::cancel_asked)
    };
    beat.holds.iter().copied().filter(asked).collect()
}

fn held_job(state: &State, session: SessionId, job: JobId, claim: ClaimNumber) -> Option<&Job> {
    let job = state.jobs().job(job)?;
    (job.holder() == Some(session) && job.claim == claim).then_some(job)
}
