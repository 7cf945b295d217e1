//! Who stands by for a role, and who of them is next.
//!
//! The one that has come furthest with the stream is next; one that was silent for long is last;
//! among equals the one that has waited longest. Who lags too far or was silent for its session's
//! whole ttl is not promoted.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Candidate, Role, Roles};

use crate::answer::Refusal;
use crate::change::What;
use crate::command::{Acquire, Standings, Successor};
use crate::limits;
use crate::session::Session;
use crate::state::Step;
use crate::stream::Streams;
use crate::units::{Name, SessionId, Stamp};

impl Candidate {
    /// Returns the candidate that a session becomes by what it asks.
    pub(super) fn new(session: &Session, since: Stamp, command: &Acquire) -> Self {
        Self {
            session: session.id,
            label: session.label.clone(),
            since,
            ttl_ms: command.ttl_ms,
            stream: command.stream.clone(),
            consumed: None,
            silent_ms: 0,
            session_ttl_ms: session.ttl_ms,
        }
    }

    fn is_present(&self) -> bool {
        self.silent_ms < self.session_ttl_ms
    }

    fn is_quiet(&self) -> bool {
        self.silent_ms > self.session_ttl_ms / 2
    }
}

impl Role {
    /// Returns how many events a candidate lags behind, if there is a stream to compare with.
    #[must_use]
    pub fn lag_events(&self, candidate: &Candidate, streams: &Streams) -> Option<u64> {
        let stream = candidate.stream.as_ref().or(self.stream.as_ref())?;
        let consumed = candidate.consumed.unwrap_or_default();
        Some(streams.count_after(stream, consumed))
    }

    /// Tells whether a candidate may be promoted without being named.
    #[must_use]
    pub fn is_eligible(&self, candidate: &Candidate, streams: &Streams) -> bool {
        let lag = self.lag_events(candidate, streams);
        let lags = lag.zip(self.lag_events_max).is_some_and(|(lag, max)| lag > max);
        candidate.is_present() && !lags
    }

    /// Returns the candidate that comes next when nobody is named.
    #[must_use]
    pub fn most_caught_up(&self, streams: &Streams) -> Option<&Candidate> {
        let eligible = self.candidates.iter().filter(|one| self.is_eligible(one, streams));
        eligible.min_by_key(|one| (one.is_quiet(), Reverse(one.consumed)))
    }

    /// Returns the candidate that is named, if it stands by and is there.
    pub(super) fn named(&self, session: SessionId) -> Option<&Candidate> {
        self.candidate(session).filter(|candidate| candidate.is_present())
    }

    /// Returns who gets the role when it falls vacant: the successor that the holder was asked to
    /// hand over to, else the one that comes next.
    #[must_use]
    pub fn next_holder(&self, streams: &Streams) -> Option<&Candidate> {
        let asked = self.held.as_ref().and_then(|lease| lease.asked.as_ref());
        let named = asked.and_then(|asked| match asked.to {
            Successor::MostCaughtUp => None,
            Successor::Session(session) => self.named(session),
        });
        named.or_else(|| self.most_caught_up(streams))
    }
}

impl Roles {
    /// Puts a session in line. One that stands there keeps its place and what is known of it.
    pub(super) fn stand_by(
        &mut self,
        step: &mut Step,
        name: &Name,
        candidate: Candidate,
    ) -> Result<(), Refusal> {
        let Some(role) = self.by_name.get_mut(name) else { return Ok(()) };
        let session = candidate.session;
        if let Some(known) = role.candidates.iter_mut().find(|known| known.session == session) {
            let (since, consumed) = (known.since, known.consumed);
            *known = Candidate { since, consumed, ..candidate };
            return Ok(());
        }
        let count = role.candidates.len();
        if count >= limits::CANDIDATES_MAX {
            let (count, max) = (count as u64, limits::CANDIDATES_MAX as u64);
            return Err(Refusal::Full { what: "the line of standbys".into(), count, max });
        }
        role.candidates.push(candidate);
        self.by_session.entry(session).or_default().insert(name.clone());
        step.note(What::Role { role: name.clone() });
        Ok(())
    }

    /// Empties every line.
    pub(crate) fn dismiss_candidates(&mut self, step: &mut Step) {
        let waiting = self.by_name.iter().filter(|(_, role)| !role.candidates.is_empty());
        let names: Vec<Name> = waiting.map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(role) = self.by_name.get_mut(&name) else { continue };
            for candidate in core::mem::take(&mut role.candidates) {
                self.forget(&name, candidate.session);
            }
            step.note(What::Role { role: name });
        }
    }

    /// Takes a session out of the line.
    pub(super) fn stand_down(&mut self, name: &Name, session: SessionId) -> Option<Candidate> {
        let role = self.by_name.get_mut(name)?;
        let place = role.candidates.iter().position(|one| one.session == session)?;
        let candidate = role.candidates.remove(place);
        self.forget(name, session);
        Some(candidate)
    }

    /// Forgets that a session has to do with a role.
    pub(super) fn forget(&mut self, name: &Name, session: SessionId) {
        if let Some(names) = self.by_session.get_mut(&session) {
            names.remove(name);
            if names.is_empty() {
                self.by_session.remove(&session);
            }
        }
    }

    /// Records how far the candidates have come.
    pub(super) fn record(&mut self, command: &Standings) -> Result<(), Refusal> {
        self.require(&command.role)?;
        let Some(role) = self.by_name.get_mut(&command.role) else { return Ok(()) };
        for line in &command.lines {
            let mut candidates = role.candidates.iter_mut();
            if let Some(known) = candidates.find(|known| known.session == line.session) {
                known.consumed = line.consumed;
                known.silent_ms = line.silent_ms;
            }
        }
        Ok(())
    }
}
