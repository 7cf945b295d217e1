//! The client against a small server of its own: one that drops replies, answers 503, or never
//! answers.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

mod changes;
mod leader;
mod producer;
mod server;
mod session;
mod socket;
mod standby;
mod transport;
mod worker;
