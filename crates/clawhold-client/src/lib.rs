//! The Rust SDK of Clawhold.
//!
//! [`Client`] has a typed call for each route and retries by error code. On top of it stand the
//! four things that a program wants to be: a [`Producer`] of jobs, a [`Worker`] that can drain, a
//! [`Leader`] that keeps its lease or stops in time, and a [`Standby`] that takes over from it.
//! The last three live in a [`Session`], whose beats have a thread of their own.
//!
//! ```no_run
//! use clawhold_client::api::job::Outcome;
//! use clawhold_client::{Client, Worker, stop_signal};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect(&["http://127.0.0.1:7717"], None)?;
//! let worker = Worker::builder(&client, ["mail"]).concurrency(4).handler(|job| async move {
//!     println!("{}", job.payload().get());
//!     Outcome::Completed { result: None }
//! })?;
//! let summary = worker.run(stop_signal()).await?;
//! println!("{} completed, {} handed back", summary.completed, summary.handed_back);
//! # Ok(())
//! # }
//! ```

mod error;

mod call;
mod clock;
mod retry;
mod socket;
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
