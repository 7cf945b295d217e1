//! The limits of the product, as `/v1/limits` tells them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every limit that a caller can run into. Bytes, counts, and milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Bytes of a request body.
    pub body_bytes_max: u64,
    /// Bytes of everything that one command keeps.
    pub command_bytes_max: u64,
    /// Levels of nesting in a body.
    pub json_depth_max: u64,
    /// Bytes of a name.
    pub name_bytes_max: u64,
    /// Bytes of a unique or ordering key.
    pub key_bytes_max: u64,
    /// Bytes of a request id.
    pub request_id_bytes_max: u64,
    /// Bytes of a reason, note or error text.
    pub text_bytes_max: u64,
    /// Bytes of a job's payload.
    pub payload_bytes_max: u64,
    /// Bytes of a job's result.
    pub result_bytes_max: u64,
    /// Bytes of a job's checkpoint.
    pub checkpoint_bytes_max: u64,
    /// Bytes of an event.
    pub event_bytes_max: u64,
    /// Jobs, settlements, ids or events in one request.
    pub items_max: u64,
    /// Queues that one claim may name or one worker may serve.
    pub queues_per_claim_max: u64,
    /// Rows of one page of a list.
    pub page_max: u64,
    /// Milliseconds that a long poll may wait.
    pub wait_ms_max: u64,
    /// WebSockets open at once.
    pub sockets_max: u64,
    /// Bytes of one frame of calls on a WebSocket.
    pub socket_frame_bytes_max: u64,
    /// Calls in one frame.
    pub socket_frame_calls_max: u64,
    /// Calls of one WebSocket that wait for their answer.
    pub socket_in_flight_max: u64,
    /// Milliseconds of the shortest lease or session.
    pub ttl_ms_min: u64,
    /// Milliseconds of the longest lease or session.
    pub ttl_ms_max: u64,
    /// Milliseconds of the longest delay, timeout or retention.
    pub duration_ms_max: u64,
    /// The lowest priority.
    pub priority_min: i64,
    /// The highest priority.
    pub priority_max: i64,
    /// The most failed runs that may be asked for.
    pub attempts_max: u64,
    /// Live jobs.
    pub jobs_max: u64,
    /// Queues.
    pub queues_max: u64,
    /// Roles.
    pub roles_max: u64,
    /// Streams.
    pub streams_max: u64,
    /// Live sessions.
    pub sessions_max: u64,
    /// Sessions that wait for one role.
    pub candidates_max: u64,
    /// Requests whose answer is kept for a retry.
    pub requests_max: u64,
    /// Milliseconds for which a request's answer is kept.
    pub request_ms: u64,
}
