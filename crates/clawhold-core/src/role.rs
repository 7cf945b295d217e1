//! Named roles, held by one session at a time.
//!
//! Each grant bears a token above every token granted before. A lease ends by an entry that says
//! so, never by a clock: whether one was renewed is known to the active server only, which asks
//! for the end. A role that falls vacant goes to the next candidate in the same entry.

mod candidate;
mod grant;
mod hand_over;
mod keep;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Bound;

use minicbor::{Decode, Encode};

use crate::answer::{Granted, Kind, Refusal};
use crate::command::Successor;
use crate::limits;
use crate::shared::Shared;
use crate::units::{EventNumber, Name, Served, SessionId, Stamp, Token};

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Role {
    /// Its name.
    #[n(0)]
    pub name: Name,
    /// Milliseconds of a lease when the one who asks says nothing.
    #[n(1)]
    pub ttl_ms: u64,
    /// Events that a candidate may lag behind and still be promoted; `None` for no limit.
    #[n(2)]
    pub lag_events_max: Option<u64>,
    /// The stream that leader and standby consume, as the last holder named it.
    #[n(3)]
    pub stream: Option<Name>,
    /// The latest token ever granted. Never falls, not even when the role is removed.
    #[n(4)]
    pub floor: Token,
    /// The lease in force.
    #[n(5)]
    pub held: Option<Lease>,
    /// Who stands by, in the order of arrival. The holder is not among them.
    #[n(6)]
    pub candidates: Vec<Candidate>,
    /// The latest changes, oldest first, at most `ROLE_HISTORY_MAX`.
    #[n(7)]
    pub(crate) history: VecDeque<RoleChange>,
    /// Whether it was removed: only its floor counts then.
    #[n(8)]
    pub(crate) removed: bool,
    /// What gives it to a standby when its lease lapses.
    #[n(9)]
    #[cbor(default)]
    pub promotion: Promotion,
    /// Since when it is vacant by its policy, though a standby may be there.
    #[n(10)]
    pub withheld: Option<Stamp>,
}

/// What gives a role to a standby when its lease lapses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Promotion {
    /// An enabled fix that promotes for this role, under its limits; without one, the lapse itself.
    #[default]
    #[n(0)]
    Auto,
    /// The lapse itself, always.
    #[n(1)]
    Native,
    /// Fixes and people only.
    #[n(2)]
    Policy,
}

impl Promotion {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Policy => "policy",
        }
    }
}

/// A lease: a role as one session holds it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Who holds it.
    #[n(0)]
    pub session: SessionId,
    /// What people call the holder.
    #[n(1)]
    pub label: Name,
    /// The fencing token.
    #[n(2)]
    pub token: Token,
    /// Milliseconds from one renewal to the end.
    #[n(3)]
    pub ttl_ms: u64,
    /// When it was granted.
    #[n(4)]
    pub granted: Stamp,
    /// Not before this may it be found lapsed. Renewals extend it in the active server's memory
    /// only.
    #[n(5)]
    pub lapses: Served,
    /// Takeovers since its holder was last recorded as heard of.
    #[n(6)]
    pub graces: u64,
    /// The stream that the holder consumes.
    #[n(7)]
    pub stream: Option<Name>,
    /// The hand-over that the holder was asked for.
    #[n(8)]
    pub asked: Option<AskedHandOver>,
}

/// A hand-over that a holder was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AskedHandOver {
    /// Who gets the role.
    #[n(0)]
    pub to: Successor,
    /// When the request lapses and the holder keeps the role.
    #[n(1)]
    pub until: Served,
    /// When it was asked.
    #[n(2)]
    pub asked: Stamp,
}

/// A session that stands by for a role.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Candidate {
    /// Who.
    #[n(0)]
    pub session: SessionId,
    /// What people call it.
    #[n(1)]
    pub label: Name,
    /// Since when.
    #[n(2)]
    pub since: Stamp,
    /// Milliseconds of the lease it asks for; the role's own when it says nothing.
    #[n(3)]
    pub ttl_ms: Option<u64>,
    /// The stream it consumes.
    #[n(4)]
    pub stream: Option<Name>,
    /// The last event it has consumed, by the latest standings.
    #[n(5)]
    pub consumed: Option<EventNumber>,
    /// Milliseconds since its last beat, by the latest standings.
    #[n(6)]
    pub silent_ms: u64,
    /// Milliseconds without a beat after which its session is lost.
    #[n(7)]
    pub session_ttl_ms: u64,
}

/// One change of a role, for its history.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RoleChange {
    /// When.
    #[n(0)]
    pub stamp: Stamp,
    /// The token that was granted or that ended.
    #[n(1)]
    pub token: Token,
    /// Who held or got it, if the change is about somebody.
    #[n(2)]
    pub session: Option<SessionId>,
    /// What people call that session.
    #[n(3)]
    pub label: Option<Name>,
    /// What happened.
    #[n(4)]
    pub cause: RoleCause,
}

/// What happened to a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum RoleCause {
    /// The session asked for it and got it.
    #[n(0)]
    Acquired,
    /// The session stood by and got it as it fell vacant.
    #[n(1)]
    Promoted,
    /// The holder before gave it, or an operator did, to this session.
    #[n(2)]
    HandedOver,
    /// The holder gave it up.
    #[n(3)]
    Released,
    /// The holder did not renew it in time.
    #[n(4)]
    Lapsed,
    /// The holder closed its session.
    #[n(5)]
    SessionClosed,
    /// The holder's session was lost.
    #[n(6)]
    SessionLost,
    /// The role was removed.
    #[n(7)]
    Removed,
    /// The holder was asked to hand over.
    #[n(8)]
    HandOverAsked,
    /// The holder did not hand over in time and keeps the role.
    #[n(9)]
    HandOverMissed,
}

