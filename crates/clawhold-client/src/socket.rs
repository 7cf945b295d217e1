//! The way to a server over one WebSocket: opened when it is wanted, opened again when it breaks.
//!
//! A call never waits for a connection: while there is none, HTTP takes it. So a server without
//! sockets, or a proxy that lets none through, costs a look now and then. What travels is told in
//! `wire`.

mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use clawhold_api::routes;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::retry::Backoff;
use crate::transport::Patience;

pub(crate) use wire::{NoReply, Reply, Wire};

/// How long a server that has no sockets is not asked for one again.
const ABSENT: Duration = Duration::from_secs(60);
/// Connections in a row that opened and said nothing before the server counts as one without.
const MUTE_MAX: u32 = 2;
/// Bytes read at a time.
const READ_BYTES: usize = 64 * 1_024;

/// The way to one server. It closes when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// There is no connection, and none is sought before `again`.
    Away {
        again: Option<Instant>,
        failures: u32,
    },
    Dialing {
        failures: u32,
    },
    Open {
        wire: Arc<Wire>,
        failures: u32,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Away { again: None, failures: 0 }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let State::Open { wire, .. } =
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
        {
            wire.end();
        }
    }
}

/// Why a dial did not succeed.
struct Failed {
    /// Whether there are no sockets here at all.
    absent: bool,
    reason: String,
}

impl Lane {
    /// Returns the open connection. Seeks one when there is none.
    pub(crate) fn wire(
        self: &Arc<Self>,
        url: &str,
        authorization: Option<&HeaderValue>,
        patience: Patience,
    ) -> Option<Arc<Wire>> {
        let mut state = self.state();
        let failures = match &*state {
            State::Open { wire, .. } if wire.is_open() => return Some(Arc::clone(wire)),
            State::Open { wire, .. } if wire.has_heard() => 0,
            // What lets sockets open but nothing through is left alone for longer and longer.
            State::Open { failures, .. } => {
                let failures = *failures;
                *state = State::Dialing { failures };
                drop(state);
                self.fail(patience.backoff, failures >= MUTE_MAX);
                return None;
            }
            State::Dialing { .. } => return None,
            State::Away { again, failures } => {
                if again.is_some_and(|again| Instant::now() < again) {
                    return None;
                }
                *failures
            }
        };
        *state = State::Dialing { failures };
        drop(state);
        let dial = Dial { lane: Arc::downgrade(self) };
        let (url, authorization) = (url.to_owned(), authorization.cloned());
        tokio::spawn(async move { dial.run(&url, authorization, patience).await });
        None
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.state(), State::Open { wire, .. } if wire.is_open())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, wire: &Arc<Wire>) {
        let mut state = self.state();
        let failures = if let State::Dialing { failures } = &*state { *failures } else { 0 };
        *state = State::Open { wire: Arc::clone(wire), failures };
    }

    /// Notes that a dial did not succeed; `absent` when it will not for a while.
    fn fail(&self, backoff: Backoff, absent: bool) {
        let mut state = self.state();
        let State::Dialing { failures } = &*state else { return };
        let failures = failures.saturating_add(1);
        let pause = if absent { ABSENT } else { backoff.pause(failures) };
        *state = State::Away { again: Some(Instant::now() + pause), failures };
    }
}

/// A dial under way. A lane that nobody uses any more is not kept.
struct Dial {
    lane: Weak<Lane>,
}

impl Drop for Dial {
    fn drop(&mut self) {
        // The runtime may have ended in the middle of it.
        if let Some(lane) = self.lane.upgrade() {
            lane.fail(Backoff::default(), false);
        }
    }
}

impl Dial {
    async fn run(self, url: &str, authorization: Option<HeaderValue>, patience: Patience) {
        match dial(url, authorization, patience).await {
            Ok(stream) => {
                let wire = Arc::new(Wire::default());
                match self.lane.upgrade() {
                    Some(lane) => lane.open(&wire),
                    None => return,
                }
                drop(self);
                tracing::debug!(url, "calls go over a socket");
                wire.carry(stream).await;
                tracing::debug!(url, "the socket ended");
            }
            Err(Failed { absent, reason }) => {
                tracing::debug!(url, reason, absent, "no socket; calls go over HTTP");
                if let Some(lane) = self.lane.upgrade() {
                    lane.fail(patience.backoff, absent);
                }
            }
        }
    }
}

async fn dial(
    url: &str,
    authorization: Option<HeaderValue>,
    patience: Patience,
) -> Result<WebSocketStream<TcpStream>, Failed> {
    let absent = |reason: String| Failed { absent: true, reason };
    let soon = |reason: String| Failed { absent: false, reason };
    let parsed = Url::parse(url).map_err(|error| absent(error.to_string()))?;
    let address = parsed.host_str().zip(parsed.port_or_known_default());
    let (host, port) = address.ok_or_else(|| absent("no host".to_owned()))?;
    let connect = TcpStream::connect(format!("{host}:{port}"));
    let stream = timeout(patience.connect, connect).await.map_err(|_| soon(silence()))?;
    let stream = stream.map_err(|error| soon(error.to_string()))?;
    // Small frames follow each other closely; none waits for the acknowledgement of the last.
    stream.set_nodelay(true).map_err(|error| soon(error.to_string()))?;
    let target = format!("ws://{host}:{port}{}", routes::SOCKET);
    let request = target.into_client_request();
    let mut request = request.map_err(|error| absent(error.to_string()))?;
    if let Some(authorization) = authorization {
        request.headers_mut().insert(AUTHORIZATION, authorization);
    }
    let config = WebSocketConfig::default().read_buffer_size(READ_BYTES).write_buffer_size(0);
    let config = config.max_message_size(None).max_frame_size(None);
    let opening = client_async_with_config(request, stream, Some(config));
    match timeout(patience.one_try, opening).await {
        Err(_) => Err(soon(silence())),
        Ok(Ok((stream, _))) => Ok(stream),
        Ok(Err(Error::Io(error))) => Err(soon(error.to_string())),
        Ok(Err(Error::Http(response))) if is_passing(response.status().as_u16()) => {
            Err(soon(format!("status {}", response.status())))
        }
        Ok(Err(error)) => Err(absent(error.to_string())),
    }
}

fn silence() -> String {
    "no answer in time".to_owned()
}

/// Tells whether a server that refuses so may soon do otherwise.
fn is_passing(status: u16) -> bool {
    status == 429 || status >= 500
}
