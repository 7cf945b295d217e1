//! Starting and stopping a server.
//!
//! The caller owns the listener and the signals. [`start`] returns when the server takes
//! requests, [`Running::stop`] when it has stepped down and let go of the log.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::serve::ListenerExt;
use clawhold_core::replica::{self, Mode, Replica};
use clawhold_core::units::{RecordNumber, Text};
use clawhold_core::{State, record::BadRecord};

use clawhold_log::{Log, LogError, chain, shown};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::auth::Tokens;
use crate::clock;
use crate::driver::{self, Broken, Driver, Handle, Standing};
use crate::forward::{self, Door};
use crate::http;
use crate::journal::Journal;
use crate::keeper::Keeper;
use crate::notify::Notify;
use crate::outside::Outside;
use crate::sender;

/// Milliseconds of a server's hold on the log when nothing is said.
pub const HOLD_MS_DEFAULT: u64 = 3_000;
/// The shortest hold.
pub const HOLD_MS_MIN: u64 = 500;
/// The longest hold.
pub const HOLD_MS_MAX: u64 = 60_000;
/// Orders that may wait for the log's thread.
const ORDERS_MAX: usize = 16;
/// How long a stopping server waits for requests under way.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// How a server takes part.
#[derive(Clone, Debug)]
pub struct Config {
    /// The store: `sqlite:PATH`, `postgres://…` or `memory:`.
    pub store: String,
    /// The folder where this host remembers of a store that is elsewhere what was confirmed.
    pub state: Option<PathBuf>,
    /// The URL under which other processes reach this server; the listener's own when `None`.
    pub advertise: Option<String>,
    /// Milliseconds without a record after which another server may take over.
    pub hold_ms: u64,
    /// The tokens that are known; without any, only loopback is served.
    pub tokens: Tokens,
    /// Whether to tell systemd that the server is ready and alive.
    pub notify: bool,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened or read.
    #[error("cannot open the store {store}")]
    Store {
        /// Its URL.
        store: String,
        /// Why.
        source: LogError,
    },
    /// The snapshot in the store cannot be read.
    #[error("the snapshot in the store {store} cannot be read")]
    Snapshot {
        /// The store's URL.
        store: String,
        /// Why.
        source: BadRecord,
    },
    /// The listener is not on loopback and there are no tokens.
    #[error(
        "listening on {address} without tokens would let anybody in; \
             listen on 127.0.0.1, or give --tokens FILE (make one with `clawhold token new`)"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The hold is out of range.
    #[error("a hold of {hold_ms} ms, allowed is {HOLD_MS_MIN} ms to {HOLD_MS_MAX} ms")]
    Hold {
        /// What was asked.
        hold_ms: u64,
    },
    /// The advertised URL is too long or no URL.
    #[error("cannot advertise {url:?}: give http://HOST:PORT")]
    Advertise {
        /// What was asked.
        url: String,
    },
    /// The operating system did not cooperate.
    #[error("cannot start")]
    Io(#[from] io::Error),
}

/// Why a server ended.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// It cannot go on.
    #[error("the server cannot go on")]
    Broken(#[from] Broken),
    /// A promise of the program itself was broken; a standby takes over.
    #[error("the server broke a promise of its own and stopped: {0}")]
    Panicked(String),
}

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    url: String,
    handle: Handle,
    ended: watch::Receiver<bool>,
    driver: Option<JoinHandle<Result<(), Broken>>>,
    journal: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<()>>,
    serve: tokio::task::JoinHandle<io::Result<()>>,
    sockets: http::Sockets,
    closing: watch::Sender<bool>,
    hint: Option<PathBuf>,
}

/// Opens the store, takes part in its log and serves HTTP on `listener`.
///
/// # Errors
/// [`StartError`] names what is wrong and what to do.
pub async fn start(config: Config, listener: TcpListener) -> Result<Running, StartError> {
    let address = listener.local_addr()?;
    check(&config, address)?;
    let url = config.advertise.clone().unwrap_or_else(|| format!("http://{address}"));
    let log = open(&config).await?;
    let (replica, next, log) = restore(&config, log, &url).await?;
    let (sender, receiver) = driver::channel();
    for concern in log.concerns() {
        warn!(concern, "the log is less safe than it could be");
    }
    let (log, another) = blocking(&config.store, log, |log| log.another()).await?;
    let (keeper, keep) = Keeper::new(another);
    let (orders, taken) = sync_channel(ORDERS_MAX);
    let journal = Journal::new(log, taken, sender.clone(), next);
    let mut notify = Notify::new(config.notify);
    let turn = Box::new(move |replica: &Replica| notify.turn(replica));
    let (driver, handle) = Driver::new(replica, (sender, receiver), orders, keep, turn);
    let (ended_sender, ended) = watch::channel(false);
    let journal = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        raise_priority();
        journal.run();
    })?;
    let driver = std::thread::Builder::new().name("driver".to_owned()).spawn(move || {
        let _end = EndSignal(ended_sender);
        driver.run()
    })?;
    let keeper =
        std::thread::Builder::new().name("snapshots".to_owned()).spawn(move || keeper.run())?;
    let (closing, closed) = watch::channel(false);
    let (serve, sockets) = serve(&config, &handle, listener, closed)?;
    let hint = hint_path(&config.store);
    if let Some(path) = hint.clone() {
        tokio::spawn(keep_hint(path, url.clone(), handle.standing()));
    }
    Ok(Running {
        url,
        handle,
        ended,
        driver: Some(driver),
        journal: Some(journal),
        keeper: Some(keeper),
        serve,
        sockets,
        closing,
        hint,
    })
}

