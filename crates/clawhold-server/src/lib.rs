//! The shell around the core: sockets, clock, the loop that drives the replica, HTTP, metrics.
//!
//! [`start`] opens the store, takes its part in the log and serves HTTP on a listener that the
//! caller owns. Any server takes any request: one that is not active hands it to the one that is.

pub mod auth;
mod clock;
mod driver;
mod forward;
mod http;
mod journal;
mod keeper;
mod notify;
mod outside;
pub mod recovery;
mod run;
mod secret;
mod sender;
mod signature;
mod sink;

pub use clawhold_log::{remove_scratch, scratch_url, shown};
pub use driver::{Broken, Failure, Standing};
pub use run::{
    Config, HOLD_MS_DEFAULT, HOLD_MS_MAX, HOLD_MS_MIN, Running, StartError, Stopped, hint, start,
};
