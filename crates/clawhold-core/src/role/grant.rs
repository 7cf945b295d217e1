//! How a role gets a holder and loses it.

use alloc::vec::Vec;

use super::{Candidate, Lease, Role, RoleCause, RoleChange, Roles};
use crate::answer::{Answer, Granted, Refusal};
use crate::change::What;
use crate::command::{Acquire, ExpireRole, Release, Standings, Withdraw};
use crate::limits;
use crate::request::check_range;
use crate::shared::Shared;
use crate::state::{State, Step};
use crate::stream::Streams;
use crate::units::{Name, SessionId, Token};

impl State {
    /// Asks for a role.
    pub(crate) fn acquire(
        &mut self,
        step: &mut Step,
        command: &Acquire,
    ) -> Result<Answer, Refusal> {
        let session = self.sessions.prove(command.session)?;
        if let Some(ttl_ms) = command.ttl_ms {
            check_range("ttl_ms", ttl_ms, limits::TTL_MS_MIN, limits::TTL_MS_MAX)?;
        }
        let candidate = Candidate::new(session, step.stamp, command);
        let held = self.roles.get(&command.role).and_then(|role| role.held.as_ref());
        let Some(held) = held.map(Lease::as_granted) else {
            return self.acquire_vacant(step, command, candidate);
        };
        if held.session == candidate.session {
            return Ok(Answer::Granted(held));
        }
        let (holder, token) = (held.session, held.token);
        if !command.wait {
            return Err(Refusal::RoleHeld { holder, token });
        }
        self.roles.stand_by(step, &command.role, candidate)?;
        Ok(Answer::Waiting { holder, token })
    }

    /// Asks for a role that nobody holds. One who insists gets it, and so does one who waits for
    /// it alone; else the line decides, since somebody in it may have come further.
    fn acquire_vacant(
        &mut self,
        step: &mut Step,
        command: &Acquire,
        candidate: Candidate,
    ) -> Result<Answer, Refusal> {
        let (name, session) = (&command.role, candidate.session);
        let role = self.roles.get(name);
        let alone = role.is_none_or(|role| role.candidates.is_empty() && role.withheld.is_none());
        if !command.wait || alone {
            self.roles.make(name)?;
            self.roles.stand_down(name, session);
            let granted = self.roles.grant(step, name, candidate, RoleCause::Acquired);
            return Ok(Answer::Granted(granted));
        }
        self.roles.stand_by(step, name, candidate)?;
        if self.roles.get(name).is_some_and(|role| role.withheld.is_some()) {
            let latest = self.roles.floor(name).unwrap_or_default();
            return Ok(Answer::Withheld { latest });
        }
        match self.roles.promote(step, &self.streams, name) {
            Some(granted) if granted.session == session => Ok(Answer::Granted(granted)),
            Some(Granted { session: holder, token, .. }) => Ok(Answer::Waiting { holder, token }),
            None => Ok(self.behind(name, session)),
        }
    }

    fn behind(&self, name: &Name, session: SessionId) -> Answer {
        let role = self.roles.get(name);
        let lag_events = role.and_then(|role| {
            role.candidate(session).and_then(|one| role.lag_events(one, &self.streams))
        });
        let lag_events_max = role.and_then(|role| role.lag_events_max);
        Answer::Behind {
            lag_events: lag_events.unwrap_or_default(),
            lag_events_max: lag_events_max.unwrap_or_default(),
        }
    }

    /// Stops waiting for a role.
    pub(crate) fn withdraw(
        &mut self,
        step: &mut Step,
        command: &Withdraw,
    ) -> Result<Answer, Refusal> {
        let session = self.sessions.prove(command.session)?.id;
        self.roles.require(&command.role)?;
        if self.roles.stand_down(&command.role, session).is_none() {
            return Err(Refusal::NotCandidate { session });
        }
        step.note(What::Role { role: command.role.clone() });
        Ok(Answer::Done)
    }

    /// Gives a role up.
    pub(crate) fn release(
        &mut self,
        step: &mut Step,
        command: &Release,
    ) -> Result<Answer, Refusal> {
        let session = self.sessions.prove(command.session)?.id;
        self.roles.require_lease(&command.role, session, command.token)?;
        let next = self.roles.pass_on(step, &self.streams, &command.role, RoleCause::Released);
        Ok(Answer::Released { next })
    }

    /// Ends a lease that was not renewed in time.
    pub(crate) fn expire_role(
        &mut self,
        step: &mut Step,
        command: &ExpireRole,
    ) -> Result<Answer, Refusal> {
        let role = self.roles.require(&command.role)?;
        let latest = role.floor;
        let lease = role.held.as_ref().filter(|lease| lease.token == command.token);
        let lease = lease.ok_or(Refusal::StaleToken { presented: command.token, latest })?;
        if step.stamp.served < lease.lapses {
            return Err(Refusal::NotLapsed);
        }
        let next = if self.automation.withholds(role) {
            self.roles.withhold(step, &command.role, RoleCause::Lapsed);
            None
        } else {
            self.roles.pass_on(step, &self.streams, &command.role, RoleCause::Lapsed)
        };
        Ok(Answer::Released { next })
    }

