//! What is asked of streams, and the atomic step of a coordinator.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::{NewJob, SessionKey};
use crate::units::{Bytes, EventNumber, Name, Token};

/// See [`super::Command::SetStream`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetStream {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// Events kept.
    #[n(1)]
    pub events_max: Option<u64>,
    /// Bytes kept.
    #[n(2)]
    pub bytes_max: Option<u64>,
    /// Milliseconds for which events are kept; 0 for no limit.
    #[n(3)]
    pub age_ms_max: Option<u64>,
}

/// See [`super::Command::RemoveStream`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveStream {
    /// The stream.
    #[n(0)]
    pub stream: Name,
}

/// See [`super::Command::Append`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Append {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// The events, in their order.
    #[n(1)]
    pub events: Vec<Bytes>,
    /// The number that the first of them must get; a mismatch is refused.
    #[n(2)]
    pub expected: Option<EventNumber>,
}

/// See [`super::Command::Commit`].
///
/// Checks the token, records the position, enqueues jobs and appends events: all of it or none.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Commit {
    /// The role under which the caller acts.
    #[n(0)]
    pub role: Name,
    /// The session that holds it.
    #[n(1)]
    pub session: SessionKey,
    /// The token of the grant.
    #[n(2)]
    pub token: Token,
    /// The position to record, if there is one.
    #[n(3)]
    pub position: Option<NewPosition>,
    /// Jobs to accept.
    #[n(4)]
    pub jobs: Vec<NewJob>,
    /// Events to append.
    #[n(5)]
    pub appends: Vec<Append>,
}

/// A position to record: every event up to it, itself included, has been dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NewPosition {
    /// The stream.
    #[n(0)]
    pub stream: Name,
    /// The last event dealt with; must be beyond the recorded one.
    #[n(1)]
    pub through: EventNumber,
}
