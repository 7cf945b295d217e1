//! The presence lock: an advisory lock of a session of its own, which ends with it.
//!
//! PostgreSQL lets go of it when the connection ends, so a standby learns at once that the active
//! process died. A host that vanished is noticed by the server's own keepalives.

use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::address::Address;
use super::session::{Engine, Session};
use super::trouble::Trouble;
use crate::Presence;
use crate::limits::CONNECT_WAIT_MAX;

/// How often a connection that was cut is made again.
const AGAIN: Duration = Duration::from_secs(1);

/// The lock, or what it takes to ask for it.
#[derive(Debug, Default)]
pub(super) struct Lock {
    session: Option<Session>,
    held: bool,
    /// When no connection could be made.
    failed: Option<Instant>,
}

impl Lock {
    /// Tries to hold the lock. Where it cannot be asked for, somebody else may have it.
    pub(super) fn claim(&mut self, engine: &Engine, address: &Address) -> Presence {
        if self.session.is_some() {
            engine.take_in();
        }
        if self.session.as_ref().is_some_and(Session::is_closed) {
            self.forget();
        }
        if self.held {
            return Presence::Held;
        }
        if self.failed.is_some_and(|failed| failed.elapsed() < AGAIN) {
            return Presence::HeldByOther;
        }
        match self.ask(engine, address) {
            Ok(true) => {
                self.held = true;
                Presence::Held
            }
            Ok(false) => Presence::HeldByOther,
            Err(_) => {
                self.forget();
                self.failed = Some(Instant::now());
                Presence::HeldByOther
            }
        }
    }

    /// Tells whether the lock was held and went with its connection.
    pub(super) fn was_cut(&self) -> bool {
        self.held && self.session.as_ref().is_none_or(Session::is_closed)
    }

    /// Lets go of the lock at once.
    pub(super) fn release(&mut self, engine: &Engine) {
        if let Some(session) = self.session.as_ref().filter(|_| self.held) {
            // If it cannot be said, the end of the connection says it.
            let _ = engine.drive(CONNECT_WAIT_MAX, async {
                let unlock = "SELECT pg_advisory_unlock_all()";
                Ok(session.client.batch_execute(unlock).await?)
            });
        }
        self.forget();
    }

    fn forget(&mut self) {
        *self = Self { failed: self.failed, ..Self::default() };
    }

    fn ask(&mut self, engine: &Engine, address: &Address) -> Result<bool, Trouble> {
        let session = match self.session.take() {
            Some(session) => session,
            None => {
                let session = engine.connect(address)?;
                engine.drive(CONNECT_WAIT_MAX, session.set_up())?;
                session
            }
        };
        let session = self.session.insert(session);
        let name = format!("clawhold presence {}", address.schema);
        engine.drive(CONNECT_WAIT_MAX, async {
            let lock = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
            let row = session.client.query_typed_one(lock, &[(&name, Type::TEXT)]).await?;
            Ok(row.try_get(0)?)
        })
    }
}
