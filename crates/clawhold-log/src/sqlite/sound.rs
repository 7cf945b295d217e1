//! Whether the head row and the records are of one piece.
//!
//! Each record has a checksum of its own; the head row has none, and it decides what is appended
//! next. So it is compared with what it speaks of before anything is done with it.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::{head, mark, number};
use crate::{Epoch, Head, LogError, Number, OpenError, frame};

/// Compares the head row with the records, and the newest record with the mark beside the log.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), LogError> {
    look(connection, path).map_err(|error| named(path, error))
}

/// Says of a file that SQLite calls malformed which one it is.
fn named(path: &Path, error: LogError) -> LogError {
    let LogError::Engine(cause) = &error else { return error };
    let cause = cause.downcast_ref::<rusqlite::Error>();
    let code = cause.and_then(rusqlite::Error::sqlite_error_code);
    if code == Some(ErrorCode::DatabaseCorrupt) {
        return OpenError::Corrupt { path: path.to_owned() }.into();
    }
    error
}

fn look(connection: &Connection, path: &Path) -> Result<(), LogError> {
    // Read before the log is: another process may append and mark at any moment.
    let confirmed = mark::read(path);
    let head = head(connection)?;
    compare(connection, path, head)?;
    match confirmed.filter(|confirmed| head.last < *confirmed) {
        Some(confirmed) => Err(behind(path, head.last, confirmed).into()),
        None => Ok(()),
    }
}

/// Compares the head row with the records.
fn compare(connection: &Connection, path: &Path, head: Head) -> Result<(), LogError> {
    let (first, last) = bounds(connection)?;
    let odd = |what, found: u64, expected: u64| {
        OpenError::Head { path: path.to_owned(), what, found, expected }.into()
    };
    if last != head.last {
        return Err(odd("last record", head.last.0, last.0));
    }
    if last == Number(0) {
        return Ok(());
    }
    if first != head.first {
        return Err(odd("first record", head.first.0, first.0));
    }
    // A record that is damaged is found by whoever reads it; here it says nothing of its epoch.
    match epoch_of(connection, last)? {
        Some(epoch) if epoch != head.epoch => Err(odd("epoch", head.epoch.0, epoch.0)),
        Some(_) | None => Ok(()),
    }
}

fn behind(path: &Path, last: Number, confirmed: Number) -> OpenError {
    OpenError::Behind { path: path.to_owned(), last, confirmed }
}

fn bounds(connection: &Connection) -> Result<(Number, Number), LogError> {
    // Two queries: SQLite answers each from the edge of the tree.
    let edge = |sql| {
        let found = connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
        found.map(|found| found.map_or(Number(0), number)).map_err(super::failure)
    };
    Ok((edge("SELECT min(number) FROM record")?, edge("SELECT max(number) FROM record")?))
}

fn epoch_of(connection: &Connection, last: Number) -> Result<Option<Epoch>, LogError> {
    let sql = "SELECT frame FROM record WHERE number = ?1";
    let found = connection.query_row(sql, [super::row(last.0)], |row| row.get::<_, Vec<u8>>(0));
    let bytes = match found.optional() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => None,
        found => found.map_err(super::failure)?,
    };
    let record = bytes.and_then(|bytes| frame::decode_at(last, &bytes).ok());
    Ok(record.map(|record| record.epoch))
}
