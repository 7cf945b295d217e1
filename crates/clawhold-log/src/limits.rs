//! Every limit of the log in one place.
//!
//! They sit below what any engine can take, so that a record which one engine accepts is never
//! refused by another.

use std::time::Duration;

/// The largest body of one record; JetStream's default message limit is 1 MiB.
pub const RECORD_BODY_BYTES_MAX: usize = 768 * 1024;

/// The largest piece of a snapshot that is stored as one.
pub const SNAPSHOT_CHUNK_BYTES_MAX: usize = 256 * 1024;

/// How many whole snapshots are kept; a damaged newest one falls back to the one before.
pub const SNAPSHOT_GENERATIONS: usize = 2;

/// How many records one call of [`trim`](crate::Log::trim) removes at most: about 1 ms of
/// deletes on SQLite, so that appends are not held up.
pub const TRIM_RECORDS_MAX: u64 = 100;

/// How many chunks of a retired snapshot SQLite deletes in one transaction.
pub const RETIRE_CHUNKS_MAX: u32 = 16;

/// How often a follower looks at a SQLite file; one look costs 3 to 6 µs.
pub const FOLLOW_POLL: Duration = Duration::from_millis(1);

/// How long a writer waits before it asks again for SQLite's write lock. Shorter than an
/// append, so that a takeover gets in between the appends of a busy writer.
pub const LOCK_POLL: Duration = Duration::from_micros(150);

/// How long a writer asks for SQLite's write lock before it reports the log as busy.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long opening a SQLite file is tried again while another process is setting it up.
pub const OPEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// How many pages SQLite's write-ahead file collects before they are moved into the database.
/// Larger values only buy longer pauses.
pub const CHECKPOINT_PAGES: u32 = 1000;