    /// Records how far the candidates of a role have come; a vacant role goes to the one that has
    /// caught up.
    pub(crate) fn standings(
        &mut self,
        step: &mut Step,
        command: &Standings,
    ) -> Result<Answer, Refusal> {
        let answer = self.roles.standings(command)?;
        if self.roles.withheld.contains(&command.role) {
            step.note(What::Role { role: command.role.clone() });
        } else {
            self.roles.promote(step, &self.streams, &command.role);
        }
        Ok(answer)
    }
}

impl Roles {
    /// Records how far the candidates of a role have come.
    pub(crate) fn standings(&mut self, command: &Standings) -> Result<Answer, Refusal> {
        self.record(command)?;
        Ok(Answer::Done)
    }

    /// Ends all that a session has to do with roles. It leaves every line before any role goes on.
    pub(crate) fn leave(
        &mut self,
        step: &mut Step,
        streams: &Streams,
        session: SessionId,
        cause: RoleCause,
        withholds: &dyn Fn(&Role) -> bool,
    ) {
        let names: Vec<Name> =
            self.by_session.get(&session).into_iter().flatten().cloned().collect();
        for name in &names {
            if self.stand_down(name, session).is_some() {
                step.note(What::Role { role: name.clone() });
            }
        }
        let held = self.by_session.get(&session).into_iter().flatten();
        let held: Vec<Name> = held.cloned().collect();
        for name in &held {
            if self.by_name.get(name).is_some_and(|role| withholds(role)) {
                self.withhold(step, name, cause);
            } else {
                self.pass_on(step, streams, name, cause);
            }
        }
    }

    /// Ends the lease of a role and gives the role to the next holder, if there is one.
    pub(crate) fn pass_on(
        &mut self,
        step: &mut Step,
        streams: &Streams,
        name: &Name,
        cause: RoleCause,
    ) -> Option<Granted> {
        let role = self.by_name.get(name)?;
        let next = role.next_holder(streams).map(|candidate| candidate.session);
        self.end_lease(step, name, cause)?;
        let Some(next) = next.and_then(|session| self.stand_down(name, session)) else {
            step.note(What::RoleVacant { role: name.clone() });
            return None;
        };
        Some(self.grant(step, name, next, RoleCause::Promoted))
    }

    /// Ends the lease of a role and leaves it vacant: its policy decides who gets it.
    fn withhold(&mut self, step: &mut Step, name: &Name, cause: RoleCause) {
        if self.end_lease(step, name, cause).is_none() {
            return;
        }
        if let Some(role) = self.by_name.get_mut(name) {
            role.withheld = Some(step.stamp);
            self.withheld.insert(name.clone());
        }
        step.note(What::RoleVacant { role: name.clone() });
    }

    /// Ends the lease of a role, for its history.
    fn end_lease(&mut self, step: &mut Step, name: &Name, cause: RoleCause) -> Option<()> {
        let lease = self.vacate(name)?;
        let role = self.by_name.get_mut(name)?;
        let (session, label) = (Some(lease.session), Some(lease.label));
        let (stamp, token) = (step.stamp, lease.token);
        role.note(RoleChange { stamp, token, session, label, cause });
        Some(())
    }

    /// Gives a vacant role to the candidate that comes next, if there is one.
    pub(crate) fn promote(
        &mut self,
        step: &mut Step,
        streams: &Streams,
        name: &Name,
    ) -> Option<Granted> {
        let role = self.get(name).filter(|role| role.held.is_none())?;
        let session = role.most_caught_up(streams)?.session;
        let next = self.stand_down(name, session)?;
        Some(self.grant(step, name, next, RoleCause::Promoted))
    }

    /// Ends the lease of a role and returns it.
    pub(super) fn vacate(&mut self, name: &Name) -> Option<Lease> {
        let lease = self.by_name.get_mut(name)?.held.take()?;
        self.lapses.remove(&(lease.lapses, name.clone()));
        if let Some(asked) = &lease.asked {
            self.asked.remove(&(asked.until, name.clone()));
        }
        self.forget(name, lease.session);
        Some(lease)
    }

    /// Grants a vacant role to one who does not stand in its line.
    pub(super) fn grant(
        &mut self,
        step: &mut Step,
        name: &Name,
        to: Candidate,
        cause: RoleCause,
    ) -> Granted {
        // One entry may grant several roles, each under a token of its own.
        let next = Token(self.latest.0.saturating_add(1));
        let token = next.max(Token(step.stamp.position.0));
        let role = self
            .by_name
            .entry(name.clone())
            .or_insert_with(|| Shared::new(Role::new(name.clone())));
        assert!(role.held.is_none(), "a role has at most one holder");
        assert!(role.floor < token, "a token rises");
        let ttl_ms = to.ttl_ms.unwrap_or(role.ttl_ms);
        let lease = Lease {
            session: to.session,
            label: to.label.clone(),
            token,
            ttl_ms,
            granted: step.stamp,
            lapses: step.stamp.served.after(ttl_ms),
            graces: 0,
            stream: to.stream,
            asked: None,
        };
        let (session, granted) = (to.session, lease.as_granted());
        self.lapses.insert((lease.lapses, name.clone()));
        self.by_session.entry(session).or_default().insert(name.clone());
        self.latest = token;
        role.withheld = None;
        self.withheld.remove(name);
        role.floor = token;
        role.stream = lease.stream.clone().or(role.stream.take());
        role.held = Some(lease);
        let (stamp, label) = (step.stamp, Some(to.label));
        role.note(RoleChange { stamp, token, session: Some(session), label, cause });
        step.note(What::RoleGranted { role: name.clone(), session, token });
        granted
    }
}
