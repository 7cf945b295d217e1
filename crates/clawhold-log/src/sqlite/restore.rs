//! Making a log from a backup: in a file beside its place first, which takes the place when it is
//! whole and durable. Nothing that stands there is ever written over.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::params;

use super::{Decision, SqliteLog, failure, file, row};
use crate::limits::SNAPSHOT_CHUNK_BYTES_MAX;
use crate::snapshot::Cutter;
use crate::{Epoch, Log, LogError, Number, Record, Snapshot, TakeOver, frame};

/// A log cannot be made from a backup.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Something stands in the log's place.
    #[error("{found:?} is there already, and a restore writes over nothing: move it away first")]
    Exists {
        /// What stands there.
        found: PathBuf,
    },

    /// A server runs on the log's place.
    #[error("a server still runs on {path:?}: stop it first")]
    InUse {
        /// The place.
        path: PathBuf,
    },

    /// A file cannot be made or moved.
    #[error("cannot make {path:?}, check its directory and permissions")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The new log failed.
    #[error("the new log cannot be written")]
    Log(#[from] LogError),
}

/// A log that is being made.
#[derive(Debug)]
pub struct Restoring {
    place: PathBuf,
    beside: PathBuf,
    log: Option<SqliteLog>,
    pending: Vec<(Number, Vec<u8>)>,
    bytes: usize,
    first: Number,
    last: Number,
}

/// Bytes of records that go into one transaction.
const BATCH_BYTES: usize = 4 * 1_024 * 1_024;

impl Restoring {
    /// Begins to make a log that is to stand at `place`.
    ///
    /// # Errors
    /// [`RestoreError`] when something stands there or it cannot be made.
    pub fn begin(place: &Path) -> Result<Self, RestoreError> {
        check_free(place)?;
        let beside = file::beside(place, ".restoring");
        // What a restore that broke off has left is nobody's.
        remove(&beside);
        let log = SqliteLog::open(&beside)?;
        Ok(Self {
            place: place.to_owned(),
            beside,
            log: Some(log),
            pending: Vec::new(),
            bytes: 0,
            first: Number(1),
            last: Number(0),
        })
    }

    /// Adds the snapshot with which the log begins.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        let log = self.log.as_mut().expect("the log is there until the end");
        let (at, epoch) = (snapshot.at, snapshot.epoch);
        let id = log.writing_again(|transaction| {
            let sql = "INSERT INTO snapshot (at, epoch, whole) VALUES (?1, ?2, 1)";
            transaction.execute(sql, [row(at.0), row(epoch.0)]).map_err(failure)?;
            Ok(Decision::Commit(transaction.last_insert_rowid()))
        })?;
        let mut bytes = snapshot.bytes.chunks(SNAPSHOT_CHUNK_BYTES_MAX).map(<[u8]>::to_vec);
        for (piece, place) in Cutter::new(at, epoch, &mut bytes).zip(0_u32..) {
            log.writing_again(|transaction| {
                let sql = "INSERT INTO chunk (snapshot, place, frame) VALUES (?1, ?2, ?3)";
                transaction.execute(sql, params![id, place, piece]).map_err(failure)?;
                Ok(Decision::Commit(()))
            })?;
        }
        (self.first, self.last) = (at.next(), at);
        Ok(())
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn record(&mut self, record: &Record) -> Result<(), RestoreError> {
        let encoded = frame::encode(record.number, record.epoch, record.writer, &record.body);
        self.bytes += encoded.len();
        self.last = record.number;
        self.pending.push((record.number, encoded));
        if self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the log with the record that begins the epoch after `epoch`, and puts it in its place.
    ///
    /// # Errors
    /// When it cannot be written, or something has come to stand there meanwhile.
    pub fn finish(mut self, epoch: Epoch, body: &[u8]) -> Result<Number, RestoreError> {
        self.flush()?;
        let (first, last) = (self.first, self.last);
        let mut log = self.log.take().expect("the log is there until the end");
        log.writing_again(|transaction| {
            let sql = "UPDATE head SET first = ?1, last = ?2, epoch = ?3";
            let values = [row(first.0), row(last.0), row(epoch.0)];
            transaction.execute(sql, values).map_err(failure)?;
            Ok(Decision::Commit(()))
        })?;
        let number = match log.take_over(epoch.next(), body)? {
            TakeOver::Done { number } => number,
            TakeOver::Overtaken { .. } => return Err(unknown("it was overtaken")),
            TakeOver::Unknown { cause } => return Err(unknown(&cause)),
        };
        close(log)?;
        self.put_in_place()?;
        Ok(number)
    }

    fn flush(&mut self) -> Result<(), RestoreError> {
        let log = self.log.as_mut().expect("the log is there until the end");
        let pending = std::mem::take(&mut self.pending);
        self.bytes = 0;
        log.writing_again(|transaction| {
            for (number, encoded) in &pending {
                super::insert(transaction, *number, encoded)?;
            }
            Ok(Decision::Commit(()))
        })?;
        Ok(())
    }

    fn put_in_place(&self) -> Result<(), RestoreError> {
        let cannot = |path: &Path, source| {
            let path = path.to_owned();
            if matches!(source, io::ErrorKind::AlreadyExists) {
                RestoreError::Exists { found: path }
            } else {
                RestoreError::File { path, source: source.into() }
            }
        };
        check_free(&self.place)?;
        File::open(&self.beside)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot(&self.beside, error.kind()))?;
        // The mark first: one of an earlier log here would call this one cut.
        let mark = file::beside(&self.place, ".mark");
        fs::rename(file::beside(&self.beside, ".mark"), &mark)
            .map_err(|error| cannot(&mark, error.kind()))?;
        // A link, unlike a rename, replaces nothing.
        fs::hard_link(&self.beside, &self.place)
            .map_err(|error| cannot(&self.place, error.kind()))?;
        remove(&self.beside);
        let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| cannot(folder, error.kind()))
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        self.log = None;
        remove(&self.beside);
    }
}

/// Moves everything into the database file and closes it.
fn close(mut log: SqliteLog) -> Result<(), RestoreError> {
    let connection = log.connection()?;
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(failure)?;
    if busy == 0 { Ok(()) } else { Err(RestoreError::Log(LogError::Busy)) }
}

fn unknown(cause: &str) -> RestoreError {
    RestoreError::Log(LogError::Engine(cause.into()))
}

/// Refuses a place where a log is, or where files of one are left: a write-ahead file beside a
/// new database would be taken for its own.
fn check_free(place: &Path) -> Result<(), RestoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let found = file::beside(place, suffix);
        if fs::symlink_metadata(&found).is_ok() {
            return Err(RestoreError::Exists { found });
        }
    }
    if file::is_in_use(place) {
        return Err(RestoreError::InUse { path: place.to_owned() });
    }
    Ok(())
}

/// Removes a log that never came to stand in its place.
fn remove(beside: &Path) {
    for suffix in ["", "-wal", "-shm", ".mark"] {
        // What is not there need not go.
        let _ = fs::remove_file(file::beside(beside, suffix));
    }
}
