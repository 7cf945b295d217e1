//! The Rust SDK of Clawhold.
//!
//! [`Client`] has a typed call for each route and retries by error code. On top of it stand the
//! four things that a program wants to be: a [`Producer`] of jobs, a [`Worker`] that can drain, a
//! [`Leader`] that keeps its lease or stops in time, and a [`Standby`] that takes over from it.
//! The last three live in a [`Session`], whose beats have a thread of their own.

mod error;

mod clock;
mod retry;
mod transport;

mod calls;
mod changes;
mod pages;
mod sse;

mod session;

mod guard;
mod leader;
mod lease;
mod standby;

mod job;
mod producer;
mod signal;
mod worker;

pub use changes::{ChangeEvent, Changes};
pub use clawhold_api as api;
pub use clock::Clock;
pub use error::ClientError;
pub use guard::{Guard, Step};
pub use job::{Job, StopReason};
pub use leader::{AcquireError, AcquireOptions, Leader, LeaderError, LeaderEvent};
pub use lease::{Ending, NotLeader, WhyNot};
pub use pages::Pages;
pub use producer::Producer;
pub use retry::{Backoff, Verdict};
pub use session::{DrainOrder, Session, SessionEnd, SessionOptions};
pub use signal::stop_signal;
pub use standby::{Followed, Promotion, Standby, StandbyError, StandbyOptions};
pub use transport::{Client, Patience, Written};
pub use worker::{Summary, Worker, WorkerBuilder, WorkerError};