fn check(config: &Config, address: SocketAddr) -> Result<(), StartError> {
    if !address.ip().is_loopback() && config.tokens.is_empty() {
        return Err(StartError::Exposed { address });
    }
    if !(HOLD_MS_MIN..=HOLD_MS_MAX).contains(&config.hold_ms) {
        return Err(StartError::Hold { hold_ms: config.hold_ms });
    }
    if let Some(url) = &config.advertise {
        let parsed = reqwest::Url::parse(url);
        let fits = parsed.is_ok_and(|url| url.scheme() == "http" && url.has_host());
        let odd = url.chars().any(|c| c.is_control() || c.is_whitespace());
        if !fits || odd || Text::parse(url).is_err() {
            return Err(StartError::Advertise { url: url.clone() });
        }
    }
    Ok(())
}

async fn open(config: &Config) -> Result<Box<dyn Log>, StartError> {
    let (url, folder) = (config.store.clone(), config.state.clone());
    let opening = move || clawhold_log::open_with(&url, folder.as_deref());
    let opened = tokio::task::spawn_blocking(opening).await.map_err(io::Error::other)?;
    opened.map_err(|source| StartError::Store { store: shown(&config.store), source })
}

/// Asks the log something on a thread that may wait.
async fn blocking<T: Send + 'static>(
    store: &str,
    mut log: Box<dyn Log>,
    ask: impl FnOnce(&mut dyn Log) -> Result<T, LogError> + Send + 'static,
) -> Result<(Box<dyn Log>, T), StartError> {
    let asked = tokio::task::spawn_blocking(move || {
        let answer = ask(log.as_mut());
        answer.map(|answer| (log, answer))
    });
    let answered = asked.await.map_err(io::Error::other)?;
    answered.map_err(|source| StartError::Store { store: shown(store), source })
}

/// Reads the newest snapshot; what comes after it is read by following the log.
async fn restore(
    config: &Config,
    log: Box<dyn Log>,
    url: &str,
) -> Result<(Replica, RecordNumber, Box<dyn Log>), StartError> {
    let (log, snapshot) = blocking(&config.store, log, |log| log.latest_snapshot()).await?;
    let store = shown(&config.store);
    let (state, next) = match snapshot {
        Some(snapshot) => {
            let state = State::restore(&snapshot.bytes)
                .map_err(|source| StartError::Snapshot { store, source })?;
            (state, RecordNumber(snapshot.at.0 + 1))
        }
        None => (State::default(), RecordNumber(1)),
    };
    let part = replica::Config {
        advertise: Text::cut(url),
        hold_ms: config.hold_ms,
        nonce: getrandom::u64().map_err(io::Error::other)?,
    };
    Ok((Replica::new(part, state, next, clock::now()), next, log))
}

fn serve(
    config: &Config,
    handle: &Handle,
    listener: TcpListener,
    mut closed: watch::Receiver<bool>,
) -> Result<(tokio::task::JoinHandle<io::Result<()>>, http::Sockets), StartError> {
    let door = Door {
        standing: handle.standing(),
        http: reqwest::Client::builder().no_proxy().build().map_err(io::Error::other)?,
        tokens: config.tokens.clone(),
        advertised: config
            .advertise
            .as_ref()
            .map(|url| url.trim_start_matches("http://").trim_end_matches('/').to_owned()),
    };
    let outside = Outside::default();
    tokio::spawn(sender::run(handle.clone(), outside.clone()));
    let app = http::App { handle: handle.clone(), store: config.store.clone(), outside };
    let admit = axum::middleware::from_fn_with_state(Arc::new(door), forward::admit);
    let router = http::router(app).layer(admit.clone());
    let sockets = http::Sockets::new(router.clone(), closed.clone());
    let router = router.merge(sockets.route().layer(admit));
    // Small frames follow each other closely; none waits for the acknowledgement of the last.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            info!(%error, "a connection sends small packets late");
        }
    });
    let shutdown = async move {
        // The sender lives as long as the server: an error is the end as well.
        let _ = closed.wait_for(|closed| *closed).await;
    };
    let served = axum::serve(listener, router).with_graceful_shutdown(shutdown);
    Ok((tokio::spawn(served.into_future()), sockets))
}

