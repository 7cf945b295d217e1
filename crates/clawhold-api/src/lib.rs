//! The HTTP contract of Clawhold: paths, bodies, error codes and the OpenAPI document.
//!
//! Bodies are JSON in snake_case. A request with an unknown field is refused, so that a typing
//! error never passes for a default; a reply may gain fields, so readers skip what they do not
//! know. Positions, tokens and ids are JSON numbers of at most 2^53-1. Durations end in `_ms`.
//! Moments are RFC 3339 in UTC with milliseconds: `2026-11-30T16:00:00.000Z`.

pub mod automation;
pub mod error;
pub mod job;
pub mod json;
pub mod limits;
pub mod openapi;
pub mod page;
pub mod queue;
pub mod role;
pub mod routes;
pub mod server;
pub mod session;
pub mod socket;
pub mod stream;
pub mod worker;

pub use automation::Noun;
pub use error::{Code, Problem};
pub use json::Json;
pub use page::{Done, Nothing, Page};
pub use session::SessionKey;
