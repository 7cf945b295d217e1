//! One connection, driven by the calls that use it.
//!
//! Nothing runs between two calls: what the server sent meanwhile is taken in by the next. Every
//! wait has a limit, so a server that is frozen or gone holds nobody for long.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio_postgres::{AsyncMessage, Client, Connection};

use super::address::Address;
use super::trouble::Trouble;
use crate::limits::{ANSWER_WAIT_MAX, CONNECT_WAIT_MAX, LOCK_WAIT_MAX};
use crate::{LogError, Number, OpenError};

/// Drives the connections of one handle, on the thread that calls.
pub(super) struct Engine(Option<Runtime>);

/// One connection.
pub(super) struct Session {
    pub(super) client: Client,
    newest: watch::Receiver<u64>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Engine {
    pub(super) fn new() -> Result<Self, LogError> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        Ok(Self(Some(runtime.map_err(|error| LogError::Engine(Box::new(error)))?)))
    }

    /// Drives the connections until `work` is done, at most for `limit`.
    pub(super) fn drive<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let runtime = self.0.as_ref().expect("it is taken when the handle is dropped");
        let limited = async { tokio::time::timeout(limit, work).await };
        runtime.block_on(limited).unwrap_or(Err(Trouble::Silent(limit)))
    }

    /// Takes in what the server has sent.
    pub(super) fn take_in(&self) {
        // Once round is enough for the connection's task to read what is there.
        let looked = self.drive(CONNECT_WAIT_MAX, async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            Ok(())
        });
        drop(looked);
    }

    /// Opens a connection.
    pub(super) fn connect(&self, address: &Address) -> Result<Session, LogError> {
        let connector = address.trust.connector()?;
        let connected = self.drive(CONNECT_WAIT_MAX, async {
            let (client, connection) = address.config.connect(connector).await?;
            Ok(Session::begin(client, connection))
        });
        connected.map_err(|trouble| unreachable(address, trouble))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // A runtime that is dropped waits for its tasks, which a thread of another may not do.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Session {
    fn begin<S, T>(client: Client, connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, newest) = watch::channel(0);
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        tokio::spawn(attend(connection, sender, Arc::clone(&warnings)));
        Self { client, newest, warnings }
    }

    /// Makes the session's own settings what the log's durability and its limits need.
    pub(super) async fn set_up(&self) -> Result<(), Trouble> {
        let (answer, lock) = (ANSWER_WAIT_MAX.as_millis(), LOCK_WAIT_MAX.as_millis());
        // A session that waits for nothing is not ended for it; one that breaks off inside of a
        // transaction gives its locks back.
        let sql = format!(
            "SET search_path = pg_catalog;
             SET client_min_messages = warning;
             SET default_transaction_isolation = 'read committed';
             SET statement_timeout = {answer};
             SET lock_timeout = {lock};
             SET idle_in_transaction_session_timeout = {lock};
             SELECT set_config('synchronous_commit', 'on', false)
                 WHERE current_setting('synchronous_commit') <> 'remote_apply';
             SELECT set_config(name, '0', false) FROM pg_settings
                 WHERE name IN ('idle_session_timeout', 'transaction_timeout');"
        );
        Ok(self.client.batch_execute(&sql).await?)
    }

    /// Returns the newest record that a notification told of.
    pub(super) fn newest_told(&self) -> Number {
        Number(*self.newest.borrow())
    }

    /// Waits for a notification, or for the end of the connection.
    pub(super) async fn told(&mut self) -> Result<(), Trouble> {
        // The sender goes with the connection; the next call finds out why.
        let _ = self.newest.changed().await;
        Ok(())
    }

    /// Returns what the server warned of since this was last asked.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut kept = self.warnings.lock().expect("no holder of the lock panics");
        std::mem::take(&mut *kept)
    }

    /// Tells whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

/// Reads what comes in until the connection ends.
async fn attend<S, T>(
    mut connection: Connection<S, T>,
    newest: watch::Sender<u64>,
    warnings: Arc<Mutex<Vec<String>>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        match message {
            AsyncMessage::Notification(told) => {
                let number = told.payload().parse().unwrap_or(0);
                newest.send_modify(|newest| *newest = number.max(*newest));
            }
            AsyncMessage::Notice(notice) => {
                let mut kept = warnings.lock().expect("no holder of the lock panics");
                // Nobody asks for so many: they are of statements that nothing hangs on.
                if kept.len() < WARNINGS_MAX {
                    kept.push(notice.message().to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Warnings that are kept until somebody asks.
const WARNINGS_MAX: usize = 8;

fn unreachable(address: &Address, trouble: Trouble) -> LogError {
    if matches!(&trouble, Trouble::Engine(error) if is_read_only(error)) {
        return OpenError::Unfit {
            store: address.shown.clone(),
            what: "the server takes no writes: it is a replica, or read-only".to_owned(),
            next: "name the primary, or all hosts with commas: the one that takes writes is used"
                .to_owned(),
        }
        .into();
    }
    let (store, source) = (address.shown.clone(), LogError::from(trouble));
    OpenError::Unreachable { store, source: Box::new(source) }.into()
}

/// Tells whether the driver found no host that takes writes.
fn is_read_only(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error);
    cause.is_some_and(|cause| cause.to_string().contains("does not allow writes"))
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
