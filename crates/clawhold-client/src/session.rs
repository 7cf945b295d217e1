//! A session: one incarnation of one process, kept alive by a thread of its own.
//!
//! The beats share no thread with anything else, so that busy handlers never let a session lapse.
//! What the session believes to hold is kept in `belief`; the thread lives in `beats`.

mod beats;
mod belief;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clawhold_api::SessionKey;
use clawhold_api::session::OpenSession;
use tokio::sync::watch;

use crate::clock::{Clock, ms_of};
use crate::error::ClientError;
use crate::transport::Client;

pub(crate) use belief::{Belief, Grant, Hold, Interest};

/// What a session is opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// What people call it; host and pid when empty.
    pub label: String,
    /// The time without a beat after which it is lost, 200 ms to 24 h; 10 s when absent.
    pub ttl: Option<Duration>,
    /// The queues it works on; none for a session that is no worker.
    pub queues: Vec<String>,
    /// Jobs it may hold at once; 1 when absent.
    pub slots: Option<u64>,
    /// The agent that does its work.
    pub agent: Option<String>,
    /// Where it runs, for people; host and pid when absent.
    pub place: Option<String>,
}

impl SessionOptions {
    /// Returns the options of a session that bears `label`.
    #[must_use]
    pub fn labelled(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionEnd {
    /// It was closed.
    #[error("the session was closed")]
    Closed,
    /// The server says that it is over: it was not heard of in time.
    #[error("the session was lost: {0}")]
    Lost(String),
}

/// A drain in force, with its local deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainOrder {
    /// When what is still held is taken back, on [`Clock`].
    pub deadline_ms: u64,
    /// Why.
    pub reason: String,
}

/// A live session. Cheap to clone; it is closed when the last clone is dropped.
#[derive(Clone)]
pub struct Session {
    owner: Arc<Owner>,
}

/// Closes the session when nobody is left who uses it.
struct Owner {
    client: Client,
    belief: Arc<Belief>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.belief.close();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a session and starts its beats.
    ///
    /// # Errors
    /// As every call; [`ClientError::Thread`] when the beats cannot be started.
    pub async fn open(client: &Client, options: SessionOptions) -> Result<Self, ClientError> {
        let client = client.for_many();
        let clock = Clock::default();
        let place = options.place.unwrap_or_else(place);
        let label = if options.label.is_empty() { place.clone() } else { options.label };
        let request = OpenSession {
            label,
            ttl_ms: options.ttl.map(ms_of),
            queues: options.queues,
            slots: options.slots,
            agent: options.agent,
            place: Some(place),
        };
        // The time of the first try counts: the session may have been opened by it.
        let sent_ms = clock.now_ms();
        let opened = client.open_session(&request).await?.reply;
        let belief = Arc::new(Belief::new(&opened, sent_ms, clock));
        beats::start(client.apart()?, belief.clone())?;
        Ok(Self { owner: Arc::new(Owner { client, belief }) })
    }

    /// Returns the session's id, which others see.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.belief().id
    }

    /// Returns the proof of being this session.
    #[must_use]
    pub fn key(&self) -> SessionKey {
        self.belief().key.clone()
    }

    /// Returns the time without a beat after which the session is lost.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.belief().ttl_ms)
    }

    /// Returns the client that the session was opened with.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.owner.client
    }

    /// Tells whether the session is certainly alive at this moment. When it is not, it may be: a
    /// server that is away expires nobody.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.end().is_none() && !self.belief().left().is_zero()
    }

    /// Returns how the session ended, if it did.
    #[must_use]
    pub fn end(&self) -> Option<SessionEnd> {
        self.belief().end()
    }

    /// Waits until the session is over.
    pub async fn over(&self) -> SessionEnd {
        self.belief().over().await
    }

    /// Returns the drain that the server put in force, as it changes.
    #[must_use]
    pub fn drain(&self) -> watch::Receiver<Option<DrainOrder>> {
        self.belief().drain()
    }

    /// Sends a beat at once.
    pub fn kick(&self) {
        self.belief().kick();
    }

    /// Reports how far this session has come with the stream of a role it stands by for.
    pub fn report_consumed(&self, role: &str, through: u64) {
        self.belief().consume(role, through);
    }

    /// Ends the session in good order: what it still holds goes back. Returns when the server has
    /// answered, or when it did not within the session's ttl.
    pub async fn close(&self) -> SessionEnd {
        self.belief().close();
        self.over().await
    }

    pub(crate) fn belief(&self) -> &Arc<Belief> {
        &self.owner.belief
    }
}

/// Returns host and pid, for people.
fn place() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let host: String =
        host.chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c)).collect();
    let host = if host.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        host
    } else {
        "host".to_owned()
    };
    let host: String = host.chars().take(64).collect();
    format!("{host}:{}", std::process::id())
}
