//! Acting as a leader: only through a guard, which looks at the clock each time.
//!
//! Code that was frozen past the deadline finds the guard closed before it runs on; what was sent
//! before that is fenced by the token.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use clawhold_api::job::{Enqueued, NewJob};
use clawhold_api::stream::{Commit, Committed, NewPosition, StreamAppend};
use clawhold_api::{Code, Json};

use crate::leader::LeaderError;
use crate::lease::{Ending, Lease, NotLeader};
use crate::session::Session;
use crate::transport::Written;

/// The longest sleep between two looks at the clock: a host that wakes up finds its sleepers late.
const LOOK: Duration = Duration::from_millis(500);

/// The right to act as the leader, checked at each call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Guard {
    lease: Arc<Lease>,
    session: Session,
}

/// What a leader does in one atomic step: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    position: Option<NewPosition>,
    jobs: Vec<NewJob>,
    appends: Vec<StreamAppend>,
}

impl Step {
    /// Returns a step that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that every event of `stream` up to `through` has been dealt with.
    #[must_use]
    pub fn position(self, stream: impl Into<String>, through: u64) -> Self {
        Self { position: Some(NewPosition { stream: stream.into(), through }), ..self }
    }

    /// Accepts a job.
    #[must_use]
    pub fn job(mut self, job: NewJob) -> Self {
        self.jobs.push(job);
        self
    }

    /// Accepts jobs.
    #[must_use]
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = NewJob>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Appends events to a stream.
    #[must_use]
    pub fn append(mut self, stream: impl Into<String>, events: Vec<Json>) -> Self {
        self.appends.push(StreamAppend { stream: stream.into(), events, expected: None });
        self
    }
}

impl Guard {
    pub(crate) fn new(lease: Arc<Lease>, session: Session) -> Self {
        Self { lease, session }
    }

    /// Checks that the lease holds at this moment.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self) -> Result<(), NotLeader> {
        self.lease.check()
    }

    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.lease.role
    }

    /// Returns the fencing token: give it to whatever is written to.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.lease.token
    }

    /// Returns the time until acting must have ended, if no renewal comes.
    #[must_use]
    pub fn left(&self) -> Duration {
        if self.check().is_err() { Duration::ZERO } else { self.lease.left() }
    }

    /// Runs `work` while the lease holds. Each step of it is preceded by a look at the clock; when
    /// the lease is lost, suspended or given up, `work` is dropped where it waits.
    ///
    /// # Errors
    /// Why the lease does not hold.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, NotLeader> {
        let _busy = self.lease.busy();
        let mut work = pin!(work);
        let mut status = self.lease.watch();
        loop {
            self.check()?;
            let checked = Checked { lease: &self.lease, work: work.as_mut() };
            tokio::select! {
                biased;
                output = checked => return output,
                changed = status.changed() => changed.unwrap_or_default(),
                () = tokio::time::sleep(self.lease.left().min(LOOK)) => {}
            }
        }
    }

    /// Takes a step under the token: it is checked, the position recorded, jobs accepted and
    /// events appended, all or nothing.
    ///
    /// # Errors
    /// [`LeaderError::NotLeader`] before anything is sent when the lease does not hold, or when
    /// the server says that the token was overtaken.
    pub async fn commit(&self, step: Step) -> Result<Written<Committed>, LeaderError> {
        self.check()?;
        let _busy = self.lease.busy();
        let commit = Commit {
            role: self.lease.role.clone(),
            session: self.session.key(),
            token: self.lease.token,
            position: step.position,
            jobs: step.jobs,
            appends: step.appends,
        };
        match self.session.client().commit(&commit).await {
            Ok(committed) => Ok(committed),
            Err(error) if error.is(Code::StaleToken) => {
                let latest_token = error.problem().and_then(|problem| problem.latest_token);
                let latest_token = latest_token.unwrap_or_default();
                self.lease.end(Ending::Lost { latest_token });
                self.session.belief().forget_lease(&self.lease);
                self.check()?;
                Err(error.into())
            }
            Err(error) => {
                if error.is(Code::NoSession) {
                    self.session.kick();
                }
                Err(error.into())
            }
        }
    }

    /// Appends events to a stream under the token.
    ///
    /// # Errors
    /// As [`Guard::commit`].
    pub async fn append(&self, stream: &str, events: Vec<Json>) -> Result<(), LeaderError> {
        self.commit(Step::new().append(stream, events)).await.map(drop)
    }

    /// Accepts jobs under the token.
    ///
    /// # Errors
    /// As [`Guard::commit`].
    pub async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Enqueued, LeaderError> {
        let committed = self.commit(Step::new().jobs(jobs)).await?;
        Ok(Enqueued { jobs: committed.reply.jobs })
    }
}

/// Work that looks at the lease before each step.
struct Checked<'a, F> {
    lease: &'a Lease,
    work: Pin<&'a mut F>,
}

impl<F: Future> Future for Checked<'_, F> {
    type Output = Result<F::Output, NotLeader>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(not) = self.lease.check() {
            return Poll::Ready(Err(not));
        }
        self.work.as_mut().poll(context).map(Ok)
    }
}
