//! A log in a schema of a PostgreSQL database, for servers on several hosts.
//!
//! A head row is compared on (last, epoch) under its lock, in the statement that inserts the
//! record, so the database itself refuses an overtaken writer, and no number is taken without its
//! record. An append is done when its commit was answered. Whatever breaks a connection after a
//! write was sent leaves its outcome unknown; the next call connects again, and checks first that
//! the log still holds what this process saw confirmed.

mod address;
mod password;
mod presence;
mod records;
mod scratch;
mod seen;
mod session;
mod snapshot;
mod sound;
mod store;
mod tls;
mod trouble;

pub(crate) use scratch::{check_url, remove_scratch};

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use self::address::Address;
use self::records::{Begun, Statements, Write, row};
use self::seen::Seen;
use self::session::{Engine, Session};
use self::trouble::Trouble;
use crate::check::check_write;
use crate::limits::{
    ANSWER_WAIT_MAX, FOLLOW_LOOK, PRESENCE_EVERY, SNAPSHOT_GENERATIONS, TELL_EVERY,
    TRIM_RECORDS_MAX,
};
use crate::{
    Append, Epoch, Head, Log, LogError, Number, Presence, Record, Snapshot, TakeOver, Writer, frame,
};

/// A handle on a log in a PostgreSQL database.
///
/// It connects again by itself. Its calls block, and must not be made on a thread that drives
/// asynchronous tasks.
#[derive(Debug)]
pub struct PostgresLog {
    address: Arc<Address>,
    engine: Engine,
    writer: Writer,
    /// `None` after an error that leaves the connection in doubt.
    work: Option<Work>,
    presence: presence::Lock,
    /// What this process knows to be confirmed, shared with its other handles.
    seen: Arc<Seen>,
    concerns: Vec<String>,
    /// When the connection was last used.
    used: Instant,
    /// Whether a write ended unknown and nothing was read since.
    doubt: bool,
    /// When an append last woke those who follow.
    told: Option<Instant>,
    tail: Tail,
}

/// A connection on which the log's statements are prepared.
#[derive(Debug)]
struct Work {
    session: Session,
    statements: Statements,
}

/// How long a connection is trusted to be there still.
const IDLE: Duration = Duration::from_millis(500);

/// What a follower knows of the end of the log.
#[derive(Debug, Default)]
struct Tail {
    /// A record that was there when it was last looked at or told of.
    newest: Number,
    /// When the log was last looked at.
    looked: Option<Instant>,
    /// When records were last found.
    found: Option<Instant>,
    /// Whether notifications come on the connection.
    listens: bool,
}

impl PostgresLog {
    /// Opens the log at `url`, and makes its schema and tables if there are none.
    ///
    /// # Errors
    /// [`LogError::Open`] with what to do, for a server that cannot be reached or cannot hold a
    /// log.
    pub fn open(url: &str) -> Result<Self, LogError> {
        Self::open_with(url, None)
    }

    /// Opens the log at `url`, and remembers in `folder` over restarts what was confirmed.
    ///
    /// # Errors
    /// As for [`PostgresLog::open`], and [`OpenError::Rewound`](crate::OpenError::Rewound) for a
    /// log that lost something of it.
    pub fn open_with(url: &str, folder: Option<&Path>) -> Result<Self, LogError> {
        let address = Address::parse(url)?;
        let seen = Seen::open(&address, folder)?;
        Self::open_at(Arc::new(address), Arc::new(seen))
    }

    fn open_at(address: Arc<Address>, seen: Arc<Seen>) -> Result<Self, LogError> {
        let mut log = Self {
            address,
            engine: Engine::new()?,
            writer: Writer(0),
            work: None,
            presence: presence::Lock::default(),
            seen,
            concerns: Vec::new(),
            used: Instant::now(),
            doubt: false,
            told: None,
            tail: Tail::default(),
        };
        let drawn = log.on(async |work, _| {
            let sql = "SELECT ('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::int8";
            let row = work.session.client.query_typed_one(sql, &[]).await?;
            Ok(row.try_get::<_, i64>(0)?)
        })?;
        log.writer = Writer(drawn.cast_unsigned());
        Ok(log)
    }