impl RoleCause {
    /// Returns the words for this cause, as people and the wire use them.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Promoted => "promoted",
            Self::HandedOver => "handed over",
            Self::Released => "released",
            Self::Lapsed => "lapsed",
            Self::SessionClosed => "session closed",
            Self::SessionLost => "session lost",
            Self::Removed => "removed",
            Self::HandOverAsked => "hand-over asked",
            Self::HandOverMissed => "hand-over missed",
        }
    }
}

/// All roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Roles {
    /// Every role that ever was.
    #[n(0)]
    pub(crate) by_name: BTreeMap<Name, Shared<Role>>,
    /// The roles that each session holds or stands by for. Derived.
    #[n(1)]
    pub(crate) by_session: BTreeMap<SessionId, BTreeSet<Name>>,
    /// The held ones by the moment they may lapse. Derived.
    #[n(2)]
    pub(crate) lapses: BTreeSet<(Served, Name)>,
    /// The ones whose holder was asked to hand over, by the end of the request. Derived.
    #[n(3)]
    pub(crate) asked: BTreeSet<(Served, Name)>,
    /// The latest token granted for any role. Never falls.
    #[n(4)]
    pub(crate) latest: Token,
    /// The ones that their policy keeps vacant. Derived.
    #[n(5)]
    #[cbor(default)]
    pub(crate) withheld: BTreeSet<Name>,
}

impl Role {
    /// Returns the latest changes, oldest first.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &RoleChange> {
        self.history.iter()
    }

    /// Tells whether nobody holds it because its last lease was not renewed in time.
    #[must_use]
    pub fn is_lapsed(&self) -> bool {
        let ended = self.ended().map(|change| change.cause);
        matches!(ended, Some(RoleCause::Lapsed | RoleCause::SessionLost))
    }

    /// Returns how its last lease ended, if nobody holds it.
    #[must_use]
    pub fn ended(&self) -> Option<&RoleChange> {
        self.history.back().filter(|_| self.held.is_none())
    }

    /// Returns a candidate.
    #[must_use]
    pub fn candidate(&self, session: SessionId) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.session == session)
    }

    fn note(&mut self, change: RoleChange) {
        self.history.push_back(change);
        if self.history.len() > limits::ROLE_HISTORY_MAX {
            self.history.pop_front();
        }
    }
}

impl Lease {
    /// Returns the lease as its holder is told of it.
    #[must_use]
    pub fn as_granted(&self) -> Granted {
        Granted { session: self.session, token: self.token, ttl_ms: self.ttl_ms }
    }
}

impl Roles {
    /// Returns a role, unless it was removed or never was.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<&Role> {
        self.by_name.get(name).map(|role| &**role).filter(|role| !role.removed)
    }

    /// Returns the roles after `after`, in the order of their names.
    pub fn list(&self, after: Option<&Name>) -> impl Iterator<Item = &Role> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let roles = self.by_name.range::<Name, _>((from, Bound::Unbounded));
        roles.map(|(_, role)| &**role).filter(|role| !role.removed)
    }

    /// Returns the roles that a session holds or stands by for.
    pub fn of(&self, session: SessionId) -> impl Iterator<Item = &Role> {
        let names = self.by_session.get(&session).into_iter().flatten();
        names.filter_map(|name| self.by_name.get(name).map(|role| &**role))
    }

    /// Returns the latest token ever granted for a role, a removed one included.
    #[must_use]
    pub fn floor(&self, name: &Name) -> Option<Token> {
        self.by_name.get(name).map(|role| role.floor)
    }

    /// Returns the leases that may be found lapsed by `served`, the earliest first. Whether one
    /// was renewed is known to the active server only.
    pub fn lapsing_by(&self, served: Served) -> impl Iterator<Item = (&Name, &Lease)> {
        let due = self.lapses.iter().take_while(move |(lapses, _)| *lapses <= served);
        due.filter_map(|(_, name)| Some((name, self.by_name.get(name)?.held.as_ref()?)))
    }

    /// Returns the earliest moment at which a lease may be found lapsed.
    #[must_use]
    pub fn next_lapse(&self) -> Option<Served> {
        self.lapses.first().map(|(lapses, _)| *lapses)
    }

    /// Returns the lease that a session holds under a token.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::RoleVacant`], [`Refusal::StaleToken`], or
    /// [`Refusal::RoleHeld`] when the token is another session's.
    pub fn require_lease(
        &self,
        name: &Name,
        session: SessionId,
        token: Token,
    ) -> Result<&Lease, Refusal> {
        let role = self.require(name)?;
        let lease = role.held.as_ref().ok_or(Refusal::RoleVacant { latest: role.floor })?;
        if lease.token != token {
            return Err(Refusal::StaleToken { presented: token, latest: role.floor });
        }
        if lease.session != session {
            return Err(Refusal::RoleHeld { holder: lease.session, token: lease.token });
        }
        Ok(lease)
    }

    pub(crate) fn require(&self, name: &Name) -> Result<&Role, Refusal> {
        let missing = || Refusal::NotFound { kind: Kind::Role, name: name.as_str().into() };
        self.get(name).ok_or_else(missing)
    }
}
