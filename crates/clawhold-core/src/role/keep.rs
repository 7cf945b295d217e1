//! What is known of a role beside its holder: its settings, its removal, its graces.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Promotion, Role, RoleCause, RoleChange, Roles};
use crate::answer::{Answer, Kind, Refusal};
use crate::change::What;
use crate::command::{RemoveRole, SetRole};
use crate::limits;
use crate::request::check_range;
use crate::session::Sessions;
use crate::shared::Shared;
use crate::state::{State, Step};
use crate::units::{Name, Served, SessionId, Token};

impl State {
    /// Sets what is known of a role; a vacant one goes to a candidate that the new limit admits.
    pub(crate) fn set_role(
        &mut self,
        step: &mut Step,
        command: &SetRole,
    ) -> Result<Answer, Refusal> {
        let answer = self.roles.set(step, command)?;
        if !self.roles.withheld.contains(&command.role) {
            self.roles.promote(step, &self.streams, &command.role);
        }
        Ok(answer)
    }

    /// Removes a role that nobody holds or waits for, with its positions. Its floor stays.
    pub(crate) fn remove_role(
        &mut self,
        step: &mut Step,
        command: &RemoveRole,
    ) -> Result<Answer, Refusal> {
        self.roles.remove(step, command)?;
        self.streams.forget_role(&command.role);
        Ok(Answer::Done)
    }
}

impl Role {
    pub(super) fn new(name: Name) -> Self {
        Self {
            name,
            ttl_ms: limits::TTL_MS_DEFAULT,
            lag_events_max: None,
            stream: None,
            floor: Token(0),
            held: None,
            candidates: Vec::new(),
            history: VecDeque::new(),
            removed: false,
            promotion: Promotion::Auto,
            withheld: None,
        }
    }
}

impl Roles {
    /// Sets what is known of a role, which is made when it is missing.
    pub(crate) fn set(&mut self, step: &mut Step, command: &SetRole) -> Result<Answer, Refusal> {
        if let Some(ttl_ms) = command.ttl_ms {
            check_range("ttl_ms", ttl_ms, limits::TTL_MS_MIN, limits::TTL_MS_MAX)?;
        }
        let role = self.make(&command.role)?;
        role.ttl_ms = command.ttl_ms.unwrap_or(role.ttl_ms);
        role.lag_events_max = command.lag_events_max.or(role.lag_events_max);
        role.promotion = command.promotion.unwrap_or(role.promotion);
        step.note(What::Role { role: command.role.clone() });
        Ok(Answer::Done)
    }

    /// Returns a role, which is made when it is missing.
    pub(super) fn make(&mut self, name: &Name) -> Result<&mut Role, Refusal> {
        let count = self.by_name.len();
        if count >= limits::ROLES_MAX && !self.by_name.contains_key(name) {
            let (count, max) = (count as u64, limits::ROLES_MAX as u64);
            return Err(Refusal::Full { what: "the list of roles".into(), count, max });
        }
        let role = self
            .by_name
            .entry(name.clone())
            .or_insert_with(|| Shared::new(Role::new(name.clone())));
        role.removed = false;
        Ok(role)
    }

    fn remove(&mut self, step: &mut Step, command: &RemoveRole) -> Result<(), Refusal> {
        let role = self.require(&command.role)?;
        if role.held.is_some() {
            return Err(Refusal::InUse { kind: Kind::Role, count: 1, by: "holder".into() });
        }
        let count = role.candidates.len() as u64;
        if count > 0 {
            return Err(Refusal::InUse { kind: Kind::Role, count, by: "standing by".into() });
        }
        let Some(role) = self.by_name.get_mut(&command.role) else { return Ok(()) };
        role.removed = true;
        role.withheld = None;
        role.promotion = Promotion::Auto;
        role.ttl_ms = limits::TTL_MS_DEFAULT;
        role.lag_events_max = None;
        role.stream = None;
        self.withheld.remove(&command.role);
        let (stamp, token, cause) = (step.stamp, role.floor, RoleCause::Removed);
        role.note(RoleChange { stamp, token, session: None, label: None, cause });
        step.note(What::Role { role: command.role.clone() });
        Ok(())
    }

    /// Gives every lease its grace after a takeover.
    pub(crate) fn grace(&mut self, served: Served) {
        let held: Vec<(Served, Name)> = self.lapses.iter().cloned().collect();
        for (lapses, name) in held {
            let lease = self.by_name.get_mut(&name).and_then(|role| role.held.as_mut());
            let Some(lease) = lease else { continue };
            if lease.graces < limits::GRACES_MAX {
                lease.lapses = served.after(lease.ttl_ms).max(lapses);
                let extended = lease.lapses;
                self.lapses.remove(&(lapses, name.clone()));
                self.lapses.insert((extended, name));
            }
            lease.graces = lease.graces.saturating_add(1);
        }
    }

    /// Notes that a session was heard of.
    pub(crate) fn hear(&mut self, session: SessionId) {
        for name in self.by_session.get(&session).into_iter().flatten() {
            let Some(role) = self.by_name.get_mut(name) else { continue };
            let role = &mut **role;
            let lease = role.held.as_mut().filter(|lease| lease.session == session);
            let mut candidates = role.candidates.iter_mut();
            if let Some(lease) = lease {
                lease.graces = 0;
            } else if let Some(candidate) = candidates.find(|one| one.session == session) {
                candidate.silent_ms = 0;
            }
        }
    }

    /// Tells what does not hold, if something does not.
    pub(crate) fn check(&self, sessions: &Sessions) -> Result<(), String> {
        let mut derived = Self { latest: self.latest, ..Self::default() };
        for (name, role) in &self.by_name {
            role.check(sessions).map_err(|broken| format!("role {name}: {broken}"))?;
            if role.floor > self.latest {
                return Err(format!("role {name} has a token above the latest of all"));
            }
            if let Some(lease) = &role.held {
                derived.lapses.insert((lease.lapses, name.clone()));
                derived.by_session.entry(lease.session).or_default().insert(name.clone());
                let until = lease.asked.as_ref().map(|asked| asked.until);
                derived.asked.extend(until.map(|until| (until, name.clone())));
            }
            if role.withheld.is_some() {
                derived.withheld.insert(name.clone());
            }
            for candidate in &role.candidates {
                derived.by_session.entry(candidate.session).or_default().insert(name.clone());
            }
        }
        derived.by_name.clone_from(&self.by_name);
        if derived == *self {
            return Ok(());
        }
        Err("what is derived from the roles differs from them".to_owned())
    }
}

impl Role {
    fn check(&self, sessions: &Sessions) -> Result<(), String> {
        let holder = self.held.as_ref().map(|lease| lease.session);
        let waiting = self.candidates.iter().map(|candidate| candidate.session);
        let distinct: BTreeSet<SessionId> = waiting.clone().chain(holder).collect();
        if distinct.len() != self.candidates.len() + usize::from(holder.is_some()) {
            return Err("a session stands there twice".to_owned());
        }
        if let Some(dead) = distinct.iter().find(|id| sessions.live(**id).is_none()) {
            return Err(format!("session {dead} is over"));
        }
        if self.held.as_ref().is_some_and(|lease| lease.token != self.floor) {
            return Err("the lease's token is not the latest".to_owned());
        }
        if self.withheld.is_some() && (self.held.is_some() || self.removed) {
            return Err("its policy keeps it vacant, and it is not".to_owned());
        }
        if self.removed && !distinct.is_empty() {
            return Err("it was removed and is in use".to_owned());
        }
        Ok(())
    }
}