    /// Connects if the last connection ended in doubt, and checks what is there.
    fn connect(&mut self) -> Result<&mut Work, LogError> {
        if self.used.elapsed() > IDLE {
            // A connection that ended meanwhile is noticed before anything is sent on it.
            self.engine.take_in();
        }
        self.used = Instant::now();
        if self.work.as_ref().is_none_or(|work| work.session.is_closed()) {
            self.disconnect();
            let mut session = self.engine.connect(&self.address)?;
            let (address, seen) = (Arc::clone(&self.address), Arc::clone(&self.seen));
            let ready = self.engine.drive(ANSWER_WAIT_MAX, async {
                let concerns = sound::check_server(&session, &address).await?;
                session.set_up().await?;
                store::make(&mut session.client, &address).await?;
                sound::check_log(&session, &address, &seen).await?;
                let statements = Statements::prepare(&session.client, &address).await?;
                Ok((concerns, statements))
            });
            let (concerns, statements) = ready?;
            self.concerns = concerns;
            self.work = Some(Work { session, statements });
        }
        Ok(self.work.as_mut().expect("it was made above"))
    }

    fn disconnect(&mut self) {
        self.work = None;
        self.tail = Tail::default();
    }

    /// Works on the log, and drops the connection when it is in doubt.
    fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Work, &Address) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.connect()?;
        let open = self.work.as_mut().expect("it is connected");
        let done = self.engine.drive(ANSWER_WAIT_MAX, work(open, &self.address));
        if matches!(&done, Err(trouble) if trouble.is_connections()) {
            self.disconnect();
        }
        done
    }

    /// Works on the log where doing it twice does no harm.
    fn on<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Work, &Address) -> Result<T, Trouble>,
    ) -> Result<T, LogError> {
        self.attempt(work).map_err(LogError::from)
    }

    /// Looks where the log ends, and refuses one that ends before what was confirmed.
    fn look(&mut self) -> Result<(), LogError> {
        // Asked first: another handle may append meanwhile.
        let seen = self.seen.newest();
        let head = self.head()?;
        self.tail.looked = Some(Instant::now());
        self.tail.newest = head.last;
        seen.map_or(Ok(()), |seen| self.seen.check_end(&self.address, &seen, head))
    }

    /// Asks for notifications, once for each connection.
    fn listen(&mut self) -> Result<(), LogError> {
        self.connect()?;
        if !self.tail.listens {
            self.on(async |work, address| {
                let sql = format!("LISTEN {}", records::channel(address));
                Ok(work.session.client.batch_execute(&sql).await?)
            })?;
            self.tail.listens = true;
        }
        Ok(())
    }

    /// After an unknown outcome, makes sure that whatever can be read is as durable as a commit
    /// has to be, and that no append is half-way: one whose wait for a replica was cut off comes
    /// before this commit, which waits as well.
    fn settle_commits(&mut self) -> Result<(), LogError> {
        if !self.doubt {
            return Ok(());
        }
        self.on(async |work, address| {
            drop(work.session.warnings());
            let sql = address.sql("UPDATE @head SET first = first WHERE one = 1");
            work.session.client.execute_typed(&sql, &[]).await?;
            warned(&work.session)
        })?;
        self.doubt = false;
        Ok(())
    }
}

impl Log for PostgresLog {
    fn writer(&self) -> Writer {
        self.writer
    }

