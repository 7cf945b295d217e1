//! Handing a role over while its holder lives.

use super::{AskedHandOver, RoleCause, RoleChange, Roles};
use crate::answer::{Answer, Refusal};
use crate::change::What;
use crate::command::{AskHandOver, HandOver, Successor};
use crate::limits;
use crate::request::{check_range, out_of_range};
use crate::state::{State, Step};
use crate::units::{Served, SessionId};

impl State {
    /// Gives a role to a candidate in one entry: there is no position at which nobody holds it.
    /// An operator may also give a vacant one.
    pub(crate) fn hand_over(
        &mut self,
        step: &mut Step,
        command: &HandOver,
    ) -> Result<Answer, Refusal> {
        self.check_may_hand_over(command)?;
        let name = &command.role;
        let session = self.successor(command)?;
        let candidate = self.roles.stand_down(name, session);
        let candidate = candidate.ok_or(Refusal::NotCandidate { session })?;
        self.roles.vacate(name);
        let granted = self.roles.grant(step, name, candidate, RoleCause::HandedOver);
        Ok(Answer::Granted(granted))
    }

    fn check_may_hand_over(&self, command: &HandOver) -> Result<(), Refusal> {
        if let Some(key) = command.holder {
            let session = self.sessions.prove(key)?.id;
            let missing = || out_of_range("token", "missing", "the token of the grant");
            let token = command.token.ok_or_else(missing)?;
            self.roles.require_lease(&command.role, session, token)?;
        }
        let latest = self.roles.require(&command.role)?.floor;
        match command.token {
            Some(presented) if presented != latest => {
                Err(Refusal::StaleToken { presented, latest })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn successor(&self, command: &HandOver) -> Result<SessionId, Refusal> {
        let role = self.roles.require(&command.role)?;
        match command.to {
            Successor::MostCaughtUp => {
                let best = role.most_caught_up(&self.streams).ok_or(Refusal::NoCandidate)?;
                Ok(best.session)
            }
            Successor::Session(session) => {
                let named = role.named(session).ok_or(Refusal::NotCandidate { session })?;
                Ok(named.session)
            }
        }
    }
}

impl Roles {
    /// Asks the holder to hand over. A later request takes the place of an earlier one.
    pub(crate) fn ask_hand_over(
        &mut self,
        step: &mut Step,
        command: &AskHandOver,
    ) -> Result<Answer, Refusal> {
        check_range("within_ms", command.within_ms, 1, limits::DURATION_MS_MAX)?;
        let role = self.require(&command.role)?;
        let latest = role.floor;
        match command.to {
            Successor::Session(session) if role.candidate(session).is_none() => {
                return Err(Refusal::NotCandidate { session });
            }
            Successor::MostCaughtUp if role.candidates.is_empty() => {
                return Err(Refusal::NoCandidate);
            }
            Successor::Session(_) | Successor::MostCaughtUp => {}
        }
        let role = self.by_name.get_mut(&command.role);
        let vacant = Refusal::RoleVacant { latest };
        let Some(role) = role else { return Err(vacant) };
        let lease = role.held.as_mut().ok_or(vacant)?;
        let until = step.stamp.served.after(command.within_ms);
        let asked = AskedHandOver { to: command.to, until, asked: step.stamp };
        if let Some(before) = lease.asked.replace(asked) {
            self.asked.remove(&(before.until, command.role.clone()));
        }
        self.asked.insert((until, command.role.clone()));
        let (session, label) = (Some(lease.session), Some(lease.label.clone()));
        let (stamp, token, cause) = (step.stamp, lease.token, RoleCause::HandOverAsked);
        role.note(RoleChange { stamp, token, session, label, cause });
        step.note(What::Role { role: command.role.clone() });
        Ok(Answer::Done)
    }

    /// Drops the requests to hand over whose time is over: the holder keeps the role.
    pub(crate) fn fall_due(&mut self, step: &mut Step) {
        for _ in 0..limits::DUE_PER_ENTRY_MAX {
            let first = self.asked.first().filter(|(until, _)| *until <= step.stamp.served);
            let Some((until, name)) = first.cloned() else { return };
            self.asked.remove(&(until, name.clone()));
            let role = self.by_name.get_mut(&name);
            let Some(role) = role else { continue };
            let Some(lease) = role.held.as_mut() else { continue };
            lease.asked = None;
            let (session, label) = (Some(lease.session), Some(lease.label.clone()));
            let (stamp, token, cause) = (step.stamp, lease.token, RoleCause::HandOverMissed);
            role.note(RoleChange { stamp, token, session, label, cause });
            step.note(What::Role { role: name });
        }
    }

    /// Returns the earliest moment at which a request to hand over lapses.
    pub(crate) fn next_due(&self) -> Option<Served> {
        self.asked.first().map(|(until, _)| *until)
    }
}
