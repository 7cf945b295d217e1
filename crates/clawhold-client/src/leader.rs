//! Leading a role: a lease that is kept by the session's beats, or given up in time.

use std::sync::Arc;
use std::time::Duration;

use clawhold_api::job::{Enqueued, NewJob};
use clawhold_api::role::{Acquire, AcquireOutcome, HandOver, NextHolder, Release, Released};
use clawhold_api::stream::Committed;
use clawhold_api::{Code, Json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::ms_of;
use crate::error::ClientError;
use crate::guard::{Guard, Step};
use crate::lease::{AskedHandOver, Ending, Lease, NotLeader, Status};
use crate::retry::Backoff;
use crate::session::{Grant, Interest, Session, SessionEnd};
use crate::transport::Written;

/// The longest wait of one request for a role.
const POLL: Duration = Duration::from_secs(10);
/// The longest sleep between two looks at the clock.
const LOOK: Duration = Duration::from_millis(500);

/// How a role is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcquireOptions {
    /// The time of the lease, 200 ms to 24 h; the role's own when absent.
    pub ttl: Option<Duration>,
    /// How long to wait while another session holds the role; `Duration::MAX` for as long as it
    /// takes.
    pub wait: Duration,
    /// The stream that is followed; its recorded position comes with the grant.
    pub stream: Option<String>,
}

impl AcquireOptions {
    /// Returns options that wait as long as it takes.
    #[must_use]
    pub fn patient() -> Self {
        Self { wait: Duration::MAX, ..Self::default() }
    }
}

/// Why a role was not got.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// Another session holds it.
    #[error("role {role:?} is held by another session")]
    Held {
        /// The role.
        role: String,
        /// What the server said, unless the wait was over without a word.
        source: Option<ClientError>,
    },
    /// This session holds it or asks for it already.
    #[error("this session holds role {role:?} or asks for it already; open another session")]
    Busy {
        /// The role.
        role: String,
    },
    /// The session is over.
    #[error("cannot ask for role {role:?}: {end}; open another session")]
    SessionOver {
        /// The role.
        role: String,
        /// How it ended.
        end: SessionEnd,
    },
    /// The call failed.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Why a leader's act did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderError {
    /// The lease does not hold.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// The call failed.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What a leader is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderEvent {
    /// Somebody asked for a hand-over: finish, then call [`Leader::hand_over`] or
    /// [`Leader::release`].
    Asked {
        /// The session that should get the role; the most caught-up standby when absent.
        to: Option<u64>,
        /// When the request lapses and the role is kept, on [`crate::Clock`].
        deadline_ms: u64,
    },
    /// The request for a hand-over lapsed: the role is kept.
    AskLapsed,
    /// The deadline passed without a renewal: nothing may be done until [`LeaderEvent::Resumed`].
    Suspended,
    /// A renewal was confirmed under the same token: acting goes on.
    Resumed,
    /// The lease is over.
    Lost(Ending),
}

/// The holder of a role. Acts only through its [`Guard`]; gives the role up when it is dropped.
#[derive(Debug)]
pub struct Leader {
    session: Session,
    lease: Arc<Lease>,
    position: Option<u64>,
    status: watch::Receiver<Status>,
    told: Told,
}

/// What the user of a leader was told last.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    is_suspended: bool,
    asked: Option<AskedHandOver>,
}

impl Session {
    /// Asks for a role and returns its leader once the grant is confirmed by a beat.
    ///
    /// Dropping the call leaves the line, and gives back what may have been granted meanwhile.
    ///
    /// # Errors
    /// [`AcquireError::Held`] when the wait is over.
    pub async fn acquire(
        &self,
        role: &str,
        options: &AcquireOptions,
    ) -> Result<Leader, AcquireError> {
        let interest = Interest::new(self.belief(), role);
        let busy = || AcquireError::Busy { role: role.to_owned() };
        let mut contest = Contest {
            session: self,
            role,
            options,
            interest: interest.ok_or_else(busy)?,
            end: Instant::now().checked_add(options.wait),
            failures: 0,
        };
        loop {
            let grant = contest.win().await?;
            let lease = contest.interest.lease(grant);
            // Dropped from here on, it gives the role back.
            let mut leader = Leader::new(self.clone(), lease);
            match leader.lease.confirmed().await {
                Ok(()) => {}
                Err(Ending::SessionOver) => return Err(contest.session_over().await),
                Err(ending) => {
                    tracing::debug!(role, grant.token, %ending, "a grant was over at once");
                    contest.interest.forget(grant.token);
                    continue;
                }
            }
            // The position that came with the grant is as of the grant, and no other token can
            // have moved it since. One that did not come is read after the confirmation.
            if options.stream.is_some() {
                leader.position = match grant.position {
                    Some(position) => Some(position),
                    None => contest.read_position(grant.token).await?,
                };
            }
            contest.interest.done();
            return Ok(leader);
        }
    }
}

