//! A log in one SQLite file, for several processes on one host.
//!
//! A head row is compared on (last, epoch) in the transaction that inserts the record, so the
//! file itself refuses an overtaken writer. The write-ahead file is synced before an append is
//! done. After an error in a commit nothing is known: the connection is dropped, and the next
//! call opens another, so that what it reads is what the file holds.

mod file;
mod mark;
mod reader;
mod restore;
mod snapshot;
mod sound;
mod store;

pub use file::{is_in_use, network_disk};
pub use reader::{SnapshotMark, SqliteReader};
pub use restore::{RestoreError, Restoring};

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use self::file::Identity;
use crate::check::check_write;
use crate::limits::{FOLLOW_POLL, SNAPSHOT_GENERATIONS, TRIM_RECORDS_MAX};
use crate::{
    Append, Epoch, FrameError, Head, Log, LogError, Number, OpenError, Presence, Record, Snapshot,
    TakeOver, Writer, frame,
};

/// How a SQLite log is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The largest size of the database file; an append beyond it is refused as
    /// [`LogError::Full`] and can succeed after a trim. `None` leaves it to the disk.
    pub file_bytes_max: Option<u64>,
}

/// A handle on a log in a SQLite file.
///
/// The presence lock is a kernel lock on the file `PATH.active`, which vanishes with the process.
#[derive(Debug)]
pub struct SqliteLog {
    path: PathBuf,
    /// The file that was opened.
    identity: Option<Identity>,
    options: SqliteOptions,
    writer: Writer,
    /// `None` after an error that leaves the connection in doubt.
    connection: Option<Connection>,
    presence: Option<File>,
    mark: mark::Mark,
}

/// What a transaction decided, before it is committed.
enum Decision<T> {
    Commit(T),
    /// Nothing was changed.
    Leave(T),
}

/// What became of a transaction.
enum Outcome<T> {
    Known(T),
    Unknown(String),
}

impl SqliteLog {
    /// Opens the log in the file at `path`, and makes it with mode 0600 if there is none.
    ///
    /// # Errors
    /// [`LogError::Open`] with what to do, for a file or a disk that cannot hold a log.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LogError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the log in the file at `path` as `options` say.
    ///
    /// # Errors
    /// As for [`SqliteLog::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, LogError> {
        let path = file::prepare(path.as_ref())?;
        let identity = Identity::of(&path);
        let mut connection = store::connect(&path, options)?;
        let transaction = connection.transaction().map_err(failure)?;
        sound::check(&transaction, &path)?;
        drop(transaction);
        let mark = mark::Mark::open(&path);
        let drawn: i64 =
            connection.query_row("SELECT random()", [], |row| row.get(0)).map_err(failure)?;
        let writer = Writer(drawn.cast_unsigned());
        let connection = Some(connection);
        Ok(Self { path, identity, options, writer, connection, presence: None, mark })
    }

    /// Returns the connection, opening another if the last one ended in doubt. A file that was
    /// moved away is the log no more: others open what is at its path now.
    fn connection(&mut self) -> Result<&mut Connection, LogError> {
        if Identity::of(&self.path) != self.identity {
            return Err(OpenError::Moved { path: self.path.clone() }.into());
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => store::connect(&self.path, self.options)?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Reads in one transaction, so that a trim meanwhile tears nothing.
    fn reading<T>(
        &mut self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let begun = self.connection()?.transaction().map_err(failure);
        let result = begun.and_then(|transaction| read(&transaction));
        self.distrust(result)
    }

    /// Writes in one transaction, and drops the connection when its outcome is in doubt.
    fn writing<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<Decision<T>, LogError>,
    ) -> Result<Outcome<T>, LogError> {
        let result = transact(self.connection()?, write);
        if matches!(result, Ok(Outcome::Unknown(_))) {
            self.connection = None;
        }
        self.distrust(result)
    }

    /// Writes what does no harm when it is done twice.
    fn writing_again<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<Decision<T>, LogError>,
    ) -> Result<T, LogError> {
        match self.writing(write)? {
            Outcome::Known(value) => Ok(value),
            Outcome::Unknown(cause) => Err(LogError::Engine(cause.into())),
        }
    }

    /// Drops the connection when the engine failed below it.
    fn distrust<T>(&mut self, result: Result<T, LogError>) -> Result<T, LogError> {
        if matches!(result, Err(LogError::Engine(_))) {
            self.connection = None;
        }
        result
    }
}

