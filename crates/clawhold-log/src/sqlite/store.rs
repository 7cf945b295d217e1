//! Connecting to the database, and making sure first that it is ours.

use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::SqliteOptions;
use crate::OpenError;
use crate::limits::{CHECKPOINT_PAGES, LOCK_POLL, LOCK_WAIT_MAX, OPEN_WAIT_MAX};

/// Stands in the header of every database of ours: "CLWH".
const APPLICATION_ID: u32 = 0x434c_5748;

/// The version of the tables. A later layout gets the next number; none is used twice.
const STORE_VERSION: u32 = 1;

/// The first release without the bug that damages a file when two connections write to it.
const SQLITE_VERSION_MIN: (i32, &str) = (3_051_003, "3.51.3");

const PAGE_BYTES: u32 = 4096;

const SCHEMA: &str = "
    CREATE TABLE head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        last INTEGER NOT NULL CHECK (last >= 0),
        epoch INTEGER NOT NULL CHECK (epoch >= 0),
        first INTEGER NOT NULL CHECK (first >= 1)
    ) STRICT;
    INSERT INTO head (one, last, epoch, first) VALUES (1, 0, 0, 1);
    CREATE TABLE record (number INTEGER PRIMARY KEY, frame BLOB NOT NULL) STRICT;
    CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL CHECK (at >= 0),
        epoch INTEGER NOT NULL CHECK (epoch >= 0),
        whole INTEGER NOT NULL CHECK (whole IN (0, 1))
    ) STRICT;
    CREATE TABLE chunk (
        snapshot INTEGER NOT NULL,
        place INTEGER NOT NULL,
        frame BLOB NOT NULL,
        PRIMARY KEY (snapshot, place)
    ) STRICT;
";

/// Opens a connection to the log at `path`, and makes the tables in an empty file.
pub(super) fn connect(path: &Path, options: SqliteOptions) -> Result<Connection, OpenError> {
    check_library()?;
    let started = Instant::now();
    loop {
        match connect_once(path, options) {
            // Switching an empty file to a write-ahead log does not wait for the lock by itself.
            Err(Trouble::Sqlite(error)) if is_busy(&error) && started.elapsed() < OPEN_WAIT_MAX => {
                std::thread::sleep(LOCK_POLL * 20);
            }
            result => return result.map_err(|trouble| trouble.named(path)),
        }
    }
}

enum Trouble {
    Sqlite(rusqlite::Error),
    Open(OpenError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Trouble {
    fn named(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::Open(error) => error,
            Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                OpenError::NotADatabase { path }
            }
            Self::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) =>
            {
                OpenError::Corrupt { path }
            }
            Self::Sqlite(source) => OpenError::Engine { path, source: Box::new(source) },
        }
    }
}

/// Opens a connection that only reads to the log at `path`, and makes nothing.
pub(super) fn connect_to_read(path: &Path) -> Result<Connection, OpenError> {
    check_library()?;
    read_only(path).map_err(|trouble| trouble.named(path))
}

fn read_only(path: &Path) -> Result<Connection, Trouble> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let empty = check_ours(&*connection.transaction()?, path)?;
    if empty {
        return Err(Trouble::Open(OpenError::Missing { path: path.to_owned() }));
    }
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

fn connect_once(path: &Path, options: SqliteOptions) -> Result<Connection, Trouble> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // One transaction, so that tables which another process makes are seen with their mark.
    let empty = check_ours(&*connection.transaction()?, path)?;
    set_up(&connection, path, options)?;
    if empty {
        create(&mut connection, path)?;
    }
    Ok(connection)
}

fn open(path: &Path, how: OpenFlags) -> Result<Connection, Trouble> {
    let flags = how | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let mut waiting_since = Instant::now();
    connection.busy_handler(Some(move |tries: i32| {
        if tries == 0 {
            waiting_since = Instant::now();
        }
        std::thread::sleep(LOCK_POLL);
        waiting_since.elapsed() < LOCK_WAIT_MAX
    }))?;
    Ok(connection)
}

fn check_library() -> Result<(), OpenError> {
    let (oldest, minimum) = SQLITE_VERSION_MIN;
    if rusqlite::version_number() < oldest {
        let found = rusqlite::version().to_owned();
        return Err(OpenError::OldEngine { found, minimum });
    }
    Ok(())
}

/// Changes nothing, and returns whether the database is still empty.
fn check_ours(connection: &Connection, path: &Path) -> Result<bool, Trouble> {
    let application_id: i64 = connection.pragma_query_one(None, "application_id")?;
    let store_version: i64 = connection.pragma_query_one(None, "user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application_id == 0 && store_version == 0 && tables == 0 {
        return Ok(true);
    }
    let path = path.to_owned();
    if application_id != i64::from(APPLICATION_ID) {
        let found = u32::try_from(application_id & i64::from(u32::MAX)).unwrap_or(0);
        return Err(Trouble::Open(OpenError::Foreign { path, found }));
    }
    if store_version != i64::from(STORE_VERSION) {
        let found = u32::try_from(store_version).unwrap_or(0);
        return Err(Trouble::Open(OpenError::NewerStore { path, found, known: STORE_VERSION }));
    }
    Ok(false)
}

fn set_up(connection: &Connection, path: &Path, options: SqliteOptions) -> Result<(), Trouble> {
    let refused = |setting| Trouble::Open(OpenError::Setting { path: path.to_owned(), setting });
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(refused("a write-ahead log"));
    }
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = 67108864;
         PRAGMA secure_delete = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF;"
    ))?;
    let synchronous: i64 = connection.pragma_query_one(None, "synchronous")?;
    if synchronous != 2 {
        return Err(refused("syncing each commit"));
    }
    if let Some(bytes_max) = options.file_bytes_max {
        let pages_max = i64::try_from(bytes_max / u64::from(PAGE_BYTES)).unwrap_or(i64::MAX);
        connection.pragma_update_and_check(None, "max_page_count", pages_max, |_| Ok(()))?;
    }
    Ok(())
}

/// Makes the tables, unless another process was faster.
fn create(connection: &mut Connection, path: &Path) -> Result<(), Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if check_ours(&transaction, path)? {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", STORE_VERSION)?;
        transaction.commit()?;
    }
    Ok(())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