    fn another(&self) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(Self::open_at(Arc::clone(&self.address), Arc::clone(&self.seen))?))
    }

    fn head(&mut self) -> Result<Head, LogError> {
        self.settle_commits()?;
        self.on(async |work, _| work.statements.head(&work.session.client).await)
    }

    fn append(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Append, LogError> {
        check_write(epoch, body)?;
        let encoded = frame::encode(number, epoch, self.writer, body);
        let tell = self.told.is_none_or(|told| TELL_EVERY <= told.elapsed());
        let write = Write { number, epoch, frame: &encoded };
        let appended = self.attempt(async |work, _| {
            drop(work.session.warnings());
            let appended = work.statements.append(&work.session.client, write, tell).await?;
            warned(&work.session)?;
            Ok(appended)
        });
        match appended.map_err(Trouble::certain) {
            Ok(true) => {
                self.seen.note(number, epoch, &encoded);
                if tell {
                    self.told = Some(Instant::now());
                }
                if self.presence.was_cut() {
                    let _ = self.presence.claim(&self.engine, &self.address);
                }
                Ok(Append::Done)
            }
            Ok(false) => Ok(Append::Overtaken { head: self.head()? }),
            Err(Ok(error)) => Err(error),
            Err(Err(cause)) => {
                self.doubt = true;
                Ok(Append::Unknown { cause })
            }
        }
    }

    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Result<TakeOver, LogError> {
        check_write(epoch, body)?;
        let writer = self.writer;
        let begun = self.attempt(async |work, address| {
            drop(work.session.warnings());
            let client = &mut work.session.client;
            let begun = records::take_over(client, address, writer, epoch, body).await?;
            Ok((begun, warned(&work.session)))
        });
        // Before its commit was sent nothing can be in the log.
        let taken = match begun? {
            (Begun::Settled(done @ TakeOver::Done { number }), Ok(())) => {
                let encoded = frame::encode(number, epoch, writer, body);
                self.seen.note(number, epoch, &encoded);
                return Ok(done);
            }
            (Begun::Settled(other), Ok(())) => return Ok(other),
            (Begun::Settled(_), Err(trouble)) => trouble,
            (Begun::Doubtful(trouble), _) => trouble,
        };
        if taken.is_connections() {
            self.disconnect();
        }
        match taken.certain() {
            Ok(error) => Err(error),
            Err(cause) => {
                self.doubt = true;
                Ok(TakeOver::Unknown { cause })
            }
        }
    }

    fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        self.settle_commits()?;
        let records = self.on(async |work, _| {
            work.statements.read(&work.session.client, from, bytes_max).await
        })?;
        match records.last() {
            Some(last) => {
                let mark = frame::encode(last.number, last.epoch, last.writer, &last.body);
                self.seen.note(last.number, last.epoch, &mark);
                self.tail.newest = self.tail.newest.max(last.number);
                self.tail.found = Some(Instant::now());
            }
            None => self.tail.newest = Number(from.0.saturating_sub(1)),
        }
        Ok(records)
    }

    fn wait(&mut self, after: Number, timeout: Duration) -> Result<bool, LogError> {
        let deadline = Instant::now() + timeout;
        loop {
            self.listen()?;
            let told = self.work.as_ref().map_or(Number(0), |work| work.session.newest_told());
            self.tail.newest = self.tail.newest.max(told);
            if after < self.tail.newest {
                return Ok(true);
            }
            let busy = self.tail.found.is_some_and(|found| found.elapsed() < FOLLOW_LOOK);
            let every = if busy { TELL_EVERY } else { FOLLOW_LOOK };
            let due =
                self.tail.looked.map_or(Duration::ZERO, |at| every.saturating_sub(at.elapsed()));
            let left = deadline.saturating_duration_since(Instant::now());
            if due.is_zero() || timeout.is_zero() {
                self.look()?;
                if after < self.tail.newest || timeout.is_zero() {
                    return Ok(after < self.tail.newest);
                }
                continue;
            }
            if left.is_zero() {
                return Ok(false);
            }
            if let Some(work) = &mut self.work {
                // No notification in time is none.
                let _ = self.engine.drive(left.min(due), work.session.told());
            }
        }
    }

    fn put_snapshot(
        &mut self,
        at: Number,
        epoch: Epoch,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
    ) -> Result<(), LogError> {
        snapshot::put(self, at, epoch, chunks)
    }

    fn latest_snapshot(&mut self) -> Result<Option<Snapshot>, LogError> {
        snapshot::latest(self)
    }

    fn trim(&mut self, upto: Number) -> Result<u64, LogError> {
        self.on(async |work, address| {
            let head = work.statements.head(&work.session.client).await?;
            let kept = snapshot::generations(&work.session.client, address).await?;
            let Some(older) = kept.get(SNAPSHOT_GENERATIONS - 1) else { return Ok(0) };
            let end = upto.min(older.at).next().min(head.last);
            let count = end.0.saturating_sub(head.first.0).min(TRIM_RECORDS_MAX);
            let (before, after) = (row(head.first.0), row(head.first.0 + count));
            // The floor rises first: a reader is told that records are gone, never misses them.
            let rise = address.sql("UPDATE @head SET first = $2 WHERE one = 1 AND first = $1");
            let values = [(&before as _, Type::INT8), (&after as _, Type::INT8)];
            if count > 0 && work.session.client.execute_typed(&rise, &values).await? == 0 {
                return Ok(0);
            }
            let delete = address.sql("DELETE FROM @record WHERE number < $1");
            let values = [(&after as _, Type::INT8)];
            work.session.client.execute_typed(&delete, &values).await?;
            Ok(count)
        })
    }

    fn claim_presence(&mut self) -> Presence {
        self.presence.claim(&self.engine, &self.address)
    }

    fn release_presence(&mut self) {
        self.presence.release(&self.engine);
    }

    fn presence_every(&self) -> Duration {
        PRESENCE_EVERY
    }

    fn concerns(&self) -> Vec<String> {
        self.concerns.clone()
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        // Where a thread drives tasks it may not wait; there the end of the connection lets go.
        if tokio::runtime::Handle::try_current().is_err() {
            self.presence.release(&self.engine);
        }
    }
}

/// Counts a commit as doubtful when the server warned of it: one whose wait for a replica was
/// cancelled is answered like any other.
fn warned(session: &Session) -> Result<(), Trouble> {
    match session.warnings().into_iter().next() {
        Some(warning) => Err(Trouble::Warned(warning)),
        None => Ok(()),
    }
}
