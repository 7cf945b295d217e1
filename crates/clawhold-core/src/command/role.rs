//! What is asked of roles.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::SessionKey;
use crate::role::Promotion;
use crate::units::{EventNumber, Name, SessionId, Token};

/// See [`super::Command::SetRole`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetRole {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Milliseconds of a lease when the one who asks says nothing.
    #[n(1)]
    pub ttl_ms: Option<u64>,
    /// Events that a standby may lag behind and still be promoted.
    #[n(2)]
    pub lag_events_max: Option<u64>,
    /// What gives it to a standby when its lease lapses.
    #[n(3)]
    pub promotion: Option<Promotion>,
}

/// See [`super::Command::RemoveRole`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveRole {
    /// The role.
    #[n(0)]
    pub role: Name,
}

/// See [`super::Command::Acquire`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Acquire {
    /// The role; made when it is missing.
    #[n(0)]
    pub role: Name,
    /// Who asks.
    #[n(1)]
    pub session: SessionKey,
    /// Milliseconds of the lease; the role's own when nothing is said.
    #[n(2)]
    pub ttl_ms: Option<u64>,
    /// Whether to stand in line when the role is held.
    #[n(3)]
    pub wait: bool,
    /// The stream that leader and standby consume, if there is one.
    #[n(4)]
    pub stream: Option<Name>,
}

/// See [`super::Command::Withdraw`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Withdraw {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who waits.
    #[n(1)]
    pub session: SessionKey,
}

/// See [`super::Command::Release`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Release {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who holds it.
    #[n(1)]
    pub session: SessionKey,
    /// The token of the grant.
    #[n(2)]
    pub token: Token,
}

/// Who gets a role that is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Successor {
    /// The candidate that has come furthest; among equals the one that has waited longest.
    #[n(0)]
    MostCaughtUp,
    /// This candidate and no other.
    #[n(1)]
    Session(#[n(0)] SessionId),
}

/// See [`super::Command::HandOver`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct HandOver {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// The holder's key and token when the holder hands over; `None` when an operator does.
    #[n(1)]
    pub holder: Option<SessionKey>,
    /// The token that the caller believes to be current; `None` skips the check.
    #[n(2)]
    pub token: Option<Token>,
    /// Who gets it.
    #[n(3)]
    pub to: Successor,
}

/// See [`super::Command::AskHandOver`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AskHandOver {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// Who gets it.
    #[n(1)]
    pub to: Successor,
    /// Milliseconds until the request lapses and the holder keeps the role.
    #[n(2)]
    pub within_ms: u64,
}

/// See [`super::Command::ExpireRole`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpireRole {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// The token that lapsed; another one is left alone.
    #[n(1)]
    pub token: Token,
}

/// See [`super::Command::Standings`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Standings {
    /// The role.
    #[n(0)]
    pub role: Name,
    /// One line for each candidate that was heard of.
    #[n(1)]
    pub lines: Vec<Standing>,
}

/// How far a candidate has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Standing {
    /// The candidate.
    #[n(0)]
    pub session: SessionId,
    /// The last event it has consumed.
    #[n(1)]
    pub consumed: Option<EventNumber>,
    /// Milliseconds since its last beat.
    #[n(2)]
    pub silent_ms: u64,
}
