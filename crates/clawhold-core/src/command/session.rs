//! What is asked of sessions and workers.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::SessionKey;
use crate::units::{Name, SessionId, Text};

/// See [`super::Command::OpenSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OpenSession {
    /// Drawn by the server; given to the caller and to nobody else.
    #[n(0)]
    pub secret: u64,
    /// What people call it. A label is no identity: several sessions may bear the same.
    #[n(1)]
    pub label: Name,
    /// Milliseconds without a beat after which the session is lost.
    #[n(2)]
    pub ttl_ms: u64,
    /// The queues it works on; a session with queues is a worker.
    #[n(3)]
    pub queues: Vec<Name>,
    /// Jobs it may hold at once; 0 for a session that is no worker.
    #[n(4)]
    pub slots: u32,
    /// The agent that does its work, if it says so.
    #[n(5)]
    pub agent: Option<Name>,
    /// Where it runs, for people: host and pid.
    #[n(6)]
    pub place: Text,
}

/// See [`super::Command::CloseSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CloseSession {
    /// The session, by its key.
    #[n(0)]
    pub session: SessionKey,
}

/// See [`super::Command::ExpireSession`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExpireSession {
    /// The session.
    #[n(0)]
    pub session: SessionId,
}

/// See [`super::Command::Heard`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Heard {
    /// The sessions heard of.
    #[n(0)]
    pub sessions: Vec<SessionId>,
}

/// See [`super::Command::DrainWorker`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DrainWorker {
    /// The worker's session.
    #[n(0)]
    pub session: SessionId,
    /// Milliseconds until what it still holds is taken back. A repeated drain only shortens.
    #[n(1)]
    pub deadline_ms: u64,
    /// Why.
    #[n(2)]
    pub reason: Text,
}

/// See [`super::Command::ResumeWorker`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResumeWorker {
    /// The worker's session.
    #[n(0)]
    pub session: SessionId,
}
