//! Many calls over one WebSocket: what its frames hold.
//!
//! A text frame from the client is a JSON array of [`Call`]s, one from the server an array of
//! [`Answer`]s. Calls run side by side and are answered in no order but that of their ends; the
//! `id` says which answer belongs to which call. A call is the same as over HTTP in every other
//! respect. What streams events is read over HTTP.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::json::Json;

/// Bytes of one frame of calls.
pub const FRAME_BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// Calls in one frame.
pub const FRAME_CALLS_MAX: usize = 1_000;
/// Calls of one connection that wait for their answer.
pub const IN_FLIGHT_MAX: usize = 256;
/// Connections of one server.
pub const SOCKETS_MAX: usize = 10_000;

/// One call, or one that is taken back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SocketCall)]
pub struct Call<'a> {
    /// Which call this is; no other that waits for its answer on this connection bears it.
    pub id: u64,
    /// The method: `POST`.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    #[schema(value_type = String)]
    pub method: Cow<'a, str>,
    /// Path and query: `/v1/jobs/claim`.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    #[schema(value_type = String)]
    pub path: Cow<'a, str>,
    /// The `Idempotency-Key`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub key: Option<Cow<'a, str>>,
    /// The body.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Json>)]
    pub body: Option<&'a RawValue>,
    /// Whether the call of this `id` is taken back: it is not answered, and what it waits for is
    /// left to others. A write that is on its way may happen all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel: bool,
}

/// The answer to one call.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SocketAnswer)]
pub struct Answer<'a> {
    /// Which call is answered.
    pub id: u64,
    /// The HTTP status.
    pub status: u16,
    /// The position of a write's entry in the log: `Clawhold-Position`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Whether this repeats the answer to an earlier request: `Idempotency-Replayed`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// Milliseconds after which it is sensible to ask again: `Retry-After`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The methods that the path knows: `Allow`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub allow: Option<Cow<'a, str>>,
    /// The body; text that is no JSON is a string. A status of 400 or more goes with a problem.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Json>)]
    pub body: Option<&'a RawValue>,
}

impl<'a> Call<'a> {
    /// Returns the call that takes call `id` back.
    #[must_use]
    pub fn cancel(id: u64) -> Self {
        let (method, path) = (Cow::Borrowed(""), Cow::Borrowed(""));
        Self { id, method, path, key: None, body: None, cancel: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_as_short_as_it_can_be_and_reads_back() {
        let text = r#"[{"id":7,"method":"POST","path":"/v1/jobs/claim","key":"k\"","body":{"a": 1}},{"id":8,"cancel":true}]"#;
        let calls: Vec<Call<'_>> = serde_json::from_str(text).unwrap();
        assert_eq!(calls[0].key.as_deref(), Some("k\""));
        assert_eq!(calls[0].body.map(RawValue::get), Some(r#"{"a": 1}"#));
        assert_eq!(serde_json::to_string(&calls).unwrap(), text);
        assert_eq!(serde_json::to_string(&Call::cancel(8)).unwrap(), r#"{"id":8,"cancel":true}"#);
        assert!(serde_json::from_str::<Call<'_>>(r#"{"id":8,"methd":"GET"}"#).is_err());
    }

    #[test]
    fn an_answer_may_gain_fields() {
        let text = r#"{"id":7,"status":200,"position":42,"body":null,"later":1}"#;
        let answer: Answer<'_> = serde_json::from_str(text).unwrap();
        assert_eq!((answer.id, answer.status, answer.position), (7, 200, Some(42)));
    }
}
