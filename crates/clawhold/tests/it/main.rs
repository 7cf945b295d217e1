//! The program as its users meet it, and the rules of the house.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod place;

mod config;
mod connection;
mod job;
mod openclaw;
mod output;
mod queue;
mod role;
mod stream;
mod worker;

mod tidy;
