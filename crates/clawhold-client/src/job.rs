//! A job as its handler sees it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clawhold_api::job::{Checkpoint, ClaimedJob, Progress};
use clawhold_api::{Code, Json};
use tokio::sync::watch;

use crate::error::ClientError;
use crate::session::{DrainOrder, Hold, Session};

/// Why a handler must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Another claim owns the job, or it has ended: nothing that is said about it counts.
    Superseded,
    /// The session that held it is over: it belongs to somebody else soon.
    SessionOver,
    /// It was cancelled: stop and return.
    Cancelled,
    /// The worker leaves and its time is up: return what the next holder needs.
    DrainDeadline,
}

impl StopReason {
    /// Tells whether the job is no longer this worker's.
    #[must_use]
    pub fn is_lost(self) -> bool {
        match self {
            Self::Superseded | Self::SessionOver => true,
            Self::Cancelled | Self::DrainDeadline => false,
        }
    }
}

/// A job under one claim. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Job {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    claimed: ClaimedJob,
    hold: Arc<Hold>,
    session: Session,
    drain: watch::Receiver<Option<DrainOrder>>,
    checkpoints: AtomicU64,
    /// The latest checkpoint, until the server has it.
    unsent: Mutex<Option<(u64, Json)>>,
}

impl Job {
    pub(crate) fn new(
        claimed: ClaimedJob,
        hold: Arc<Hold>,
        session: Session,
        drain: watch::Receiver<Option<DrainOrder>>,
    ) -> Self {
        let (checkpoints, unsent) = (AtomicU64::new(0), Mutex::new(None));
        Self { inner: Arc::new(Inner { claimed, hold, session, drain, checkpoints, unsent }) }
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.inner.hold
    }

    /// Returns the job's id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.claimed.id
    }

    /// Returns the number of the claim.
    #[must_use]
    pub fn claim(&self) -> u64 {
        self.inner.claimed.claim
    }

    /// Returns the queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.inner.claimed.queue
    }

    /// Returns what the handler gets.
    #[must_use]
    pub fn payload(&self) -> &Json {
        &self.inner.claimed.payload
    }

    /// Returns which try this is: 1 for the first.
    #[must_use]
    pub fn attempt(&self) -> u64 {
        self.inner.claimed.attempt
    }

    /// Returns what the holder before left to go on from.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<&Json> {
        self.inner.claimed.checkpoint.as_ref()
    }

    /// Returns the job as it was handed out.
    #[must_use]
    pub fn claimed(&self) -> &ClaimedJob {
        &self.inner.claimed
    }

    /// Returns the session that holds the job.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.inner.session
    }

    /// Returns why the handler must stop, if it must.
    #[must_use]
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.inner.hold.lost()
    }

    /// Waits until the handler must stop.
    pub async fn stopped(&self) -> StopReason {
        let mut lost = self.inner.hold.watch();
        let lost = lost.wait_for(Option::is_some).await;
        lost.ok().and_then(|lost| *lost).unwrap_or(StopReason::SessionOver)
    }

    /// Tells whether the claim certainly holds at this moment: the session was confirmed in time
    /// and nobody said that the job is lost. When it does not, it may: a server that is away takes
    /// no job from anybody.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        let is_lost = self.stop_reason().is_some_and(StopReason::is_lost);
        !is_lost && self.inner.session.is_confirmed()
    }

    /// Returns the drain of the worker, if one is in force.
    #[must_use]
    pub fn drain(&self) -> Option<DrainOrder> {
        self.inner.drain.borrow().clone()
    }

    /// Waits until the worker is asked to leave. The handler may go on until it is stopped, finish
    /// early, or hand the job back.
    pub async fn drain_asked(&self) -> DrainOrder {
        let mut drain = self.inner.drain.clone();
        loop {
            let order = drain.borrow_and_update().clone();
            if let Some(order) = order {
                return order;
            }
            if drain.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns how long this run may take, if that is limited.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.inner.claimed.timeout_ms.map(Duration::from_millis)
    }

    /// Says that the handler moves. Progress that cannot be told is no reason to stop.
    ///
    /// # Errors
    /// As every call; `superseded` when another claim owns the job, which also stops the handler.
    pub async fn progress(
        &self,
        percent: Option<u8>,
        note: Option<String>,
    ) -> Result<(), ClientError> {
        let percent = percent.map(u64::from);
        let (session, job, claim) = (self.inner.session.key(), self.id(), self.claim());
        let progress = Progress { session, job, claim, percent, note };
        let said = self.inner.session.client().progress(&progress).await.map(drop);
        self.heed(said)
    }

    /// Keeps what the next holder needs to go on from here. Checkpoints are numbered in the order
    /// of these calls. One that does not arrive goes along when the job is handed back.
    ///
    /// # Errors
    /// As every call; `superseded` when another claim owns the job, which also stops the handler.
    pub async fn checkpoint(&self, checkpoint: Json) -> Result<(), ClientError> {
        let number = self.inner.checkpoints.fetch_add(1, Ordering::SeqCst) + 1;
        self.keep(number, checkpoint.clone());
        let (session, job, claim) = (self.inner.session.key(), self.id(), self.claim());
        let request = Checkpoint { session, job, claim, number, checkpoint };
        let said = self.inner.session.client().checkpoint(&request).await.map(drop);
        // What is refused would be refused again; what is unknown goes along.
        if said.as_ref().err().is_none_or(|error| !error.retry_is_sensible()) {
            self.forget(number);
        }
        self.heed(said)
    }

    /// Returns the latest checkpoint that the server may not have.
    pub(crate) fn unsent_checkpoint(&self) -> Option<Json> {
        let unsent = self.inner.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        unsent.as_ref().map(|(_, checkpoint)| checkpoint.clone())
    }

    fn keep(&self, number: u64, checkpoint: Json) {
        let mut unsent = self.inner.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        if unsent.as_ref().is_none_or(|(known, _)| *known < number) {
            *unsent = Some((number, checkpoint));
        }
    }

    fn forget(&self, number: u64) {
        let mut unsent = self.inner.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        if unsent.as_ref().is_some_and(|(known, _)| *known <= number) {
            *unsent = None;
        }
    }

    fn heed(&self, said: Result<(), ClientError>) -> Result<(), ClientError> {
        if said.as_ref().is_err_and(|error| error.is(Code::Superseded)) {
            self.inner.hold.lose(StopReason::Superseded);
        }
        said
    }
}
