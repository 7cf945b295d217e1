//! Every decision of Clawhold, as two pure machines over plain data.
//!
//! [`State`] knows what a command means; `Replica` knows what one server does with the log.
//! Neither reads a clock, draws a random number or touches the world: time and identity arrive
//! with each entry, effects leave as data.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod alert;
pub mod answer;
pub mod audit;
pub mod automation;
pub mod beat;
pub mod catalog;
pub mod change;
pub mod check;
pub mod command;
pub mod condition;
pub mod frozen;
pub mod job;
pub mod limits;
pub mod operation;
pub mod outbox;
pub mod prose;
pub mod queue;
pub mod record;
mod renewal;
pub mod replay;
pub mod replica;
pub mod request;
pub mod restore;
pub mod role;
pub mod run;
pub mod session;
mod shared;
pub mod snapshot;
mod state;
pub mod stream;
pub mod units;
mod worker;

pub use state::{ActiveServer, Applied, NextDue, State};