/// One attempt to get a role.
struct Contest<'a> {
    session: &'a Session,
    role: &'a str,
    options: &'a AcquireOptions,
    interest: Interest,
    /// When the wait is over; never when absent.
    end: Option<Instant>,
    failures: u32,
}

impl Contest<'_> {
    /// Waits for a grant.
    async fn win(&mut self) -> Result<Grant, AcquireError> {
        loop {
            let left = self.left();
            let asked = ask(self.session, self.role, self.options, left.min(POLL), left > POLL);
            let reply = tokio::select! {
                biased;
                grant = self.interest.granted() => return Ok(grant),
                end = self.session.over() => return Err(self.over(end)),
                reply = asked => reply,
            };
            match reply {
                Ok(Some(grant)) => return Ok(grant),
                Ok(None) if self.left().is_zero() => return Err(self.held(None)),
                Ok(None) => self.failures = 0,
                Err(error) => self.fail(error).await?,
            }
        }
    }

    /// Waits before the next try, or tells why there is none.
    async fn fail(&mut self, error: ClientError) -> Result<(), AcquireError> {
        if error.is(Code::NoSession) {
            self.session.kick();
            return Err(self.session_over().await);
        }
        if error.is(Code::RoleHeld) {
            if self.left().is_zero() {
                return Err(self.held(Some(error)));
            }
        } else if !error.retry_is_sensible() || self.left().is_zero() {
            return Err(error.into());
        }
        self.failures = self.failures.saturating_add(1);
        let pause = Backoff::default().pause(self.failures).min(self.left());
        tracing::debug!(role = self.role, failures = self.failures, %error, "asks again");
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Returns the recorded position, as the active server knows it under this token.
    async fn read_position(&mut self, token: u64) -> Result<Option<u64>, AcquireError> {
        loop {
            match ask(self.session, self.role, self.options, Duration::ZERO, false).await {
                Ok(Some(grant)) if grant.token == token => return Ok(grant.position),
                Ok(_) => return Err(self.held(None)),
                Err(error) => self.fail(error).await?,
            }
        }
    }

    fn left(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    fn held(&self, source: Option<ClientError>) -> AcquireError {
        AcquireError::Held { role: self.role.to_owned(), source }
    }

    fn over(&self, end: SessionEnd) -> AcquireError {
        AcquireError::SessionOver { role: self.role.to_owned(), end }
    }

    async fn session_over(&self) -> AcquireError {
        self.over(self.session.over().await)
    }
}

/// Asks for a role once. Returns the grant, or nothing while another session holds it.
async fn ask(
    session: &Session,
    role: &str,
    options: &AcquireOptions,
    wait: Duration,
    stand_by: bool,
) -> Result<Option<Grant>, ClientError> {
    let acquire = Acquire {
        session: session.key(),
        ttl_ms: options.ttl.map(ms_of),
        wait_ms: Some(ms_of(wait)),
        stand_by,
        stream: options.stream.clone(),
    };
    let acquired = session.client().acquire(role, &acquire).await?.reply;
    Ok(match acquired.outcome {
        AcquireOutcome::Waiting => None,
        AcquireOutcome::Granted => {
            let (token, ttl_ms) = (acquired.token, acquired.ttl_ms);
            Some(Grant { token, ttl_ms, position: acquired.position })
        }
    })
}

impl Leader {
    fn new(session: Session, lease: Arc<Lease>) -> Self {
        let status = lease.watch();
        Self { session, lease, position: None, status, told: Told::default() }
    }

    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> &str {
        &self.lease.role
    }

    /// Returns the fencing token.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.lease.token
    }

    /// Returns the position that was recorded for this role in the stream that was named, as of
    /// the grant: resume after it. 0 when nothing was recorded, `None` when no stream was named.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    /// Returns the time of the lease.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.lease.ttl_ms)
    }

    /// Returns when acting must have ended, if no renewal comes, on [`crate::Clock`]. It moves
    /// with each renewal.
    #[must_use]
    pub fn deadline_ms(&self) -> u64 {
        self.lease.deadline_ms()
    }

    /// Returns the time until acting must have ended, if no renewal comes.
    #[must_use]
    pub fn left(&self) -> Duration {
        if self.is_leader() { self.lease.left() } else { Duration::ZERO }
    }

    /// Returns the session that leads.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Tells whether the lease holds at this moment, computed from the clock.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.lease.check().is_ok()
    }

    /// Returns the right to act, if the lease holds at this moment.
    ///
    /// # Errors
    /// Why it does not.
    pub fn guard(&self) -> Result<Guard, NotLeader> {
        self.lease.check()?;
        Ok(Guard::new(self.lease.clone(), self.session.clone()))
    }

    /// Takes an atomic step under the token: see [`Guard::commit`].
    ///
    /// # Errors
    /// As [`Guard::commit`].
    pub async fn commit(&self, step: Step) -> Result<Written<Committed>, LeaderError> {
        self.guard()?.commit(step).await
    }

    /// Appends events to a stream under the token.
    ///
    /// # Errors
    /// As [`Guard::commit`].
    pub async fn append(&self, stream: &str, events: Vec<Json>) -> Result<(), LeaderError> {
        self.guard()?.append(stream, events).await
    }

    /// Accepts jobs under the token.
    ///
    /// # Errors
    /// As [`Guard::commit`].
    pub async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Enqueued, LeaderError> {
        self.guard()?.enqueue(jobs).await
    }

    /// Waits until there is something to tell. Nothing is lost when the call is dropped.
    pub async fn event(&mut self) -> LeaderEvent {
        loop {
            if let Some(event) = self.news() {
                return event;
            }
            let left = self.lease.left();
            let look = if left.is_zero() { LOOK } else { left.min(LOOK) };
            tokio::select! {
                changed = self.status.changed() => changed.unwrap_or_default(),
                () = tokio::time::sleep(look) => {}
            }
        }
    }

    fn news(&mut self) -> Option<LeaderEvent> {
        let status = self.status.borrow_and_update().clone();
        if let Some(ending) = status.ending {
            return Some(LeaderEvent::Lost(ending));
        }
        let is_suspended = self.lease.left().is_zero();
        if is_suspended != self.told.is_suspended {
            self.told.is_suspended = is_suspended;
            return Some(if is_suspended { LeaderEvent::Suspended } else { LeaderEvent::Resumed });
        }
        // The same request comes with each beat, with another travel time.
        let key = |asked: Option<AskedHandOver>| asked.map(|asked| asked.to);
        if key(status.asked) == key(self.told.asked) {
            return None;
        }
        self.told.asked = status.asked;
        Some(match status.asked {
            None => LeaderEvent::AskLapsed,
            Some(asked) => LeaderEvent::Asked { to: asked.to, deadline_ms: asked.until_ms },
        })
    }

    /// Gives the role up; the next candidate gets it in the same entry. Acting ends before the
    /// release is sent: guarded work is dropped and waited for.
    ///
    /// # Errors
    /// Why the server did not take it. The role is given up on this side all the same.
    pub async fn release(self) -> Result<Released, ClientError> {
        self.lease.leave();
        self.lease.idle().await;
        let release = Release { session: self.session.key(), token: self.lease.token };
        let released = self.session.client().release(&self.lease.role, &release).await;
        match released {
            Ok(released) => {
                self.finish(Ending::Released);
                Ok(released.reply)
            }
            Err(error) => {
                // What the server answered is final; what it did not is tried once more by drop.
                if !error.retry_is_sensible() {
                    self.finish(Ending::Released);
                }
                Err(error)
            }
        }
    }

    /// Hands the role to a successor, by session id or label, or to the most caught-up standby.
    /// Acting ends before the request is sent; when it is certain that nothing happened, the role
    /// is kept and acting goes on.
    ///
    /// # Errors
    /// [`LeaderError::Client`] with `not_candidate` or `no_candidate` when there is nobody.
    pub async fn hand_over(&mut self, to: Option<&str>) -> Result<NextHolder, LeaderError> {
        self.lease.check()?;
        self.lease.leave();
        self.lease.idle().await;
        let hand_over = HandOver {
            session: Some(self.session.key()),
            token: Some(self.lease.token),
            to: to.map(str::to_owned),
        };
        match self.session.client().hand_over(&self.lease.role, &hand_over).await {
            Ok(next) => {
                self.finish(Ending::HandedOver);
                Ok(next.reply)
            }
            Err(error) => {
                if error.nothing_happened() {
                    self.lease.stay();
                }
                Err(error.into())
            }
        }
    }

    /// Tells whether the lease may still be held.
    pub(crate) fn lease_lasts(&self) -> bool {
        !self.lease.is_over()
    }

    fn finish(&self, ending: Ending) {
        self.lease.end(ending);
        self.session.belief().forget_lease(&self.lease);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.session.belief().drop_lease(&self.lease);
    }
}
