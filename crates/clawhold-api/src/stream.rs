//! Streams: events in order, who has dealt with which, and the atomic step of a coordinator.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::job::{EnqueuedJob, NewJob};
use crate::json::Json;
use crate::session::SessionKey;

/// One stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// The first event kept; one more than `last` when none is.
    pub first: u64,
    /// The last event; 0 before the first.
    pub last: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Its retention.
    pub settings: StreamSettings,
    /// How many roles have recorded a position in it.
    pub positions_count: u64,
}

/// The retention of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamSettings {
    /// Events kept.
    pub events_max: u64,
    /// Bytes kept.
    pub bytes_max: u64,
    /// Milliseconds for which events are kept; 0 for no limit.
    pub age_ms_max: u64,
}

/// Makes a stream or sets its retention. What is absent stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetStream {
    /// Events kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_max: Option<u64>,
    /// Bytes kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
    /// Milliseconds for which events are kept; 0 for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ms_max: Option<u64>,
}

/// Adds events to a stream, which is made when it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The events in their order, 1 to 1000, each at most 262144 bytes.
    pub events: Vec<Json>,
    /// The number that the first of them must get; a mismatch is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

/// Events as they were appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Appended {
    /// The number of the last one.
    pub last: u64,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Those after this number; from the beginning (0) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Events wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
    /// Milliseconds to wait for the first event, 0 to 60000; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0, maximum = 60000, default = 0)]
    pub wait_ms: Option<u64>,
}

/// Events of a stream, and which of them are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Events {
    /// The events; a reply is cut at 4 MiB.
    pub events: Vec<Event>,
    /// The first event kept; one more than `last` when none is.
    pub first: u64,
    /// The last event; 0 before the first.
    pub last: u64,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its number.
    pub number: u64,
    /// What was appended.
    pub event: Json,
}

/// The positions recorded in a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Positions {
    /// One for each role.
    pub positions: Vec<RolePosition>,
}

/// How far one role has come with a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RolePosition {
    /// The role.
    pub role: String,
    /// Every event up to this one, itself included, has been dealt with.
    pub through: u64,
    /// The token it was recorded under.
    pub token: u64,
    /// When it was recorded.
    pub at: String,
    /// Events between that one and the stream's end.
    pub lag: u64,
}

/// The atomic step of a coordinator: checks the token, records the position, accepts jobs and
/// appends events. All of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The role under which the caller acts.
    pub role: String,
    /// The session that holds it.
    pub session: SessionKey,
    /// The token of the grant.
    pub token: u64,
    /// The position to record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<NewPosition>,
    /// Jobs to accept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<NewJob>,
    /// Events to append.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appends: Vec<StreamAppend>,
}

/// A position to record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPosition {
    /// The stream.
    pub stream: String,
    /// The last event dealt with; must be beyond the recorded one.
    pub through: u64,
}

/// Events to append to one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamAppend {
    /// The stream.
    pub stream: String,
    /// The events in their order, 1 to 1000.
    pub events: Vec<Json>,
    /// The number that the first of them must get; a mismatch is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

/// A coordinator's step as it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Committed {
    /// The jobs accepted, in the order asked.
    pub jobs: Vec<EnqueuedJob>,
}
