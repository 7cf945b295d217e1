//! Reading a log without taking part in it: nothing is made, locked for long or written.
//!
//! Works beside a server, and on the files of one that is gone.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction};

use super::{failure, file, head, is_corrupt, mark, read, snapshot, sound, store};
use crate::{Epoch, FrameError, Head, LogError, Number, Record, Snapshot};

/// A log that is only read.
#[derive(Debug)]
pub struct SqliteReader {
    path: PathBuf,
    connection: Connection,
    confirmed: Option<Number>,
}

/// A snapshot that is kept, intact or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    pub(super) id: i64,
    /// The last record that it contains.
    pub at: Number,
    /// The epoch at that record.
    pub epoch: Epoch,
}

impl SqliteReader {
    /// Opens the log in the file at `path`.
    ///
    /// # Errors
    /// [`LogError::Open`] with what to do, when there is none or it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LogError> {
        let path = file::find(path.as_ref())?;
        let confirmed = mark::read(&path);
        let connection = store::connect_to_read(&path)?;
        Ok(Self { path, connection, confirmed })
    }

    /// Returns the path of the file, links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the newest record that an append had been confirmed for when this was opened, as
    /// far as the mark beside the log says.
    #[must_use]
    pub fn confirmed(&self) -> Option<Number> {
        self.confirmed
    }

    /// Returns where the log begins and ends.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn head(&mut self) -> Result<Head, LogError> {
        head(&self.connection)
    }

    /// Checks that the head and the records are of one piece, and that nothing confirmed is lost.
    ///
    /// # Errors
    /// What a server would refuse to start with.
    pub fn check(&mut self) -> Result<(), LogError> {
        let path = self.path.clone();
        self.reading(|transaction| sound::check(transaction, &path))
    }

    /// Returns records from `from` on, as [`Log::read`](crate::Log::read) does.
    ///
    /// # Errors
    /// As [`Log::read`](crate::Log::read).
    pub fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        self.reading(|transaction| read(transaction, from, bytes_max))
    }

    /// Returns the snapshots that are kept, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn snapshots(&mut self) -> Result<Vec<SnapshotMark>, LogError> {
        let kept = snapshot::generations(&self.connection)?;
        let marks = kept.into_iter().map(snapshot::Generation::mark);
        Ok(marks.collect())
    }

    /// Returns a snapshot, if it is intact.
    ///
    /// # Errors
    /// [`LogError::SnapshotDamaged`], also when it was retired meanwhile.
    pub fn snapshot(&mut self, mark: SnapshotMark) -> Result<Snapshot, LogError> {
        let at = mark.at;
        let damaged = |source| LogError::SnapshotDamaged { at, source };
        match self.reading(|transaction| snapshot::of(transaction, mark)) {
            Ok(snapshot) => snapshot.map_err(damaged),
            Err(LogError::Engine(error)) => Err(match error.downcast::<rusqlite::Error>() {
                Ok(error) if is_corrupt(&error) => damaged(FrameError::Page),
                Ok(error) => LogError::Engine(error),
                Err(error) => LogError::Engine(error),
            }),
            Err(error) => Err(error),
        }
    }

    /// Checks the structure of the whole file, and returns what is wrong with it, a line each.
    ///
    /// # Errors
    /// When it cannot even be looked at.
    pub fn structure(&mut self) -> Result<Vec<String>, LogError> {
        let mut check = self.connection.prepare("PRAGMA quick_check(20)").map_err(failure)?;
        let rows = check.query_map([], |row| row.get::<_, String>(0)).map_err(failure)?;
        let lines: Result<Vec<String>, _> = rows.collect();
        match lines {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            Err(error) if is_corrupt(&error) => Ok(vec![error.to_string()]),
            Err(error) => Err(failure(error)),
        }
    }

    /// Reads in one transaction, so that a trim meanwhile tears nothing.
    fn reading<T>(
        &mut self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let transaction = self.connection.transaction().map_err(failure)?;
        read(&transaction)
    }
}
