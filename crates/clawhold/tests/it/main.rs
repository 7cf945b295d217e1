//! The program as its users meet it, and the rules of the house.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod place;

mod automation;
mod config;
mod connection;
mod drill;
mod failover;
mod field;
mod job;
mod lead;
mod nats;
#[expect(dead_code, reason = "these tests use a part of it")]
mod nats_server;
mod openclaw;
mod output;
mod postgres;
mod queue;
mod recovery;
mod role;
mod stream;
mod work;
mod worker;

mod tidy;
