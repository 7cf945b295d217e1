//! Standing by for a role: following its stream, warm, until the role is granted.
//!
//! A standby is promoted because the lease lapsed or was handed over, never because a timer of its
//! own fired. The order is fixed: the grant raises the token, a beat confirms it, the recorded
//! position is read, then it acts.

use std::time::Duration;

use clawhold_api::Code;
use clawhold_api::stream::{Event, EventQuery};
use tokio::task::{JoinError, JoinHandle};

use crate::error::ClientError;
use crate::leader::{AcquireError, AcquireOptions, Leader};
use crate::retry::Backoff;
use crate::session::Session;

/// Milliseconds for which one request waits for events.
const POLL_MS: u64 = 10_000;
/// Events of one batch when nothing is said.
const BATCH_DEFAULT: u64 = 256;

/// How a standby follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandbyOptions {
    /// The stream that leader and standby consume.
    pub stream: String,
    /// The last event that this standby has consumed already; 0 to begin at the beginning.
    pub after: u64,
    /// The time of the lease, 200 ms to 24 h; the role's own when absent.
    pub ttl: Option<Duration>,
    /// Events of one batch, 1 to 1000.
    pub batch: u64,
}

impl StandbyOptions {
    /// Returns options that follow `stream` from its beginning.
    #[must_use]
    pub fn following(stream: impl Into<String>) -> Self {
        Self { stream: stream.into(), after: 0, ttl: None, batch: BATCH_DEFAULT }
    }
}

/// Why a standby cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandbyError {
    /// Events that are needed are no longer kept. The role was not taken, or is given back.
    #[error(
        "stream {stream:?} keeps events from {first} on, but role {role:?} needs those after \
         {after}; record a position or rebuild from elsewhere, then stand by again"
    )]
    Gap {
        /// The role.
        role: String,
        /// The stream.
        stream: String,
        /// The last event that was dealt with.
        after: u64,
        /// The first event kept.
        first: u64,
    },
    /// It was promoted, or failed for good, before.
    #[error("this standby for role {role:?} is over; stand by again")]
    Over {
        /// The role.
        role: String,
    },
    /// The role cannot be waited for.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The stream cannot be read.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What a standby is given next.
#[derive(Debug)]
pub enum Followed {
    /// Events to consume. They count as consumed when the next ones are asked for.
    Events(Vec<Event>),
    /// The role was granted: act.
    Promoted(Promotion),
}

/// A role as it was taken over.
#[derive(Debug)]
pub struct Promotion {
    /// The leader.
    pub leader: Leader,
    /// The recorded position: the former leader dealt with every event up to it.
    pub position: u64,
    /// The last event that this standby has consumed.
    pub consumed: u64,
}

/// One that stands by for a role. Leaves the line when it is dropped.
#[derive(Debug)]
pub struct Standby {
    session: Session,
    role: String,
    options: StandbyOptions,
    /// The last event given to the user.
    after: u64,
    /// Absent once it was answered.
    asking: Option<Asking>,
    /// The role was granted and what is needed to go on is not checked yet.
    won: Option<Leader>,
    failures: u32,
}

