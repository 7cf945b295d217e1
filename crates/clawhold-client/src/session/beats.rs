//! The thread that keeps a session alive.
//!
//! One beat is under way at a time, each bounded by what is left of the session. A beat that fails
//! is tried again soon; the thread ends when the session does.

use std::sync::Arc;
use std::time::Duration;

use clawhold_api::role::{Release, Withdraw};
use clawhold_api::session::{BeatReply, CloseSession};
use clawhold_api::{Code, routes};
use reqwest::Method;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::SessionEnd;
use super::belief::{Belief, Errand};
use crate::error::ClientError;
use crate::retry::Backoff;
use crate::transport::Client;

/// The shortest time that one beat gets for its answer.
const TRY_MIN: Duration = Duration::from_millis(50);

/// Starts the thread.
pub(super) fn start(client: Client, belief: Arc<Belief>) -> Result<(), ClientError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(ClientError::Thread)?;
    let name = "clawhold-beats".to_owned();
    let beats = Beats { client, belief, errands: JoinSet::new(), failures: 0 };
    let thread = std::thread::Builder::new().name(name);
    let started = thread.spawn(move || runtime.block_on(beats.run()));
    started.map(drop).map_err(ClientError::Thread)
}

struct Beats {
    client: Client,
    belief: Arc<Belief>,
    errands: JoinSet<()>,
    /// Beats in a row that were not answered well.
    failures: u32,
}

impl Beats {
    async fn run(mut self) {
        let mut closing = self.belief.closing();
        while !*closing.borrow_and_update() {
            self.run_errands();
            let due = self.due();
            tokio::select! {
                _ = closing.changed() => continue,
                () = self.belief.kicked.notified() => {}
                () = tokio::time::sleep(due) => {}
            }
            self.run_errands();
            let end = tokio::select! {
                _ = closing.changed() => continue,
                end = self.beat() => end,
            };
            if let Some(end) = end {
                tracing::warn!(session = self.belief.id, %end, "the session is over");
                self.belief.finish(end);
                return;
            }
        }
        self.close().await;
    }

    /// Returns the time until the next beat: a third of the ttl less a little chance, so that
    /// sessions opened together do not beat together; less after a failure.
    fn due(&self) -> Duration {
        let interval = self.belief.interval();
        if self.failures == 0 {
            let chance = u32::from(fastrand::u8(0..=10));
            return interval - interval * chance / 100;
        }
        let longest_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        Backoff { first_ms: 20, longest_ms }.pause(self.failures)
    }

    /// Sends one beat. Returns how the session ended, if it did.
    async fn beat(&mut self) -> Option<SessionEnd> {
        let sent_ms = self.belief.clock.now_ms();
        match self.send().await {
            Ok(reply) => {
                self.failures = 0;
                self.belief.hear(sent_ms, &reply);
                None
            }
            Err(error) if error.is(Code::NoSession) => Some(SessionEnd::Lost(error.to_string())),
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                if !error.nothing_happened() {
                    self.belief.note_silence(sent_ms);
                }
                let (session, failures) = (self.belief.id, self.failures);
                tracing::debug!(session, failures, %error, "a beat was not answered");
                None
            }
        }
    }

    async fn send(&self) -> Result<BeatReply, ClientError> {
        let beat = self.belief.beat();
        let call = self.client.write(Method::POST, routes::SESSION_BEAT, Some(&beat))?;
        // One try never takes the time that the next one needs. A server that stands still is left
        // for another one before anybody has to think of giving up, which is after two intervals.
        let interval = self.belief.interval();
        let left = self.belief.left();
        let has_others = self.client.urls().len() > 1;
        let one = if self.failures == 0 && has_others { interval / 2 } else { interval };
        let time = if left.is_zero() { one } else { one.min(left) };
        let answer = self.client.try_once(&call, time.max(TRY_MIN)).await?;
        answer.read(&call)
    }

    /// Sends off what nobody waits for; beats go on meanwhile.
    fn run_errands(&mut self) {
        while self.errands.try_join_next().is_some() {}
        for errand in self.belief.take_errands() {
            let client = self.client.within(Duration::from_millis(self.belief.ttl_ms));
            let belief = self.belief.clone();
            self.errands.spawn(async move {
                if let Err(error) = errand.run(&client, &belief).await {
                    tracing::debug!(session = belief.id, ?errand, %error, "was not done");
                }
            });
        }
    }

    async fn close(mut self) {
        self.run_errands();
        let time = Duration::from_millis(self.belief.ttl_ms);
        let errands = async { while self.errands.join_next().await.is_some() {} };
        if tokio::time::timeout(time, errands).await.is_err() {
            tracing::debug!(session = self.belief.id, "closes without an answer to its errands");
        }
        let close = CloseSession { session: self.belief.key.clone() };
        let end = match self.client.within(time).close_session(&close).await {
            Ok(_) => SessionEnd::Closed,
            Err(error) if error.is(Code::NoSession) => SessionEnd::Lost(error.to_string()),
            Err(error) => {
                tracing::warn!(session = self.belief.id, %error, "the session was not closed");
                SessionEnd::Closed
            }
        };
        self.belief.finish(end);
    }
}

impl Errand {
    async fn run(&self, client: &Client, belief: &Belief) -> Result<(), ClientError> {
        let session = belief.key.clone();
        match self {
            Self::Release(role, token) => {
                let release = Release { session, token: *token };
                client.release(role, &release).await.map(drop)
            }
            Self::Withdraw(role) => client.withdraw(role, &Withdraw { session }).await.map(drop),
        }
    }
}
