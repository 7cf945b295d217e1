//! A worker: claims jobs, runs their handlers, settles them, and leaves without losing one.
//!
//! The loop of one session lives in `crew`, the settling in `settle`, the way out in `leaving`. A
//! session that is lost is followed by another by itself.

mod crew;
mod leaving;
mod settle;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clawhold_api::job::Outcome;

use crate::error::ClientError;
use crate::job::Job;
use crate::retry::Backoff;
use crate::session::{Session, SessionOptions};
use crate::transport::Client;

use crew::{Crew, Finish};

/// The time to leave when nothing is said.
const DRAIN_DEFAULT: Duration = Duration::from_secs(25);
/// The time that a stopped handler gets before it is dropped, when nothing is said.
const STOP_GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// Jobs that one worker may hold.
const SLOTS_MAX: u64 = 1_000;
/// Queues that one worker may serve.
const QUEUES_MAX: usize = 100;
/// The longest time to leave.
const DRAIN_MAX: Duration = Duration::from_secs(86_400);

/// What runs for each job.
type Handler =
    Arc<dyn Fn(Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync + 'static>;

/// Why a worker ended otherwise than by leaving.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The server does not let it work, and waiting does not mend that.
    #[error("the worker cannot work")]
    Client(#[source] ClientError),
}

/// What a worker did, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Jobs it was given.
    pub claimed: u64,
    /// Jobs it completed.
    pub completed: u64,
    /// Runs that failed, dead letters included.
    pub failed: u64,
    /// Jobs that it set aside for a while.
    pub snoozed: u64,
    /// Jobs that it handed back.
    pub handed_back: u64,
    /// Jobs that another claim took over before it settled them, those of a lost session included.
    pub superseded: u64,
    /// Jobs whose settlement was not answered before it had to go; the server returns them.
    pub unsettled: u64,
    /// Sessions that it had.
    pub sessions: u64,
}

/// What a worker is made of.
#[derive(Clone)]
pub struct WorkerBuilder {
    client: Client,
    session: SessionOptions,
    concurrency: u64,
    prefetch: u64,
    drain: Duration,
    stop_grace: Duration,
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder").field("session", &self.session).finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    /// Sets what people call the worker; host and pid when it is not set.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.session.label = label.into();
        self
    }

    /// Sets the time without a beat after which the worker is lost; 10 s when it is not set.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.session.ttl = Some(ttl);
        self
    }

    /// Sets the agent that does the work.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.session.agent = Some(agent.into());
        self
    }

    /// Sets where the worker runs, for people; host and pid when it is not set.
    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.session.place = Some(place.into());
        self
    }

    /// Sets how many handlers run at once; 1 when it is not set.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u64) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Sets how many more jobs are claimed ahead; none when it is not set.
    #[must_use]
    pub fn prefetch(mut self, prefetch: u64) -> Self {
        self.prefetch = prefetch;
        self
    }

    /// Sets the time that handlers get when the worker is shut down; 25 s when it is not set.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.drain = deadline;
        self
    }

    /// Sets the time that a handler gets after it was told to stop, before it is dropped where it
    /// waits; 10 s when it is not set.
    #[must_use]
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.stop_grace = grace;
        self
    }

    /// Returns the worker that runs `handler` for each job.
    ///
    /// # Errors
    /// [`ClientError::Setting`] when a setting is out of its range.
    pub fn handler<H, F>(mut self, handler: H) -> Result<Worker, ClientError>
    where
        H: Fn(Job) -> F + Send + Sync + 'static,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let slots = self.concurrency.saturating_add(self.prefetch);
        check("queues", self.session.queues.len(), 1..=QUEUES_MAX)?;
        check("concurrency", self.concurrency, 1..=SLOTS_MAX)?;
        check("concurrency and prefetch together", slots, 1..=SLOTS_MAX)?;
        check("drain deadline in seconds", self.drain.as_secs(), 0..=DRAIN_MAX.as_secs())?;
        self.session.slots = Some(slots);
        let handler: Handler = Arc::new(move |job| Box::pin(handler(job)));
        Ok(Worker { settings: self, slots, handler })
    }
}

fn check<T: PartialOrd + fmt::Display>(
    name: &'static str,
    value: T,
    allowed: std::ops::RangeInclusive<T>,
) -> Result<(), ClientError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let reason = format!("is out of range, allowed is {} to {}", allowed.start(), allowed.end());
    Err(ClientError::Setting { name, value: value.to_string(), reason })
}

/// A worker, ready to run.
#[derive(Clone)]
pub struct Worker {
    settings: WorkerBuilder,
    slots: u64,
    handler: Handler,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Worker {
    /// Returns what a worker on these queues is made of, every setting at its default.
    #[must_use]
    pub fn builder<Q: Into<String>>(
        client: &Client,
        queues: impl IntoIterator<Item = Q>,
    ) -> WorkerBuilder {
        let queues = queues.into_iter().map(Into::into).collect();
        WorkerBuilder {
            client: client.clone(),
            session: SessionOptions { queues, ..SessionOptions::default() },
            concurrency: 1,
            prefetch: 0,
            drain: DRAIN_DEFAULT,
            stop_grace: STOP_GRACE_DEFAULT,
        }
    }

    /// Works until `shutdown` is ready or the server sends the worker home, then leaves: intake
    /// stops first, what was not begun goes back at once, handlers get until the deadline, the
    /// rest is handed back with its latest checkpoint, and the session is closed.
    ///
    /// [`crate::stop_signal`] is a `shutdown` that is ready on SIGTERM and SIGINT.
    ///
    /// # Errors
    /// [`WorkerError`] when the server does not let it work; what it held was handed back.
    pub async fn run<S: Future<Output = ()>>(&self, shutdown: S) -> Result<Summary, WorkerError> {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut summary = Summary::default();
        loop {
            let session = tokio::select! {
                biased;
                () = &mut shutdown => return Ok(summary),
                session = self.open() => session.map_err(WorkerError::Client)?,
            };
            summary.sessions += 1;
            tracing::info!(session = session.id(), "works");
            let crew = Crew::new(self, session, &mut summary);
            match crew.work(shutdown.as_mut()).await {
                Finish::Left => return Ok(summary),
                Finish::Refused(error) => return Err(WorkerError::Client(error)),
                Finish::SessionOver(end) => tracing::warn!(%end, "opens another session"),
            }
        }
    }

    /// Opens a session, however long that takes.
    async fn open(&self) -> Result<Session, ClientError> {
        let mut failures = 0;
        loop {
            match Session::open(&self.settings.client, self.settings.session.clone()).await {
                Ok(session) => return Ok(session),
                Err(error) if error.retry_is_sensible() => {
                    failures += 1;
                    tracing::warn!(failures, %error, "no session yet");
                    tokio::time::sleep(Backoff::default().pause(failures)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