impl Running {
    /// Returns the URL under which this server is reached.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns what this server is, and wakes its receiver whenever that changes.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.handle.standing()
    }

    /// Returns once this server, or the active one behind it, can take requests. Waits at most
    /// `patience`; returns whether it can.
    pub async fn ready(&self, patience: Duration) -> bool {
        let mut standing = self.handle.standing();
        let ready = standing.wait_for(|standing| {
            standing.mode == Mode::Active
                || (standing.mode == Mode::Standby && standing.active_url.is_some())
        });
        tokio::time::timeout(patience, ready).await.is_ok_and(|ready| ready.is_ok())
    }

    /// Waits until the server ends by itself, which it never does when all is well.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        // The sender is dropped when the driver's thread ends, however it ends.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Steps down, lets requests under way end, and lets go of the log.
    ///
    /// # Errors
    /// [`Stopped`] when the server had ended before, because it could not go on.
    pub async fn stop(mut self) -> Result<(), Stopped> {
        self.handle.stop();
        self.ended().await;
        let _ = self.closing.send(true);
        if tokio::time::timeout(STOP_PATIENCE, &mut self.serve).await.is_err() {
            self.serve.abort();
        }
        if tokio::time::timeout(STOP_PATIENCE, self.sockets.ended()).await.is_err() {
            info!("stops with WebSockets that do not close");
        }
        if let Some(path) = self.hint.take() {
            forget_hint(&path, &self.url);
        }
        let threads = (self.driver.take(), [self.journal.take(), self.keeper.take()]);
        drop(self);
        let joined = tokio::task::spawn_blocking(move || join(threads)).await;
        joined.unwrap_or_else(|error| Err(Stopped::Panicked(error.to_string())))
    }
}

type Threads = (Option<JoinHandle<Result<(), Broken>>>, [Option<JoinHandle<()>>; 2]);

fn join((driver, others): Threads) -> Result<(), Stopped> {
    let ended = driver.map(JoinHandle::join);
    for other in others.into_iter().flatten() {
        let name = other.thread().name().unwrap_or_default().to_owned();
        if other.join().is_err() {
            error!(name, "a thread panicked");
        }
    }
    match ended {
        None | Some(Ok(Ok(()))) => Ok(()),
        Some(Ok(Err(broken))) => Err(broken.into()),
        Some(Err(panic)) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(Stopped::Panicked(text.unwrap_or_else(|| "no reason given".to_owned())))
        }
    }
}

/// Tells that the driver's thread has ended, however it ends.
struct EndSignal(watch::Sender<bool>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        // Nobody waiting is no failure.
        let _ = self.0.send(true);
    }
}

/// Lets the log's thread run before others: each commit waits for it. Without the right to do so
/// it runs as any other.
fn raise_priority() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), -10) {
        info!(%error, "the log's thread runs at the usual priority");
    }
}

/// Returns the URL of the server that was last active on a store, as far as a note beside the
/// store tells. It may be out of date: whoever dials it checks.
#[must_use]
pub fn hint(store: &str) -> Option<String> {
    let text = std::fs::read_to_string(hint_path(store)?).ok()?;
    let url = text.trim();
    url.starts_with("http://").then(|| url.to_owned())
}

fn hint_path(store: &str) -> Option<PathBuf> {
    let path = store.strip_prefix("sqlite:")?;
    Some(PathBuf::from(format!("{path}.url")))
}

/// Keeps a note of this server's URL beside the store while it is the active one.
async fn keep_hint(path: PathBuf, url: String, mut standing: watch::Receiver<Standing>) {
    let mut noted = false;
    loop {
        let active = standing.borrow_and_update().mode == Mode::Active;
        if active && !noted {
            let new = path.with_extension("url.new");
            let written = std::fs::write(&new, &url).and_then(|()| std::fs::rename(&new, &path));
            if let Err(error) = written {
                warn!(error = %chain(&error), "cannot note the server's URL beside the store");
            }
        }
        noted = active;
        if standing.changed().await.is_err() {
            return;
        }
    }
}

fn forget_hint(path: &std::path::Path, url: &str) {
    if std::fs::read_to_string(path).is_ok_and(|noted| noted.trim() == url) {
        // A note that stays is checked by whoever reads it.
        let _ = std::fs::remove_file(path);
    }
}