/// The request for the role, under way on a task of its own: the grant is confirmed and renewed
/// even while the user is busy with events.
#[derive(Debug)]
struct Asking(JoinHandle<Result<Leader, AcquireError>>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Standby {
    /// Stands by for a role. Must be called within an async runtime.
    #[must_use]
    pub fn join(session: &Session, role: impl Into<String>, options: StandbyOptions) -> Self {
        let role = role.into();
        let acquire = AcquireOptions {
            ttl: options.ttl,
            wait: Duration::MAX,
            stream: Some(options.stream.clone()),
        };
        session.report_consumed(&role, options.after);
        let asking = {
            let (session, role) = (session.clone(), role.clone());
            tokio::spawn(async move { session.acquire(&role, &acquire).await })
        };
        let (session, after) = (session.clone(), options.after);
        let asking = Some(Asking(asking));
        Self { session, role, options, after, asking, won: None, failures: 0 }
    }

    /// Returns the last event that was given out.
    #[must_use]
    pub fn after(&self) -> u64 {
        self.after
    }

    /// Waits for the next events or the promotion. What was given out before counts as consumed.
    /// Nothing is lost when the call is dropped before it is ready.
    ///
    /// # Errors
    /// [`StandbyError::Gap`] when events that are needed are no longer kept.
    pub async fn next(&mut self) -> Result<Followed, StandbyError> {
        self.session.report_consumed(&self.role, self.after);
        loop {
            if self.won.is_some() {
                return self.promote().await.map(Followed::Promoted);
            }
            let Some(asking) = &mut self.asking else {
                return Err(StandbyError::Over { role: self.role.clone() });
            };
            let pause = match self.failures {
                0 => Duration::ZERO,
                failures => Backoff { first_ms: 50, longest_ms: 500 }.pause(failures),
            };
            let events = read(&self.session, &self.options, self.after, pause);
            let read = tokio::select! {
                biased;
                joined = &mut asking.0 => {
                    self.asking = None;
                    self.won = Some(self.joined(joined)?);
                    continue;
                }
                read = events => read,
            };
            match read {
                Ok(events) if events.is_empty() => self.failures = 0,
                Ok(events) => {
                    self.failures = 0;
                    self.after = events.last().map_or(self.after, |event| event.number);
                    return Ok(Followed::Events(events));
                }
                Err(error) => self.fail(error)?,
            }
        }
    }

    /// Notes that the stream could not be read, or tells why reading again is pointless.
    fn fail(&mut self, error: ClientError) -> Result<(), StandbyError> {
        if error.is(Code::BelowFloor) {
            return Err(self.gap(self.after, &error));
        }
        // A stream is made by its first event; until then there is nothing to follow.
        let is_missing = error.is(Code::NotFound) && self.after == 0;
        if !is_missing && !error.retry_is_sensible() {
            return Err(error.into());
        }
        self.failures = self.failures.saturating_add(1);
        tracing::debug!(role = self.role, failures = self.failures, %error, "reads again");
        Ok(())
    }

    fn joined(
        &self,
        joined: Result<Result<Leader, AcquireError>, JoinError>,
    ) -> Result<Leader, StandbyError> {
        // A task that was aborted with its runtime, or panicked, got no role.
        let over = || StandbyError::Over { role: self.role.clone() };
        Ok(joined.map_err(|_| over())??)
    }

    /// Makes sure that the event after the recorded position is still kept.
    async fn promote(&mut self) -> Result<Promotion, StandbyError> {
        self.session.belief().forget_consumed(&self.role);
        let position = self.won.as_ref().and_then(Leader::position).unwrap_or_default();
        let kept = self.keeps_after(position).await;
        let leader = self.won.take();
        kept?;
        let leader = leader.ok_or_else(|| StandbyError::Over { role: self.role.clone() })?;
        Ok(Promotion { leader, position, consumed: self.after })
    }

    async fn keeps_after(&self, position: u64) -> Result<(), StandbyError> {
        let wanted = EventQuery { after: Some(position), limit: Some(1), wait_ms: None };
        let mut failures = 0;
        loop {
            let lasts = self.won.as_ref().is_some_and(Leader::lease_lasts);
            match self.session.client().events(&self.options.stream, &wanted).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is(Code::BelowFloor) => return Err(self.gap(position, &error)),
                Err(error) if error.is(Code::NotFound) && position == 0 => return Ok(()),
                Err(error) if error.retry_is_sensible() && lasts => {
                    failures += 1;
                    tokio::time::sleep(Backoff::default().pause(failures)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn gap(&self, after: u64, error: &ClientError) -> StandbyError {
        let first = error.problem().and_then(|problem| problem.first).unwrap_or_default();
        let (role, stream) = (self.role.clone(), self.options.stream.clone());
        StandbyError::Gap { role, stream, after, first }
    }
}

async fn read(
    session: &Session,
    options: &StandbyOptions,
    after: u64,
    pause: Duration,
) -> Result<Vec<Event>, ClientError> {
    tokio::time::sleep(pause).await;
    let (after, limit, wait_ms) = (Some(after), Some(options.batch), Some(POLL_MS));
    let wanted = EventQuery { after, limit, wait_ms };
    Ok(session.client().events(&options.stream, &wanted).await?.events)
}