impl Log for SqliteLog {
    fn writer(&self) -> Writer {
        self.writer
    }

    fn another(&self) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(Self::open_with(&self.path, self.options)?))
    }

    fn head(&mut self) -> Result<Head, LogError> {
        let connection = self.connection()?;
        let result = head(connection);
        self.distrust(result)
    }

    fn append(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Append, LogError> {
        check_write(epoch, body)?;
        let encoded = frame::encode(number, epoch, self.writer, body);
        let outcome = self.writing(|transaction| {
            let sql = "UPDATE head SET last = ?1 WHERE last = ?1 - 1 AND epoch = ?2";
            let mut advance = transaction.prepare_cached(sql).map_err(failure)?;
            let advanced = advance.execute([row(number.0), row(epoch.0)]).map_err(failure)?;
            if advanced == 0 {
                let head = head(transaction)?;
                return Ok(Decision::Leave(Append::Overtaken { head }));
            }
            insert(transaction, number, &encoded)?;
            Ok(Decision::Commit(Append::Done))
        })?;
        if matches!(outcome, Outcome::Known(Append::Done)) {
            self.mark.note(number);
        }
        Ok(match outcome {
            Outcome::Known(append) => append,
            Outcome::Unknown(cause) => Append::Unknown { cause },
        })
    }

    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Result<TakeOver, LogError> {
        check_write(epoch, body)?;
        let writer = self.writer;
        let outcome = self.writing(|transaction| {
            let head = head(transaction)?;
            if head.epoch.next() != epoch {
                return Ok(Decision::Leave(TakeOver::Overtaken { head }));
            }
            let number = head.last.next();
            let sql = "UPDATE head SET last = ?1, epoch = ?2";
            transaction.execute(sql, [row(number.0), row(epoch.0)]).map_err(failure)?;
            insert(transaction, number, &frame::encode(number, epoch, writer, body))?;
            Ok(Decision::Commit(TakeOver::Done { number }))
        })?;
        if let Outcome::Known(TakeOver::Done { number }) = outcome {
            self.mark.note(number);
        }
        Ok(match outcome {
            Outcome::Known(take_over) => take_over,
            Outcome::Unknown(cause) => TakeOver::Unknown { cause },
        })
    }

    fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        self.reading(|transaction| read(transaction, from, bytes_max))
    }

    fn wait(&mut self, after: Number, timeout: Duration) -> Result<bool, LogError> {
        let deadline = Instant::now() + timeout;
        loop {
            if after < self.head()?.last {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(FOLLOW_POLL));
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
        self.reading(snapshot::latest)
    }

    fn trim(&mut self, upto: Number) -> Result<u64, LogError> {
        self.writing_again(|transaction| {
            let head = head(transaction)?;
            let kept = snapshot::generations(transaction)?;
            let Some(older) = kept.get(SNAPSHOT_GENERATIONS - 1) else {
                return Ok(Decision::Leave(0));
            };
            let end = upto.min(older.at).next().min(head.last);
            let count = end.0.saturating_sub(head.first.0).min(TRIM_RECORDS_MAX);
            if count == 0 {
                return Ok(Decision::Leave(0));
            }
            let first = row(head.first.0 + count);
            let delete = "DELETE FROM record WHERE number < ?1";
            transaction.execute(delete, [first]).map_err(failure)?;
            transaction.execute("UPDATE head SET first = ?1", [first]).map_err(failure)?;
            Ok(Decision::Commit(count))
        })
    }

    fn claim_presence(&mut self) -> Presence {
        if self.presence.is_some() {
            return Presence::Held;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        file::only_for_owner(&mut options);
        let Ok(lock) = options.open(file::beside(&self.path, ".active")) else {
            return Presence::Unsupported;
        };
        match lock.try_lock() {
            Ok(()) => {
                self.presence = Some(lock);
                Presence::Held
            }
            Err(TryLockError::WouldBlock) => Presence::HeldByOther,
            Err(TryLockError::Error(_)) => Presence::Unsupported,
        }
    }

    fn release_presence(&mut self) {
        self.presence = None;
    }
}

/// Writes in one transaction that has the write lock from its beginning.
fn transact<T>(
    connection: &mut Connection,
    write: impl FnOnce(&Transaction<'_>) -> Result<Decision<T>, LogError>,
) -> Result<Outcome<T>, LogError> {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = begun.map_err(failure)?;
    let value = match write(&transaction)? {
        Decision::Leave(value) => return Ok(Outcome::Known(value)),
        Decision::Commit(value) => value,
    };
    let Err(error) = transaction.commit() else { return Ok(Outcome::Known(value)) };
    // The frame that commits is written last: a disk that is full leaves it out, and a locked log
    // was not touched. Any other error can come after that frame.
    let known = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    );
    if known { Err(failure(error)) } else { Ok(Outcome::Unknown(error.to_string())) }
}

fn head(connection: &Connection) -> Result<Head, LogError> {
    let sql = "SELECT last, epoch, first FROM head";
    let mut select = connection.prepare_cached(sql).map_err(failure)?;
    let found = select.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let (last, epoch, first): (i64, i64, i64) = found.map_err(failure)?;
    Ok(Head { last: number(last), epoch: Epoch(number(epoch).0), first: number(first) })
}

fn insert(transaction: &Transaction<'_>, number: Number, encoded: &[u8]) -> Result<(), LogError> {
    let sql = "INSERT INTO record (number, frame) VALUES (?1, ?2)";
    let mut insert = transaction.prepare_cached(sql).map_err(failure)?;
    insert.execute(params![row(number.0), encoded]).map_err(failure)?;
    Ok(())
}

/// Reads records; see [`Log::read`].
fn read(
    transaction: &Transaction<'_>,
    from: Number,
    bytes_max: usize,
) -> Result<Vec<Record>, LogError> {
    let Head { first, last, .. } = head(transaction)?;
    if from < first {
        return Err(LogError::Trimmed { first });
    }
    if last.next() < from {
        return Err(LogError::Beyond { from, last });
    }
    let sql = "SELECT frame FROM record WHERE number = ?1";
    let mut select = transaction.prepare_cached(sql).map_err(failure)?;
    let mut records = Vec::new();
    let mut bytes = 0;
    for place in from.0..=last.0 {
        let number = Number(place);
        let found = select.query_row([row(place)], |row| {
            let encoded = row.get_ref(0)?.as_blob()?;
            Ok(frame::decode_at(number, encoded))
        });
        let checked = match found.optional() {
            Ok(Some(decoded)) => decoded.map_err(|source| LogError::Damaged { number, source }),
            Ok(None) => Err(LogError::Missing { number }),
            Err(error) if is_corrupt(&error) => {
                Err(LogError::Damaged { number, source: FrameError::Page })
            }
            Err(error) => return Err(failure(error)),
        };
        let record = match checked {
            Ok(record) => record,
            Err(error) if records.is_empty() => return Err(error),
            Err(_) => break,
        };
        bytes += record.body.len();
        if !records.is_empty() && bytes_max < bytes {
            break;
        }
        records.push(record);
    }
    Ok(records)
}

/// Tells whether SQLite says that a page of the file is damaged.
fn is_corrupt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// Sorts what SQLite says, outside of a commit, into what a caller would do.
fn failure(error: rusqlite::Error) -> LogError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LogError::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LogError::Busy,
        Some(_) | None => LogError::Engine(Box::new(error)),
    }
}

/// Returns the number as SQLite stores it. One beyond its range compares with no record.
fn row(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a stored number; the schema lets none be negative.
fn number(row: i64) -> Number {
    Number(u64::try_from(row).unwrap_or(0))
}
